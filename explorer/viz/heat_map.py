"""Times over two tile sizes as a table: plain data in, HTML without scripts and text out.

JupyterLab strips SVG and style elements from notebooks it does not trust and keeps tables with
inline styles, so the picture is a table. Nothing is told by colour alone: every cell has its text.
"""

# ruff: noqa: RUF001 (signs are meant)
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

SIGNS = {"illegal": "▨ illegal", "wrong": "✗ wrong", "failed": "! failed", "untried": "–"}
"""What a cell without a time says."""

FASTEST = "★"

SCALE = ((254, 232, 56), (187, 173, 108), (124, 123, 120), (59, 73, 108), (0, 34, 78))
"""Red, green, blue from fast to slow. Source: the colour map cividis, made to look alike with and
without colour blindness (Nuñez, Anderton and Renslow 2018)."""

HATCH = "repeating-linear-gradient(45deg,#8884 0,#8884 3px,transparent 3px,transparent 8px)"


@dataclass(frozen=True)
class Cell:
    """One place of the map: what came of its settings.

    ``seconds`` is None where nothing was timed; ``note`` is shown when the mouse rests on it.
    """

    status: str
    seconds: float | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """A time with its unit, or why there is none."""
        if self.status == "ok":
            return "✓ right" if self.seconds is None else duration(self.seconds)
        return SIGNS[self.status]


UNTRIED = Cell("untried", note="not tried")


@dataclass(frozen=True)
class HeatMap:
    """Cells by (row value, column value). Shown in a notebook, it is a coloured table.

    Args:
        title: what was timed.
        x: name of the symbol along the columns.
        y: name of the symbol along the rows; empty: there is one row, of value 0.
        columns: values of ``x``.
        rows: values of ``y``.
        cells: a place that is missing was not tried.
    """

    title: str
    x: str
    y: str
    columns: tuple[int, ...]
    rows: tuple[int, ...]
    cells: Mapping[tuple[int, int], Cell] = field(default_factory=dict)

    def cell(self, row: int, column: int) -> Cell:
        """The cell at two values."""
        return self.cells.get((row, column), UNTRIED)

    @property
    def fastest(self) -> Cell | None:
        """The cell with the smallest time, None when there are no times."""
        timed = [c for c in self.cells.values() if c.seconds is not None]
        return min(timed, key=lambda c: c.seconds or 0.0, default=None)

    def text(self, cell: Cell) -> str:
        """A cell's text, the fastest one marked."""
        return f"{FASTEST} {cell.text}" if cell is self.fastest else cell.text

    def __repr__(self) -> str:
        head = [f"{self.y} \\ {self.x}" if self.y else self.x, *map(str, self.columns)]
        lines = [head, *([self._label(r), *self._texts(r)] for r in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        table = ["  ".join(t.rjust(w) for t, w in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([self.title, *table, f"{FASTEST} fastest"])

    def _label(self, row: int) -> str:
        return str(row) if self.y else ""

    def _texts(self, row: int) -> list[str]:
        return [self.text(self.cell(row, column)) for column in self.columns]

    def _repr_html_(self) -> str:
        axis = f"{escape(self.y)} ↓ &nbsp; {escape(self.x)} →" if self.y else escape(self.x)
        head = _heading(axis) + "".join(_heading(str(c)) for c in self.columns)
        rows = "".join(self._row(r) for r in self.rows)
        caption = f'<caption style="text-align:left">{escape(self.title)}</caption>'
        return (
            '<table style="border-collapse:collapse;font-family:sans-serif;font-size:13px">'
            f"{caption}<tr>{head}</tr>{rows}</table>"
            f'<p style="font-size:12px;opacity:0.8;margin:4px 0">{FASTEST} fastest; bright is fast,'
            " dark is slow; rest the mouse on a cell to read about it</p>"
        )

    def _row(self, row: int) -> str:
        drawn = "".join(self._drawn(self.cell(row, column)) for column in self.columns)
        return f"<tr>{_heading(self._label(row))}{drawn}</tr>"

    def _drawn(self, cell: Cell) -> str:
        style = f"padding:6px 12px;text-align:right;{self._look(cell)}"
        return f'<td style="{style}" title="{escape(cell.note)}">{escape(self.text(cell))}</td>'

    def _look(self, cell: Cell) -> str:
        if cell.seconds is None:
            hatch = f";background-image:{HATCH}" if cell.status == "illegal" else ""
            return f"border:1px dashed #888{hatch}"
        red, green, blue = self._color(cell.seconds)
        ink = "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 110 else "#ffffff"
        edge = "3px solid #b3440b" if cell is self.fastest else "1px solid #888"
        return f"border:{edge};background-color:#{red:02x}{green:02x}{blue:02x};color:{ink}"

    def _color(self, seconds: float) -> tuple[int, int, int]:
        times = [math.log(c.seconds) for c in self.cells.values() if c.seconds]
        low, high = min(times), max(times)
        share = (math.log(seconds) - low) / (high - low) if high > low else 0.0
        return _mixed(share)


def _heading(text: str) -> str:
    return f'<th style="padding:4px 12px;text-align:right">{text}</th>'


def _mixed(share: float) -> tuple[int, int, int]:
    """The colour at ``share`` (0 to 1) of the scale, between its two nearest entries."""
    place = share * (len(SCALE) - 1)
    i = min(int(place), len(SCALE) - 2)
    red, green, blue = (
        round(a + (b - a) * (place - i)) for a, b in zip(SCALE[i], SCALE[i + 1], strict=True)
    )
    return red, green, blue


def duration(seconds: float) -> str:
    """A time in s, ms or µs, to three figures."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{_figures(seconds / size)} {unit}"
    return f"{_figures(seconds / 1e-6)} µs"


def _figures(value: float) -> str:
    """Three figures, never an exponent."""
    places = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:.{min(places, 3)}f}"
