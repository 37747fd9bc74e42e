"""A recording as HTML: a static form without scripts, and one file with the whole viewer in it.

JupyterLab strips scripts, style elements and SVG from notebooks it does not trust, but keeps inline
styles. So the static picture is made of absolutely placed boxes, its lines of thin upright and
level ones, in colours that can be read on light and dark.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from explorer.compiler.record import PassRecord, Recording, RegionView
from explorer.viz import bundle
from explorer.viz.layout import Point, Rect
from explorer.viz.model import History, Stack, diff
from explorer.viz.payload import payload
from explorer.viz.scene import Line, Scene, scenes
from explorer.viz.theme import DIFFERENCES, look, symbol
from explorer.viz.words import describe_pass

SCALE = 0.8
"""Static pictures are drawn at this part of the full size."""
GREY = "#8886"
EDGE = "#888"
STANDBY = "kx-static"
"""Class of static forms that a live view hides; ``explorer.js`` looks for it."""
NO_DEAD_VIEW = (
    f".jp-OutputArea-child:has(.{STANDBY}) + .jp-OutputArea-child "
    "> .jp-OutputArea-output.jupyter-widgets:not(:has(*)){display:none}"
)
"""Hides a live view that consists of a message only."""


def recording_html(recording: Recording) -> str:
    """Static HTML without scripts: the passes, what each changed, and the last graph.

    Every name and text is escaped.
    """
    last = scenes(History(recording))[-1:]
    return _tag(
        "div",
        _heading(recording),
        _pass_table(recording),
        *(_error(p) for p in recording.passes if p.error),
        *(_picture(scene) for scene in last),
        *(_details(p) for p in recording.passes),
        style="font-family:sans-serif;font-size:13px;line-height:1.45",
    )


def standby_html(recording: Recording) -> str:
    """The static form as it stands beside a live view: alone on the page while there is no kernel.

    JupyterLab shows the live view of an output and nothing else of it, even when its kernel is gone
    and there is nothing to show. So this is an output of its own, above the live one, which hides
    it. The style element, kept in trusted notebooks only, takes away the line that says that the
    model was not found; in others the live view is not shown at all.
    """
    hint = _tag("p", "Run the cell to make this picture live.", style="opacity:0.7;margin:4px 0")
    picture = _tag("div", recording_html(recording), hint, **{"class": STANDBY})
    return _tag("style", NO_DEAD_VIEW) + picture


def _tag(name: str, *children: str, style: str = "", **attributes: str) -> str:
    """An element; ``children`` are HTML already, attribute values are escaped here."""
    given = {"style": style, **attributes} if style else attributes
    text = "".join(f' {key}="{escape(value)}"' for key, value in given.items())
    return f"<{name}{text}>{''.join(children)}</{name}>"


def _heading(recording: Recording) -> str:
    bindings = ", ".join(f"{k} = {v}" for k, v in recording.bindings.items())
    return _tag(
        "p",
        _tag("strong", escape(recording.kernel)),
        escape(f" for {recording.target}"),
        _tag("span", escape(f" {bindings}"), style="opacity:0.7;margin-left:8px"),
        style="margin:4px 0",
    )


def _pass_table(recording: Recording) -> str:
    looks = [f"{v.symbol} {v.words}" for v in DIFFERENCES.values()]
    head = _row("th", ["pass", "status", "nodes", *looks])
    rows = [_row("td", _pass_cells(p)) for p in recording.passes]
    return _tag("table", head, *rows, style="border-collapse:collapse;margin:6px 0")


def _pass_cells(record: PassRecord) -> list[str]:
    counts = diff(record.before, record.after).counts
    nodes = f"{len(record.before.nodes)} → {len(record.after.nodes)}"
    return [record.name, record.status, nodes, *(str(counts[d] or "") for d in DIFFERENCES)]


def _row(cell: str, texts: list[str]) -> str:
    style = f"text-align:left;padding:2px 14px 2px 0;border-bottom:1px solid {GREY}"
    return _tag("tr", *(_tag(cell, escape(t), style=style) for t in texts))


def _error(record: PassRecord) -> str:
    text = escape(f"{record.name} failed:\n{record.error}")
    return _tag(
        "pre", text, style="border-left:3px solid #b3440b;padding:4px 10px;font-family:monospace"
    )


def _details(record: PassRecord) -> str:
    words = _tag("pre", escape(describe_pass(record)), style="white-space:pre-wrap;margin:4px 0")
    return _tag("details", _tag("summary", escape(record.name), style="cursor:pointer"), words)


def _picture(scene: Scene) -> str:
    bounds = scene.layout.bounds
    loops = {box.key for box in scene.boxes}
    parts = [
        *(_loop(box.region, box.place) for box in scene.boxes),
        *(piece for line in scene.lines for piece in _segments(line)),
        *(_node(s, scene.layout.places[s.key]) for s in scene.stacks if s.key not in loops),
    ]
    size = f"width:{bounds.width * SCALE:.0f}px;height:{bounds.height * SCALE:.0f}px"
    shift = f"left:{-bounds.x * SCALE:.0f}px;top:{-bounds.y * SCALE:.0f}px"
    inner = _tag("div", *parts, style=f"position:absolute;{shift}")
    canvas = _tag("div", inner, style=f"position:relative;{size}")
    return _tag("div", canvas, style="overflow:auto;max-height:600px;padding:8px 0")


def _at(place: Rect) -> str:
    values = (place.x, place.y, place.width, place.height)
    x, y, width, height = (round(v * SCALE) for v in values)
    return f"position:absolute;left:{x}px;top:{y}px;width:{width}px;height:{height}px;"


def _node(stack: Stack, place: Rect) -> str:
    first, family = stack.first, look(stack.first.family)
    style = (
        f"{_at(place)}border:1px solid {family.light};border-left:4px solid {family.light};"
        "border-radius:4px;padding:2px 6px;overflow:hidden;white-space:nowrap;font-size:11px;"
        "line-height:14px;box-sizing:border-box"
    )
    many = f" ×{len(stack.nodes)}" if len(stack.nodes) > 1 else ""  # noqa: RUF001 (a sign)
    name = f"{symbol(first.op, first.family)} {stack.label}{many}"
    kind = _tag("span", escape(first.type or first.op), style="opacity:0.7")
    return _tag("div", _tag("strong", escape(name)), "<br>", kind, style=style, title=str(first))


def _loop(region: RegionView, place: Rect) -> str:
    title = f"↻ {region.name} over {region.axis}, {region.steps or '?'} steps"
    style = (
        f"{_at(place)}border:1px dashed {look('control').light};border-radius:8px;padding:4px 8px;"
        "font-size:11px;box-sizing:border-box"
    )
    return _tag("div", escape(title), style=style)


def _segments(line: Line) -> list[str]:
    """Upright and level pieces that join the points of a line."""
    pieces: list[Rect] = []
    for (x0, y0), (x1, y1) in zip(line.points, line.points[1:], strict=False):
        middle = (y0 + y1) / 2
        pieces += [_bar((x0, y0), (x0, middle)), _bar((x0, middle), (x1, middle))]
        pieces.append(_bar((x1, middle), (x1, y1)))
    color = look("control").light if line.kind == "carried" else EDGE
    drawn = (p for p in pieces if p.width * SCALE > 1.5 or p.height * SCALE > 1.5)
    return [_tag("div", style=f"{_at(p)}background-color:{color};opacity:0.6") for p in drawn]


def _bar(a: Point, b: Point) -> Rect:
    width, height = abs(a[0] - b[0]), abs(a[1] - b[1])
    thin = 1 / SCALE
    return Rect(min(a[0], b[0]), min(a[1], b[1]), max(width, thin), max(height, thin))


def export_html(recording: Recording, path: str | Path) -> Path:
    """Write one self-contained file with the interactive viewer; it needs no server, no network.

    Returns:
        The path written.
    """
    file = Path(path)
    file.write_text(page(recording), encoding="utf-8")
    return file


def page(recording: Recording) -> str:
    """The text of ``export_html``'s file."""
    return PAGE.format(
        title=escape(recording.kernel),
        css=bundle.stylesheet(),
        data=script_safe(json.dumps(payload(recording), separators=(",", ":"))),
        static=recording_html(recording),
        script=bundle.standalone_script(),
    )


def script_safe(text: str) -> str:
    """JSON that can stand inside of a script element: no ``<`` is left to end it."""
    return text.replace("<", "\\u003c")


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{css}</style>
</head>
<body class="kx-page">
<div id="explorer"><noscript>{static}</noscript></div>
<script type="application/json" id="recording">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""
