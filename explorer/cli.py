"""The command ``explorer``: open the notebooks, list devices, compile, run and tune kernels.

Exit status: 0; 1 for a mistake in a kernel or its settings (the message alone, on stderr); 2 for
wrong usage. Heavy modules are imported by the command that needs them, so that help is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.compiler.errors import ExplorerError
from explorer.kernel_file import UsageError, load_kernel

if TYPE_CHECKING:
    import torch

    from explorer.compiler.lang.dtypes import DType
    from explorer.compiler.record import PassRecord, Recording
    from explorer.compiler.trace.kernel import Kernel, Parameter
    from explorer.tuning_result import Try


class WrongNumbers(ExplorerError):
    """A run that differs from the interpreter by more than rounding."""

    template = (
        "{name}: off by {error:.3g}, more than {allowed:.3g}, from what the interpreter gives"
    )
    hint = "look at the graph after each pass: explorer compile {file} --html recording.html"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (default: this process's own) and return its exit status."""
    args, rest = _parser().parse_known_args(argv)
    if rest and args.command is not _lab:
        args.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    args.rest = rest
    try:
        args.command(args)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except UsageError as e:
        args.parser.error(str(e))
    except ExplorerError as e:
        print(e, file=sys.stderr)
        return 1
    return 0


# --- the command line -----------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="explorer", description="See, tune and run tile kernels.", allow_abbrev=False
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _command(
        commands, "devices", _devices, "list what can run kernels here, and why the rest cannot"
    )
    _add_lab(commands)
    _add_compile(commands)
    _add_run(commands)
    _add_tune(commands)
    return parser


def _command(
    commands: Any, name: str, run: Callable[[argparse.Namespace], None], purpose: str
) -> argparse.ArgumentParser:
    made = commands.add_parser(name, help=purpose, description=f"{purpose}.", allow_abbrev=False)
    made.set_defaults(command=run, parser=made)
    return made


def _add_lab(commands: Any) -> None:
    parser = _command(commands, "lab", _lab, "open JupyterLab on the notebooks that come along")
    parser.usage = "explorer lab [-h] [OPTION OF JUPYTERLAB ...]"
    parser.epilog = "All options go to JupyterLab, for example --no-browser --port 8899."


def _add_compile(commands: Any) -> None:
    parser = _command(
        commands, "compile", _compile, "compile a kernel and show what the passes did"
    )
    _add_kernel(parser)
    parser.add_argument(
        "--print-after", metavar="PASS", action="append", default=[],
        help="print the graph as it stands after PASS; may be given several times",
    )  # fmt: skip
    parser.add_argument("--mlir", action="store_true", help="print the MLIR")
    parser.add_argument("--isa", action="store_true", help="print the machine code as text")
    parser.add_argument("--save", metavar="FILE", help="write the recording as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the recording as one HTML page")


def _add_run(commands: Any) -> None:
    parser = _command(
        commands, "run", _run, "run a kernel on random inputs and compare it with the interpreter"
    )
    _add_kernel(parser)
    parser.add_argument("--device", help="where to run, such as local, hip, cuda:1, interpreter")
    parser.add_argument("--repeats", type=_count, default=10, help="timed runs (default: 10)")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default: 0)")


def _add_tune(commands: Any) -> None:
    parser = _command(
        commands, "tune", _tune, "try many tile sizes of a kernel and find the fastest right one"
    )
    _add_kernel(parser)
    parser.add_argument(
        "--space", metavar="NAME=VALUE,VALUE,...", action="append", required=True,
        help="values to try for a symbol; given several times, all combinations are tried",
    )  # fmt: skip
    parser.add_argument("--device", help="where to run, such as local, hip, cuda:1")
    parser.add_argument("--csv", metavar="FILE", help="write all that was found, one row a setting")
    parser.add_argument(
        "--time-limit", metavar="SECONDS", type=_count, default=120,
        help="of one setting (default: 120)",
    )  # fmt: skip
    parser.add_argument("--fresh", action="store_true", help="measure all again")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default: 0)")


def _count(text: str) -> int:
    """A positive whole number."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text} is no positive whole number")


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE.py:KERNEL", help="a kernel and the file it is in")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[],
        help="give a symbol its number (or global, shared); may be given several times; wins over "
        "the dict `bindings` of the file, if it has one; address spaces are global unless set",
    )  # fmt: skip
    parser.add_argument("--target", help="cpu, gfx942, sm_89, ... (default: cpu)")


# --- commands -------------------------------------------------------------------------------------


def _lab(args: argparse.Namespace) -> None:
    from jupyterlab.labapp import LabApp

    # A root user (a container) is asked for --allow-root otherwise; the server is on localhost.
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    LabApp.launch_instance([str(_notebooks()), *root, *args.rest])


def _notebooks() -> Path:
    """The folder of the notebooks: in the package once installed, else at the repository's top."""
    package = Path(__file__).parent
    folders = [package / "notebooks", package.parent / "notebooks"]
    for folder in folders:
        if folder.is_dir():
            return folder
    raise UsageError(f"the notebooks are missing; looked for {folders[0]} and {folders[1]}")


def _devices(args: argparse.Namespace) -> None:
    import explorer

    print(explorer.devices())


def _compile(args: argparse.Namespace) -> None:
    import explorer

    kernel, bindings = load_kernel(args.kernel, args.set)
    try:
        recording = explorer.compile(kernel, bindings, target=args.target).recording
    except ExplorerError as error:
        if error.recording is not None:
            _write(error.recording, args)
        raise
    _write(recording, args)
    _print(recording, args)


def _run(args: argparse.Namespace) -> None:
    import explorer
    from explorer.arguments import written

    kernel, bindings = load_kernel(args.kernel, args.set)
    compiled = explorer.compile(kernel, bindings, target=args.target)
    inputs = _random_inputs(kernel, compiled.recording.bindings, args.seed)
    expected, found = [a.clone() for a in inputs], [a.clone() for a in inputs]
    # After "trace": whole tiles, so that a mistake in an index or a mask cannot be on both sides.
    explorer.interpret(kernel, bindings, *expected, target=compiled.target.name, after="trace")
    compiled.run(*found, device=args.device)
    for parameter, want, got in zip(kernel.parameters, expected, found, strict=True):
        error = _compare(args.kernel, parameter, want, got)
        if parameter.name in written(compiled.lowered.graph):
            print(f"{parameter.name}: max error {error:.3g}")
    print(compiled.benchmark(*inputs, device=args.device, repeats=args.repeats))


def _tune(args: argparse.Namespace) -> None:
    space = dict(_space(text) for text in args.space)  # before anything heavy is loaded
    import explorer
    from explorer.compiler.lang.bindings import check_bindings

    kernel, bindings = load_kernel(args.kernel, args.set)
    first = {name: values[0] for name, values in space.items()}
    sizes = check_bindings({**bindings, **first}, kernel.size_symbols, kernel.space_symbols)
    result = explorer.tune(
        kernel,
        bindings,
        _random_inputs(kernel, sizes, args.seed),
        space,
        target=args.target,
        device=args.device,
        on_trial=_tell,
        time_limit=args.time_limit,
        reuse=not args.fresh,
    )
    if args.csv:
        _writing(lambda: result.to_csv(args.csv))
    print(result.report())
    print("fastest:", " ".join(f"--set {name}={result.best[name]}" for name in space))


def _tell(tried: Try, done: int, total: int) -> None:
    """Progress goes to stderr, so that the table can be piped on."""
    print(f"{done}/{total} {tried.status}", file=sys.stderr)


def _space(text: str) -> tuple[str, list[int]]:
    """``N=64,128`` as a name and its values."""
    name, _, listed = text.partition("=")
    values = listed.split(",")
    if name.isidentifier() and all(v.isascii() and v.isdigit() for v in values):
        return name, [int(v) for v in values]
    raise UsageError(f"--space {text}: should be NAME=NUMBER,NUMBER,..., such as BLOCK_N=64,128")


# --- what is printed ------------------------------------------------------------------------------


def _write(recording: Recording, args: argparse.Namespace) -> None:
    """Write the files that were asked for; after a failed pass they show how far it came."""
    import explorer

    if args.save:
        _writing(lambda: recording.save(args.save))
    if args.html:
        _writing(lambda: explorer.export_html(recording, args.html))


def _writing(write: Callable[[], object]) -> None:
    """Write a file that the command line names.

    Raises:
        UsageError: the machine refuses.
    """
    try:
        write()
    except OSError as e:
        raise UsageError(f"{e.filename}: {e.strerror}") from e


def _print(recording: Recording, args: argparse.Namespace) -> None:
    for name in args.print_after:
        print(_pass(recording, name).after)
    if args.mlir:
        print(recording.mlir)
    if args.isa:
        print(recording.isa)
    if not (args.print_after or args.mlir or args.isa):
        print(_summary(recording))


def _pass(recording: Recording, name: str) -> PassRecord:
    try:
        return recording[name]
    except KeyError as e:
        raise UsageError(f"--print-after: {e.args[0]}") from e


def _summary(recording: Recording) -> str:
    """One line a pass, then the resources."""
    rows = [
        f"{p.name:<24}{p.status:<12}{len(p.after.nodes):>6} nodes{p.seconds * 1e3:>10.1f} ms"
        for p in recording.passes
    ]
    resources = [f"{name:<24}{value}" for name, value in recording.resources.items()]
    bindings = ", ".join(f"{n}={v}" for n, v in recording.bindings.items())
    return "\n".join([f"{recording.kernel} for {recording.target}: {bindings}", *rows, *resources])


# --- random inputs and their comparison -----------------------------------------------------------


def _random_inputs(kernel: Kernel, sizes: Any, seed: int) -> list[torch.Tensor]:
    """One seeded random tensor for each parameter, of its shape and element type."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    return [
        _random([int(sizes[d.name]) for d in p.dims], p.dtype, generator) for p in kernel.parameters
    ]


def _random(shape: list[int], dtype: DType, generator: torch.Generator) -> torch.Tensor:
    """Normal floats, integers from -8 to 7, or booleans."""
    import torch

    if dtype.is_float:
        names = {"f8e4m3fn": "float8_e4m3fn", "f8e4m3fnuz": "float8_e4m3fnuz", "bf16": "bfloat16"}
        wanted = getattr(torch, names.get(dtype.value, f"float{dtype.bits}"))
        return torch.randn(shape, generator=generator).to(wanted)
    wanted = torch.bool if dtype.bits == 1 else getattr(torch, f"int{dtype.bits}")
    low, high = (0, 2) if dtype.bits == 1 else (-8, 8)
    return torch.randint(low, high, shape, generator=generator).to(wanted)


def _compare(file: str, parameter: Parameter, want: torch.Tensor, got: torch.Tensor) -> float:
    """The largest difference of a tensor from the interpreter's.

    Raises:
        WrongNumbers: it is more than rounding explains.
    """
    from explorer.compiler.runtime.call import as_numpy
    from explorer.trials import difference

    error, allowed = difference(as_numpy(want), as_numpy(got))
    if error > allowed:
        raise WrongNumbers(name=parameter.name, error=error, allowed=allowed, file=file)
    return error
