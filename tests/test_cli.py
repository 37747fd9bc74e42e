"""The command ``explorer``: what it prints, where, and its exit status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from explorer.cli import main

KERNEL = """
import explorer.lang as tkl
import explorer.wave as tkw

M, N, BLOCK_N = tkl.sym.M, tkl.sym.N, tkl.sym.BLOCK_N
SPACE = tkl.sym.ADDRESS_SPACE
constraints = [
    tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: BLOCK_N}),
    tkw.WorkgroupConstraint(M, 1, 1),
    tkw.WorkgroupConstraint(N, N, 0),
    tkw.TilingConstraint(N, BLOCK_N),
]
bindings = {M: 4, N: 128, BLOCK_N: 64}


@tkw.wave(constraints)
def row_max(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]):
    start = tkl.Register[M, tkl.f32](-1e6)

    @tkw.iterate(N, init_args=[start])
    def largest(partial: tkl.Register[M, tkl.f32]) -> tkl.Register[M, tkl.f32]:
        return tkw.max(tkw.read(a), partial, dim=N)

    tkw.write(tkw.read(a) + largest, c)
"""


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    """``FILE.py:KERNEL`` of a small kernel with bindings in its file."""
    path = tmp_path / "row.py"
    path.write_text(KERNEL)
    return f"{path}:row_max"


@pytest.fixture(autouse=True)
def same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what loading a file adds to the import path."""
    monkeypatch.setattr(sys, "path", [*sys.path])


def status(*argv: str) -> int:
    """The exit status of ``explorer ARGV``, also when argparse ends it."""
    try:
        return main(argv)
    except SystemExit as e:
        return int(e.code or 0)


@pytest.mark.parametrize("command", ["", "lab", "devices", "compile", "run"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(*command.split(), "--help") == 0
    assert capsys.readouterr().out.startswith(f"usage: explorer {command}".rstrip())


def test_help_does_not_wait_for_torch() -> None:
    program = (
        "import sys; from explorer.cli import main\n"
        "try: main(['--help'])\n"
        "finally: print(sorted({'torch', 'sympy', 'iree', 'jupyterlab'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "explorer", "--help"], capture_output=True, text=True, check=True
    )
    assert "compile" in done.stdout


def test_lab_hands_its_options_to_jupyterlab() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "explorer", "lab", "--no-browser", "--port", "8899", "--version"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.split(".")[0].isdigit()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "required"),
        (["compile"], "required"),
        (["compile", "x.py:k", "--bogus"], "unrecognized arguments: --bogus"),
        (["compile", "x.py"], "should be FILE.py:KERNEL"),
        (["compile", "nowhere.py:k"], "no file nowhere.py"),
        (["devices", "extra"], "unrecognized arguments: extra"),
    ],
)
def test_wrong_usage_is_status_2(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(*argv) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_an_unknown_kernel_is_told_with_those_there_are(
    kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status("compile", kernel.replace("row_max", "row_mux")) == 2
    assert "did you mean row_max?" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["N", "N=", "N=abc", "N=1e3", "=3", "N=__import__('os')"])
def test_a_setting_is_a_name_and_a_number(
    kernel: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status("compile", kernel, "--set", text) == 2
    assert "should be NAME=NUMBER" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["0", "-4", "1.5"])
def test_a_size_that_makes_no_sense_is_the_kernels_error(
    kernel: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status("compile", kernel, "--set", f"N={value}") == 1
    assert f"N = {value}" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-3", "many"])
def test_repeats_are_a_positive_number(
    kernel: str, count: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status("run", kernel, "--repeats", count) == 2
    assert "no positive whole number" in capsys.readouterr().err


def test_a_file_that_raises_is_told_in_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.py"
    path.write_text("x = 1\ny = x / 0\n")
    assert status("compile", f"{path}:k") == 1
    err = capsys.readouterr().err
    assert f"{path}:2: ZeroDivisionError: division by zero" in err
    assert "Traceback" not in err


def test_a_file_with_a_syntax_error_shows_the_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.py"
    path.write_text("x = (\n")
    assert status("run", f"{path}:k") == 1
    err = capsys.readouterr().err
    assert "SyntaxError" in err
    assert "Traceback" not in err


def test_run_compares_with_the_interpreter(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("run", kernel, "--target", "cpu", "--repeats", "2") == 0
    result, time = capsys.readouterr().out.splitlines()
    assert result.startswith("c: max error ")
    assert "2 runs" in time


def test_run_in_the_interpreter_for_a_machine_that_is_not_here(
    kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--target", "gfx942", "--device", "interpreter", "--repeats", "1"]
    assert status("run", kernel, *options) == 0
    assert "interpreter: median" in capsys.readouterr().out


def test_wrong_numbers_are_an_error(
    kernel: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from explorer.compiling import CompiledKernel

    monkeypatch.setattr(CompiledKernel, "run", lambda _, a, c, device: c.fill_(1e3))
    assert status("run", kernel, "--target", "cpu") == 1
    assert "c: " in capsys.readouterr().err


def test_compile_tells_what_each_pass_did(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("compile", kernel, "--target", "cpu", "--set", "N=256") == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert "N=256" in first
    assert {"trace", "expand", "emit"} <= {line.split()[0] for line in rest}


def test_compile_prints_graphs_and_code(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--print-after", "trace", "--print-after", "expand", "--mlir", "--isa"]
    assert status("compile", kernel, "--target", "gfx942", *asked) == 0
    printed = capsys.readouterr().out
    assert printed.count("%a = parameter()") == 2
    assert "func.func" in printed
    assert "s_endpgm" in printed


def test_compile_saves_a_recording_and_a_page(kernel: str, tmp_path: Path) -> None:
    import explorer

    recording, page = tmp_path / "r.json", tmp_path / "r.html"
    options = ["--save", str(recording), "--html", str(page)]
    assert status("compile", kernel, "--target", "cpu", *options) == 0
    assert explorer.load(recording)["expand"].status == "changed"
    assert "row_max" in page.read_text(encoding="utf-8")


def test_a_refused_kernel_is_one_message_and_its_recording_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import explorer

    path, saved = tmp_path / "bad.py", tmp_path / "r.json"
    path.write_text(KERNEL.replace("largest, c)", "largest, a)"))
    assert status("compile", f"{path}:row_max", "--target", "cpu", "--save", str(saved)) == 1
    printed = capsys.readouterr()
    assert "hint:" in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""
    assert explorer.load(saved).error is not None


def test_an_unknown_symbol_is_an_error(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("compile", kernel, "--set", "BLOCK_Q=1") == 1
    assert "no symbol BLOCK_Q" in capsys.readouterr().err


def test_an_unknown_pass_is_told_with_those_there_are(
    kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status("compile", kernel, "--target", "cpu", "--print-after", "expends") == 2
    assert "expand" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_told(
    kernel: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = tmp_path / "missing" / "r.json"
    assert status("compile", kernel, "--target", "cpu", "--save", str(nowhere)) == 2
    assert f"{nowhere}: No such file" in capsys.readouterr().err


def test_devices_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("devices") == 0
    assert {"local", "hip", "cuda", "interpreter"} <= set(capsys.readouterr().out.split())
