"""Where everything of a graph is drawn: loops as boxes in boxes, nodes in the same place each time.

The inside of each box is laid out first (``layered.place``); the box is then one large node of the
level around it. An edge that crosses a box's border does so at a *port*, a point on its upper or
lower side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain

from explorer.viz.layered import Flat, Sides, place

Point = tuple[float, float]
Edge = tuple[str, str]

MARGIN = 18.0
"""Between a box's border and what is inside, in pixels."""
TITLE = 30.0
"""Height of a box's title, in pixels."""
PORT = (6.0, 0.0)


@dataclass(frozen=True)
class Rect:
    """A rectangle in pixels, y downwards."""

    x: float
    y: float
    width: float
    height: float

    def moved(self, dx: float, dy: float) -> Rect:
        """The same rectangle elsewhere."""
        return Rect(self.x + dx, self.y + dy, self.width, self.height)

    @property
    def middle(self) -> float:
        """Horizontal centre."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Plan:
    """A graph to lay out.

    Args:
        sizes: width and height of each leaf, in program order.
        parents: box that holds each leaf and each box; None on the outermost level.
        edges: (from, to) between leaves and boxes; acyclic when boxes count as one node.
    """

    sizes: Mapping[str, Point]
    parents: Mapping[str, str | None]
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Layout:
    """The finished picture: rectangles of leaves and boxes, the line of each edge."""

    plan: Plan
    places: Mapping[str, Rect]
    routes: Mapping[Edge, tuple[Point, ...]]

    @property
    def bounds(self) -> Rect:
        """The smallest rectangle around everything."""
        if not self.places:
            return Rect(0.0, 0.0, 0.0, 0.0)
        x = min(r.x for r in self.places.values())
        y = min(r.y for r in self.places.values())
        right = max(r.x + r.width for r in self.places.values())
        bottom = max(r.y + r.height for r in self.places.values())
        return Rect(x, y, right - x, bottom - y)


@dataclass
class _Level:
    """One box from inside: what stands in it and the edges between."""

    members: dict[str, None] = field(default_factory=dict[str, None])
    edges: list[Edge] = field(default_factory=list[Edge])
    entries: dict[str, None] = field(default_factory=dict[str, None])
    exits: dict[str, None] = field(default_factory=dict[str, None])
    flat: Flat | None = None
    left: float = 0.0


def arrange(plan: Plan, before: Layout | None = None) -> Layout:
    """Lay out ``plan``; what ``before`` has too keeps its order and, on the whole, its place."""
    if before is not None and before.plan == plan:
        return before
    levels = _levels(plan)
    sizes: dict[str, Point] = dict(plan.sizes)
    for box in _innermost_first(plan):
        sizes[box or ""] = _place_level(levels[box], sizes, before)
    places = _places(plan, levels, sizes)
    layout = Layout(plan, places, {e: _route(e, plan, levels, places) for e in plan.edges})
    return _aligned(layout, before) if before is not None else layout


def _levels(plan: Plan) -> dict[str | None, _Level]:
    levels: dict[str | None, _Level] = {None: _Level()}
    for name in chain(plan.sizes, plan.parents):
        levels.setdefault(plan.parents.get(name), _Level()).members[name] = None
    for edge in plan.edges:
        for box, piece in _pieces(edge, plan.parents):
            level = levels.setdefault(box, _Level())
            level.edges.append(piece)
            level.entries |= {end: None for end in piece if end.startswith(_ENTRY)}
            level.exits |= {end: None for end in piece if end.startswith(_EXIT)}
    return levels


_ENTRY, _EXIT = "\0in ", "\0out "


def _path(name: str, parents: Mapping[str, str | None]) -> list[str]:
    """The node and the boxes around it, outermost first."""
    path = [name]
    while (parent := parents.get(path[-1])) is not None:
        path.append(parent)
    return path[::-1]


def _pieces(edge: Edge, parents: Mapping[str, str | None]) -> list[tuple[str | None, Edge]]:
    """The edge cut at borders, in drawing order: (box, (from, to)) with ports at the cuts."""
    start, end = edge
    out, into = _path(start, parents), _path(end, parents)
    shared = 0
    while shared < min(len(out), len(into)) - 1 and out[shared] == into[shared]:
        shared += 1
    leaving = [(out[i - 1], (out[i], _EXIT + start)) for i in range(len(out) - 1, shared, -1)]
    level = out[shared - 1] if shared else None
    entering = [(into[i - 1], (_ENTRY + start, into[i])) for i in range(shared + 1, len(into))]
    return [*leaving, (level, (out[shared], into[shared])), *entering]


def _innermost_first(plan: Plan) -> list[str | None]:
    boxes = [name for name in plan.parents if name not in plan.sizes]
    boxes.sort(key=lambda box: len(_path(box, plan.parents)), reverse=True)
    return [*boxes, None]


def _place_level(level: _Level, sizes: Mapping[str, Point], before: Layout | None) -> Point:
    """Place one level's members; the size of the box around them."""
    ports = dict.fromkeys(chain(level.entries, level.exits), PORT)
    own = {name: sizes[name] for name in level.members} | ports
    known = before.places if before is not None else {}
    seed = {name: known[name].middle for name in level.members if name in known}
    flat = place(own, level.edges, Sides(tuple(level.entries), tuple(level.exits)), seed)
    level.flat = flat
    level.left = min((flat.x[n] - own[n][0] / 2 for n in own), default=0.0)
    right = max((flat.x[n] + own[n][0] / 2 for n in own), default=0.0)
    return right - level.left + 2 * MARGIN, flat.height + 2 * MARGIN + TITLE


def _places(
    plan: Plan, levels: Mapping[str | None, _Level], sizes: Mapping[str, Point]
) -> dict[str, Rect]:
    """Rectangles in absolute pixels, outermost level first."""
    places: dict[str, Rect] = {}
    for box in reversed(_innermost_first(plan)):
        dx, dy = _shift(levels[box], places.get(box or ""))
        flat = _flat(levels[box])
        for name in levels[box].members:
            width, height = sizes[name]
            places[name] = Rect(flat.x[name] - width / 2 + dx, flat.top[name] + dy, width, height)
    return places


def _flat(level: _Level) -> Flat:
    assert level.flat is not None
    return level.flat


def _shift(level: _Level, box: Rect | None) -> Point:
    """How far a level's own pixels lie from absolute ones."""
    if box is None:
        return 0.0, 0.0
    return box.x + MARGIN - level.left, box.y + MARGIN + TITLE


def _route(
    edge: Edge, plan: Plan, levels: Mapping[str | None, _Level], places: Mapping[str, Rect]
) -> tuple[Point, ...]:
    """The line of one edge: out of the lower side of its start, into the upper side of its end."""
    start, end = places[edge[0]], places[edge[1]]
    points: list[Point] = [(start.middle, start.y + start.height)]
    for box, piece in _pieces(edge, plan.parents):
        points += _piece_route(
            piece, _flat(levels[box]), _shift(levels[box], places.get(box or ""))
        )
    return (*points, (end.middle, end.y))


def _piece_route(piece: Edge, flat: Flat, shift: Point) -> list[Point]:
    """Entry port, bends, exit port, as far as the piece has them, in absolute pixels."""
    start, end = piece
    entry = [(flat.x[start], -MARGIN - TITLE)] if start.startswith(_ENTRY) else []
    leave = [(flat.x[end], flat.height + MARGIN)] if end.startswith(_EXIT) else []
    return [(x + shift[0], y + shift[1]) for x, y in (*entry, *flat.bends.get(piece, ()), *leave)]


def _aligned(layout: Layout, before: Layout) -> Layout:
    """Moved sideways so that what both pictures have is, on average, where it was."""
    common = [n for n in layout.places if n in before.places]
    if not common:
        return layout
    gaps = sorted(before.places[n].middle - layout.places[n].middle for n in common)
    dx = gaps[len(gaps) // 2]
    return Layout(
        layout.plan,
        {n: r.moved(dx, 0.0) for n, r in layout.places.items()},
        {e: tuple((x + dx, y) for x, y in route) for e, route in layout.routes.items()},
    )
