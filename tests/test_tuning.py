"""Sweeps over tile sizes: what is refused, wrong, failed, stopped, kept and shown."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import kernel_to_tune
import numpy as np
import pandas as pd
import pytest
from kernel_to_tune import BLOCK_N, N, V, bindings, row_max

import explorer
from explorer import tuning
from explorer.cli import main
from explorer.compiler.errors import BadBinding, MissingBinding, UnknownBinding, WrongArgument
from explorer.compiler.runtime.errors import MissingDevice
from explorer.trials import Trial
from explorer.tuning_result import NothingToChoose, Try, TuneResult
from explorer.tuning_space import SweptSize
from explorer.tuning_store import TuningStore
from explorer.viz.heat_map import HATCH, SIGNS, Cell, HeatMap, duration

SPACE = {BLOCK_N: [48, 64, 128]}
"""48 is no multiple of the piece, 32."""

INPUTS = (
    np.random.default_rng(0).standard_normal((4, 128)).astype(np.float32),
    np.zeros((4, 128), np.float32),
)


def sweep(**options: Any) -> TuneResult:
    """The sweep that all tests vary."""
    return explorer.tune(row_max, bindings, INPUTS, SPACE, **options)


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a table of its own; the code of kernels is compiled once for all."""
    path = tmp_path / "tuning.sqlite"
    monkeypatch.setattr(tuning, "TuningStore", lambda: TuningStore(path))
    return path


@pytest.fixture
def broken_tile(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every run in the child calls the first task named in this list instead, once each."""
    tasks: list[str] = []

    class Crashing(tuning.TrialWorker):
        def __init__(self) -> None:
            super().__init__(allowed=("explorer.", "runtime."))

        def call(self, task: str, payload: Any, arrays: Any = (), **more: Any) -> Any:
            if task == "run" and tasks:
                return super().call(f"runtime.faults:{tasks.pop(0)}", {"seconds": 30}, **more)
            return super().call(task, payload, arrays, **more)

    monkeypatch.setattr(tuning, "TrialWorker", Crashing)
    yield tasks
    assert not tasks


# --- what comes of a setting ----------------------------------------------------------------------


def test_a_sweep_finds_the_fastest_and_refuses_what_is_illegal() -> None:
    result = sweep()
    frame = result.frame
    assert list(frame["BLOCK_N"]) == [48, 64, 128]
    assert list(frame["status"]) == ["illegal", "ok", "ok"]
    assert list(frame["ok"]) == [False, True, True]
    assert "no multiple of" in frame["reason"][0]
    assert "nearest legal values" in frame["reason"][0]
    timed = frame[frame["ok"]]
    assert (timed["seconds"] > 0).all()
    assert (timed["spread"] >= 0).all()
    assert (timed["runs"] >= tuning.ROUNDS).all()
    assert (timed["max_error"] <= 1e-5).all()
    assert (timed["code_bytes"] > 0).all()
    assert frame.loc[[0], ["seconds", "max_error", "code_bytes"]].isna().all(axis=None)
    fastest = timed.loc[timed["seconds"].idxmin(), "BLOCK_N"]
    assert result.best == {"M": 4, "N": 128, "V": 32, "BLOCK_N": fastest}
    assert explorer.compile(row_max, result.best).recording.bindings["BLOCK_N"] == fastest


def test_an_illegal_setting_is_never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trial, "run", lambda *_: pytest.fail("a trial was made"))
    result = explorer.tune(row_max, bindings, INPUTS, {BLOCK_N: [48, 80]})
    assert [t.status for t in result.tries] == ["illegal", "illegal"]
    with pytest.raises(NothingToChoose, match=r"none of 2 settings .* 2 illegal"):
        _ = result.best


def test_wrong_numbers_are_told_and_never_best(monkeypatch: pytest.MonkeyPatch) -> None:
    execute = Trial._execute

    def off_by_one(trial: Trial, lowered: Any, executable: Any, device: str) -> Any:
        seconds, arrays = execute(trial, lowered, executable, device)
        wrong = lowered.recording.bindings["BLOCK_N"] == 64
        return seconds / 1000, [arrays[0], arrays[1] + 1] if wrong else arrays

    monkeypatch.setattr(Trial, "_execute", off_by_one)
    result = sweep()
    tried = result.tries[1]
    assert (tried.status, tried.ok) == ("wrong", False)
    assert tried.max_error == pytest.approx(1, rel=1e-3)
    assert "WRONG" in tried.reason
    assert result.best["BLOCK_N"] == 128


def test_a_crash_is_a_row_and_the_sweep_goes_on(broken_tile: list[str]) -> None:
    broken_tile.append("segfault")
    result = sweep()
    assert [t.status for t in result.tries] == ["illegal", "failed", "ok"]
    assert "SIGSEGV" in result.tries[1].reason
    assert result.best["BLOCK_N"] == 128


def test_a_crash_while_timing_is_a_row_too(
    broken_tile: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = tuning.Sweep._visit

    def crash(made: Any, candidate: Any, tries: Any) -> None:
        if candidate.place == 2 and tries[2].ok and not candidate.runs:
            broken_tile.append("abort")
        visit(made, candidate, tries)

    monkeypatch.setattr(tuning.Sweep, "_visit", crash)
    result = sweep()
    assert [t.status for t in result.tries] == ["illegal", "ok", "failed"]
    assert "SIGABRT" in result.tries[2].reason


def test_a_slow_setting_is_a_row_with_the_limit(broken_tile: list[str]) -> None:
    sweep(reuse=False)  # compiled before the clock runs
    broken_tile.append("sleep")
    result = sweep(time_limit=5, reuse=False)
    assert [t.status for t in result.tries] == ["illegal", "failed", "ok"]
    assert "did not finish within 5 s" in result.tries[1].reason


def test_without_a_device_lanes_are_checked_and_nothing_is_timed() -> None:
    result = sweep(device="interpreter")
    assert [t.status for t in result.tries] == ["illegal", "ok", "ok"]
    assert {t.seconds for t in result.tries} == {None}
    assert repr(result.heatmap(BLOCK_N)).count("✓ right") == 2
    with pytest.raises(NothingToChoose, match="a device that is here"):
        _ = result.best


# --- what is asked for ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "error", "message"),
    [
        ({"BLOCK_Q": [1]}, UnknownBinding, "did you mean BLOCK_N"),
        ({BLOCK_N: []}, BadBinding, "list of positive whole numbers"),
        ({BLOCK_N: [64, 0]}, BadBinding, "BLOCK_N = 0"),
        ({BLOCK_N: ["64"]}, BadBinding, "'64'"),
        ({N: [128, 256]}, SweptSize, "the inputs fix it"),
        ({V: [32]}, MissingBinding, "BLOCK_N"),
    ],
)
def test_a_space_is_checked_first(
    space: dict[Any, list[Any]], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        explorer.tune(row_max, bindings, INPUTS, space)


def test_inputs_and_device_are_checked_first() -> None:
    with pytest.raises(WrongArgument, match="shape"):
        explorer.tune(row_max, bindings, (INPUTS[0][:2], INPUTS[1]), SPACE)
    with pytest.raises(MissingDevice, match="hip"):
        sweep(device="hip")


def test_the_inputs_stay_as_they_are() -> None:
    sweep()
    assert not INPUTS[1].any()


def test_each_trial_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    sweep(on_trial=lambda tried, done, total: told.append((tried.status, done, total)))
    assert told == [("illegal", 1, 3), ("ok", 2, 3), ("ok", 3, 3)]


def test_stop_ends_the_sweep_between_trials() -> None:
    stop = threading.Event()
    result = sweep(stop=stop, on_trial=lambda tried, *_: stop.set() if tried.ok else None)
    assert [t.status for t in result.tries] == ["illegal", "ok"]
    assert result.stopped
    assert "stopped early" in repr(result)
    assert result.best["BLOCK_N"] == 64
    assert repr(result.heatmap(BLOCK_N)).splitlines()[2].split()[-1] == SIGNS["untried"]
    assert sweep().reused == 0  # a sweep cut short keeps no times


# --- what is kept ---------------------------------------------------------------------------------


def test_a_second_sweep_reuses_the_first() -> None:
    first, second = sweep(), sweep()
    assert (first.reused, second.reused) == (0, 2)
    assert "2 reused" in repr(second)
    columns = ["BLOCK_N", "status", "seconds", "spread", "runs", "max_error", "code_bytes"]
    pd.testing.assert_frame_equal(first.frame[columns], second.frame[columns])
    assert sweep(reuse=False).reused == 0


def test_other_inputs_and_options_are_other_sweeps() -> None:
    sweep()
    other = (INPUTS[0] + 1, INPUTS[1])
    assert explorer.tune(row_max, bindings, other, SPACE).reused == 0
    written = (INPUTS[0], INPUTS[1] + 1)  # what the kernel only writes does not matter
    assert explorer.tune(row_max, bindings, written, SPACE).reused == 2
    assert sweep(device="interpreter").reused == 0
    assert sweep(fast_math=True).reused == 0


def test_failures_are_tried_again(broken_tile: list[str]) -> None:
    broken_tile.append("segfault")
    sweep()
    again = sweep()
    assert [t.status for t in again.tries] == ["illegal", "ok", "ok"]
    assert again.reused == 1


GOOD = Try({"B": 1}, "ok", seconds=1e-3, spread=0.0, runs=5, max_error=0.0, resources={"vgpr": 8})


def test_the_store_gives_back_what_was_put(own_store: Path) -> None:
    store = TuningStore(own_store)
    assert store.get("key", GOOD.bindings) is None
    store.put("key", GOOD)
    found = TuningStore(own_store).get("key", GOOD.bindings)
    assert found is not None
    assert found.reused
    assert vars(found) | {"reused": False} == vars(GOOD)
    store.clear()
    assert store.get("key", GOOD.bindings) is None


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE tries SET facts = replace(facts, '0.001', '0.0001')",
        "UPDATE tries SET facts = NULL",
        "UPDATE tries SET digest = x'00'",
        "UPDATE tries SET key = 'key' WHERE key = 'other'",
        "PRAGMA user_version = 99",
    ],
)
def test_a_row_that_was_changed_is_not_used(own_store: Path, change: str) -> None:
    store = TuningStore(own_store)
    store.put("other" if "other" in change else "key", GOOD)
    with sqlite3.connect(own_store) as table:
        table.execute(change)
    table.close()
    assert store.get("key", GOOD.bindings) is None
    store.put("key", GOOD)
    assert store.get("key", GOOD.bindings) is not None


def test_a_damaged_file_is_set_aside(own_store: Path) -> None:
    own_store.write_bytes(b"no table at all " * 100)
    store = TuningStore(own_store)
    assert store.get("key", GOOD.bindings) is None
    assert own_store.with_suffix(".damaged").exists()
    store.put("key", GOOD)
    assert store.get("key", GOOD.bindings) is not None


def test_a_disk_that_refuses_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = TuningStore(tmp_path / "file" / "tuning.sqlite")
    store.put("key", GOOD)
    assert store.get("key", GOOD.bindings) is None


def test_the_store_forgets_the_least_recently_used(own_store: Path) -> None:
    store = TuningStore(own_store, rows=2)
    store.put("a", GOOD)
    store.put("b", GOOD)
    assert store.get("a", GOOD.bindings) is not None
    store.put("c", GOOD)
    found = {key for key in "abc" if store.get(key, GOOD.bindings)}
    assert found == {"a", "c"}


# --- what is shown --------------------------------------------------------------------------------


def made(*tries: Try) -> TuneResult:
    """A result without a sweep."""
    names = ("X", "Y")
    space = {n: tuple(dict.fromkeys(t.bindings[n] for t in tries)) for n in names}
    return TuneResult("kernel", "cpu", space, tries)


def at(x: int, y: int, status: str = "ok", seconds: float | None = None, reason: str = "") -> Try:
    return Try({"X": x, "Y": y, "K": 7}, status, reason, seconds)


def test_a_heat_map_shows_times_and_reasons() -> None:
    result = made(
        at(1, 1, seconds=2e-3), at(2, 1, seconds=4e-5), at(1, 2, "illegal", reason="too <b>big</b>")
    )
    heat = result.heatmap("X", "Y")
    assert repr(heat).splitlines() == [
        "kernel for cpu",
        "Y \\ X          1          2",
        "    1    2.00 ms  ★ 40.0 µs",
        f"    2  ▨ illegal          {SIGNS['untried']}",
        "★ fastest",
    ]
    html = heat._repr_html_()
    assert HATCH in html
    assert "too &lt;b&gt;big&lt;/b&gt;" in html
    assert "<b>" not in html
    assert "★ 40.0 µs" in html


def test_a_heat_map_over_one_symbol_shows_the_best_of_the_others() -> None:
    result = made(at(1, 1, "failed"), at(1, 2, seconds=3e-3), at(2, 1, "wrong"), at(2, 2, "failed"))
    lines = repr(result.heatmap("X")).splitlines()
    assert lines[2].split() == ["★", "3.00", "ms", "✗", "wrong"]
    assert repr(result.heatmap("K", "Y")).count("ms") == 1


def test_a_heat_map_needs_symbols_of_the_kernel() -> None:
    with pytest.raises(UnknownBinding, match="no symbol BLOCK"):
        made(at(1, 1)).heatmap("BLOCK")


class Tags(HTMLParser):
    """The elements, attributes and text of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_nothing_in_a_heat_map_or_a_table_is_html() -> None:
    evil = "<script>alert(1)</script>\"' onload=x"
    heat = HeatMap(evil, evil, evil, (1,), (1,), {(1, 1): Cell("illegal", note=evil)})
    result = TuneResult(evil, evil, {}, (Try({"K": 1}, "failed", evil, resources={evil: evil}),))
    for html in (heat._repr_html_(), result._repr_html_()):
        tags = Tags(html)
        assert tags.names.isdisjoint({"script", "style", "svg", "img"})
        assert tags.attributes <= {"style", "title", "class", "border"}
        assert evil in tags.text


def test_fast_is_bright_and_text_can_be_read_on_it() -> None:
    cells = {(0, i): Cell("ok", 10.0**-i) for i in range(4)}
    html = HeatMap("", "X", "", (0, 1, 2, 3), (0,), cells)._repr_html_()
    assert "background-color:#fee838;color:#000000" in html
    assert "background-color:#00224e;color:#ffffff" in html


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 µs"),
        (1.234e-7, "0.123 µs"),
        (8.31e-5, "83.1 µs"),
        (2e-3, "2.00 ms"),
        (1.5, "1.50 s"),
        (123.4, "123 s"),
    ],
)
def test_times_have_a_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_csv_holds_the_frame(tmp_path: Path) -> None:
    result = made(at(1, 1, seconds=1e-3), at(2, 1, "illegal", reason='a "quoted", reason'))
    path = result.to_csv(tmp_path / "out.csv")
    frame = pd.read_csv(path)
    assert list(frame["X"]) == [1, 2]
    assert list(frame["status"]) == ["ok", "illegal"]
    assert frame["reason"][1] == 'a "quoted", reason'
    assert frame.columns.tolist() == result.frame.columns.tolist()
    with pytest.raises(FileNotFoundError, match="missing"):
        result.to_csv(tmp_path / "missing" / "out.csv")


# --- the command line -----------------------------------------------------------------------------


KERNEL = f"{kernel_to_tune.__file__}:row_max"


def command(*argv: str) -> subprocess.CompletedProcess[str]:
    """``explorer ARGV`` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "explorer", *argv],
        capture_output=True, text=True, timeout=300, check=False, env=dict(os.environ),
    )  # fmt: skip


def test_tune_prints_a_table_and_writes_a_csv(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    done = command("tune", KERNEL, "--space", "BLOCK_N=48,64", "--csv", str(out))
    assert done.returncode == 0, done.stderr
    assert "1/2 illegal" in done.stderr
    head, refused, right, *_ = done.stdout.splitlines()
    assert head.split() == ["BLOCK_N", "status", "time", "spread", "reason"]
    assert refused.split()[:2] == ["48", "illegal"]
    assert right.split()[:2] == ["64", "ok"]
    assert done.stdout.splitlines()[-1] == "fastest: --set BLOCK_N=64"
    assert list(pd.read_csv(out)["status"]) == ["illegal", "ok"]


def test_tune_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["tune", "--help"])
    assert "--space NAME=VALUE,VALUE,..." in capsys.readouterr().out


def test_a_sweep_without_a_right_setting_is_status_1() -> None:
    done = command("tune", KERNEL, "--space", "BLOCK_N=48,80")
    assert done.returncode == 1
    assert "none of 2 settings gave a right result" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("space", "status", "message"),
    [
        ("BLOCK_N", 2, "should be NAME=NUMBER,NUMBER"),
        ("BLOCK_N=64,,", 2, "should be NAME=NUMBER,NUMBER"),
        ("BLOCK_Q=64", 1, "no symbol BLOCK_Q"),
    ],
)
def test_a_space_on_the_command_line_is_checked(space: str, status: int, message: str) -> None:
    done = command("tune", KERNEL, "--space", space)
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr
