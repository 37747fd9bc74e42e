"""A snapshot as an SVG picture in the widget's own places: for documents, without Graphviz."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import pairwise

from explorer.viz.layout import MARGIN, Point, Rect
from explorer.viz.model import Stack
from explorer.viz.scene import Box, Line, Scene
from explorer.viz.theme import look, symbol

EDGE = "#777777"


def snapshot_svg(scene: Scene) -> str:
    """The picture as the text of an SVG file; every name is escaped."""
    b = scene.layout.bounds
    view = f"{b.x - MARGIN} {b.y - MARGIN} {b.width + 2 * MARGIN} {b.height + 2 * MARGIN}"
    loops = {box.key for box in scene.boxes}
    nodes = (s for s in scene.stacks if s.key not in loops)
    parts = [
        *(_box(box) for box in scene.boxes),
        *(_line(line) for line in scene.lines),
        *(_node(s, scene.layout.places[s.key]) for s in nodes),
    ]
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{b.width:.0f}" '
        'font-family="sans-serif" font-size="12">'
    )
    return "\n".join([start, *parts, "</svg>\n"])


def _element(name: str, attributes: Mapping[str, object], text: str = "") -> str:
    given = "".join(f' {key}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{given}>{escape(text)}</{name}>"


def _frame(r: Rect, color: str, **more: object) -> str:
    place = {"x": r.x, "y": r.y, "width": r.width, "height": r.height, "rx": 7}
    paint = {"stroke": color, "fill": color, "fill-opacity": 0.08}
    return _element("rect", {**place, **paint, **more})


def _box(box: Box) -> str:
    color = look("control").light
    steps = f", {box.region.steps} steps" if box.region.steps else ""
    title = f"↻ {box.region.name} over {box.region.axis}{steps}"
    at = {"x": box.place.x + 12, "y": box.place.y + 20, "fill": color}
    return _frame(box.place, color) + _element("text", at, title)


def _node(stack: Stack, r: Rect) -> str:
    first = stack.first
    color = look(first.family).light
    many = f" ×{len(stack.nodes)}" if len(stack.nodes) > 1 else ""  # noqa: RUF001 (a sign)
    name = f"{symbol(first.op, first.family)} {stack.label}{many}"
    return (
        _frame(r, color)
        + _element("text", {"x": r.x + 10, "y": r.y + 19, "font-weight": "bold"}, name)
        + _element("text", {"x": r.x + 10, "y": r.y + 35, "font-size": 11}, first.type or first.op)
    )


def _line(line: Line) -> str:
    back = line.kind == "carried"
    path = {"fill": "none", "stroke": look("control").light if back else EDGE}
    if back:
        path |= {"stroke-dasharray": "5 4"}
    return _element("path", {"d": _path(line.points, bent=not back), **path})


def _path(points: tuple[Point, ...], *, bent: bool) -> str:
    start = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    return start + "".join(_piece(a, b, bent=bent) for a, b in pairwise(points))


def _piece(a: Point, b: Point, *, bent: bool) -> str:
    end = f"{b[0]:.0f} {b[1]:.0f}"
    middle = (a[1] + b[1]) / 2
    return f"C{a[0]:.0f} {middle:.0f} {b[0]:.0f} {middle:.0f} {end}" if bent else f"L{end}"
