"""What a sweep over tile sizes found: one row a setting, the fastest, a table, a map, a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from explorer.compiler.errors import ExplorerError, UnknownBinding, did_you_mean
from explorer.viz.heat_map import Cell, HeatMap, duration

RANK = ("ok", "wrong", "failed", "illegal")
"""What can come of a setting, best first."""


class NothingToChoose(ExplorerError):
    """The best setting was asked for, but no right one has a time."""

    template = "none of {count} settings gave a right result and a time: {found}"
    hint = "{advice}"


@dataclass(frozen=True)
class Try:
    """One setting and what came of it.

    Args:
        bindings: a value for every symbol, by name.
        status: ``ok``; ``illegal``: refused before anything was compiled; ``wrong``: it ran and
            gave other numbers than the interpreter; ``failed``: it crashed, was refused by the
            machine-code compiler, or took too long.
        reason: why, in words; empty for ``ok``.
        seconds: median time of a run; None where nothing was timed.
        spread: distance between the quarter and three-quarter points of the runs, in seconds.
        runs: how many runs were timed.
        max_error: largest difference from the interpreter's result.
        device: where it ran.
        resources: registers, shared memory, ... as far as the target's code tells.
        reused: whether all this comes from an earlier sweep.
    """

    bindings: Mapping[str, Any]
    status: str
    reason: str = ""
    seconds: float | None = None
    spread: float | None = None
    runs: int = 0
    max_error: float | None = None
    device: str = ""
    resources: Mapping[str, Any] = field(default_factory=dict)
    reused: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ran and gave the right numbers."""
        return self.status == "ok"


@dataclass(frozen=True)
class TuneResult:
    """All tries of a sweep. Shown in a notebook, it is a table.

    Args:
        kernel: the kernel's name.
        target: the machine's name.
        space: the values that were swept, by symbol name.
        tries: one for each setting that was reached, in order.
        stopped: whether the sweep was ended before all settings were measured.
    """

    kernel: str
    target: str
    space: Mapping[str, tuple[int, ...]]
    tries: tuple[Try, ...]
    stopped: bool = False

    @property
    def best(self) -> dict[str, Any]:
        """Bindings of the fastest right setting, ready for ``explorer.compile``.

        Raises:
            NothingToChoose: no setting gave a right result and a time.
        """
        return dict(self.fastest.bindings)

    @property
    def fastest(self) -> Try:
        """The fastest right try.

        Raises:
            NothingToChoose: no setting gave a right result and a time.
        """
        if best := _fastest(self.tries):
            return best
        raise NothingToChoose(count=len(self.tries), found=self._counts(), advice=self._advice())

    @property
    def reused(self) -> int:
        """How many tries come from an earlier sweep."""
        return sum(t.reused for t in self.tries)

    @property
    def frame(self) -> pd.DataFrame:
        """One row a try: the symbols (the swept ones first), times in seconds, and the rest."""
        return pd.DataFrame([self._row(t) for t in self.tries])

    def heatmap(self, x: Any, y: Any = None) -> HeatMap:
        """Times over one or two symbols; where others were swept as well, of their best values.

        Raises:
            UnknownBinding: the kernel has no such symbol.
        """
        across, down = self._values(str(x)), [0] if y is None else self._values(str(y))
        groups: dict[tuple[int, int], list[Try]] = {}
        for t in self.tries:
            row = 0 if y is None else t.bindings[str(y)]
            groups.setdefault((row, t.bindings[str(x)]), []).append(t)
        cells = {place: _cell(group) for place, group in groups.items()}
        down_name = "" if y is None else str(y)
        return HeatMap(self._title(), str(x), down_name, tuple(across), tuple(down), cells)

    def to_csv(self, path: str | Path) -> Path:
        """Write ``frame`` as comma-separated values and return the path."""
        file = Path(path)
        file.write_text(self.frame.to_csv(index=False), encoding="utf-8", newline="")
        return file

    def report(self) -> str:
        """A line a try, for a terminal, and a summary."""
        rows = [[*map(str, self.space), "status", "time", "spread", "reason"]]
        rows += [_line(t, self.space) for t in self.tries]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(t.ljust(w) for t, w in zip(r, widths, strict=True)) for r in rows]
        return "\n".join(
            [*(line.rstrip() for line in lines), f"{self._title()}: {self._summary()}"]
        )

    def __repr__(self) -> str:
        return f"<tuning of {self._title()}: {self._summary()}>"

    def _repr_html_(self) -> str:
        head = f"<p><strong>{escape(self._title())}</strong>: {escape(self._summary())}</p>"
        return head + self.frame.to_html(index=False, border=0, na_rep="", escape=True)

    def _title(self) -> str:
        return f"{self.kernel} for {self.target}"

    def _summary(self) -> str:
        stopped = ", stopped early" if self.stopped else ""
        text = f"{len(self.tries)} settings ({self._counts()}), {self.reused} reused{stopped}"
        if (best := _fastest(self.tries)) and best.seconds:
            swept = ", ".join(f"{n}={best.bindings[n]}" for n in self.space)
            text += f"; best: {swept or 'the only one'} in {duration(best.seconds)}"
        return text

    def _counts(self) -> str:
        counts = Counter(t.status for t in self.tries)
        return ", ".join(f"{counts[status]} {status}" for status in RANK if counts[status])

    def _advice(self) -> str:
        if any(t.ok for t in self.tries):
            return "interpreter and emulator give no times: tune for a device that is here"
        reasons = Counter(t.reason for t in self.tries).most_common(1)
        return reasons[0][0] if reasons else "the sweep was stopped before the first setting"

    def _row(self, t: Try) -> dict[str, Any]:
        fixed = {n: v for n, v in t.bindings.items() if isinstance(v, int) and n not in self.space}
        return {
            **{name: t.bindings[name] for name in self.space},
            "status": t.status,
            "seconds": t.seconds,
            "spread": t.spread,
            "runs": t.runs,
            "ok": t.ok,
            "max_error": t.max_error,
            "device": t.device,
            "reused": t.reused,
            **t.resources,
            "reason": t.reason,
            **fixed,
        }

    def _values(self, name: str) -> list[int]:
        """All values that a symbol was to have, in rising order."""
        known = sorted({n for t in self.tries for n, v in t.bindings.items() if isinstance(v, int)})
        if name not in (known or self.space):
            raise UnknownBinding(name=name, guess=did_you_mean(name, known), known=", ".join(known))
        return sorted(self.space.get(name) or {t.bindings[name] for t in self.tries})


def _fastest(tries: Iterable[Try]) -> Try | None:
    timed = [t for t in tries if t.ok and t.seconds is not None]
    return min(timed, key=lambda t: t.seconds or 0.0, default=None)


def _line(t: Try, names: Iterable[str]) -> list[str]:
    times = ["" if s is None else duration(s) for s in (t.seconds, t.spread)]
    return [*(str(t.bindings[n]) for n in names), t.status, *times, " ".join(t.reason.split())]


def _cell(group: list[Try]) -> Cell:
    """What stands for several tries: the fastest, else the one that came furthest."""
    chosen = _fastest(group) or min(group, key=lambda t: RANK.index(t.status))
    values = ", ".join(f"{n}={v}" for n, v in chosen.bindings.items() if isinstance(v, int))
    spread = f"spread {duration(chosen.spread)}" if chosen.spread else ""
    note = "\n".join(filter(None, (values, spread, chosen.reason)))
    return Cell(chosen.status, chosen.seconds if chosen.ok else None, note)
