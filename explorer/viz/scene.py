"""A snapshot made ready for drawing: stacks and loops with their places, edges with their lines.

Positions follow from the recording alone, so that the live widget, the one-file page and the tests
see the same picture, and each snapshot starts from the places of the one before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from explorer.compiler.record import RegionView, Snapshot
from explorer.viz.layout import MARGIN, TITLE, Edge, Layout, Plan, Point, Rect, arrange
from explorer.viz.model import Birth, History, Stack, carried, edges, loops, stacks, waits

NODE = (150.0, 44.0)
"""Width and height of a node, in pixels."""


@dataclass(frozen=True)
class Line:
    """An edge between two stacks or loops.

    ``kind`` is ``value``, or ``carried`` for what goes back to the next loop step. ``count`` is how
    many edges between single nodes it stands for.
    """

    start: str
    end: str
    kind: str
    count: int
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Box:
    """A loop. ``key`` is that of the stack of the loop's own node."""

    key: str
    region: RegionView
    place: Rect


@dataclass(frozen=True)
class Scene:
    """Everything of one snapshot that is drawn."""

    snapshot: Snapshot
    stacks: tuple[Stack, ...]
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    layout: Layout

    def stack_of(self, node: str) -> Stack:
        """The stack that holds a node.

        Raises:
            KeyError: no node of that name.
        """
        for stack in self.stacks:
            if any(n.name == node for n in stack.nodes):
                return stack
        raise KeyError(node)


def scenes(history: History) -> tuple[Scene, ...]:
    """The picture after each pass, in order; the same object where the graph stayed the same."""
    made: list[Scene] = []
    for step, record in enumerate(history.recording.passes):
        if made and made[-1].snapshot == record.after:
            made.append(made[-1])
        else:
            before = made[-1].layout if made else None
            made.append(scene(record.after, history.births(step), before))
    return tuple(made)


def scene(snapshot: Snapshot, births: Mapping[str, Birth], before: Layout | None = None) -> Scene:
    """Lay out one snapshot, near to the places of an earlier picture."""
    groups = stacks(snapshot, births)
    key_of = {node.name: group.key for group in groups for node in group.nodes}
    counts = Counter((key_of[a], key_of[b]) for a, b in edges(snapshot))
    plan = _plan(snapshot, groups, key_of, counts)
    layout = arrange(plan, before)
    boxes = tuple(Box(key_of[r.name], r, layout.places[key_of[r.name]]) for r in loops(snapshot))
    lines = [_line(edge, count, layout) for edge, count in counts.items() if edge[0] != edge[1]]
    lines += _returns(snapshot, key_of, layout)
    return Scene(snapshot, groups, boxes, tuple(lines), layout)


def _plan(
    snapshot: Snapshot, groups: tuple[Stack, ...], key_of: Mapping[str, str], counts: Counter[Edge]
) -> Plan:
    bodies = {r.name for r in loops(snapshot)}
    hidden = [(key_of[a], key_of[b]) for a, b in waits(snapshot)]
    return Plan(
        sizes={g.key: NODE for g in groups if g.first.name not in bodies},
        parents={g.key: key_of.get(g.first.region) for g in groups},
        edges=tuple(dict.fromkeys(e for e in [*counts, *hidden] if e[0] != e[1])),
    )


def _line(edge: Edge, count: int, layout: Layout) -> Line:
    return Line(*edge, "value", count, layout.routes[edge])


def _returns(snapshot: Snapshot, key_of: Mapping[str, str], layout: Layout) -> list[Line]:
    """Lines from what a loop yields back up along the loop's right side."""
    loop_of = {y: key_of[r.name] for r in loops(snapshot) for y in r.yields}
    pairs = Counter((key_of[a], key_of[b], loop_of[a]) for a, b in carried(snapshot))
    return [
        Line(a, b, "carried", count, _around(*(layout.places[k] for k in (a, b, loop)), lane=i))
        for i, ((a, b, loop), count) in enumerate(pairs.items())
        if layout.places[loop] != layout.places[a]
    ]


def _around(start: Rect, end: Rect, loop: Rect, lane: int) -> tuple[Point, ...]:
    """Out of ``start``, up the right side in a lane of its own, into ``end``."""
    side = loop.x + loop.width - MARGIN / 2
    bottom, right, top = start.y + start.height, side - 4 * (lane % 4) + 6, end.y
    low = min(bottom + MARGIN / 2, loop.y + loop.height - MARGIN / 4)
    high = max(top - MARGIN / 2, loop.y + TITLE) - 4 * (lane % 3)
    out, into = start.middle + 20, end.middle + 20
    return ((out, bottom), (out, low), (right, low), (right, high), (into, high), (into, top))
