"""Taking an immutable picture of a graph."""

from __future__ import annotations

from collections.abc import Iterator

from explorer.compiler.expr import Int
from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.record import Location, NodeView, RegionView, Snapshot

_SHOWN_ELSEWHERE = frozenset({"memory", "axis", "position", "tile", "dims"})


def snapshot(graph: TileGraph) -> Snapshot:
    """The graph as it stands. Pictures of nodes that did not change are used again."""
    nodes = tuple(_view(node, region.name) for region, node in graph.walk())
    return Snapshot(nodes, (_root(graph), *_loops(graph.root, "root")))


def forget_origins(graph: TileGraph) -> None:
    """From here on each node comes from itself: the next snapshot tells only of new changes."""
    for _, node in graph.walk():
        node.origin = node.name


def _root(graph: TileGraph) -> RegionView:
    return RegionView("root", None, None, None, (), ())


def _loops(region: Region, parent: str) -> Iterator[RegionView]:
    for node in region.nodes:
        if (body := node.op.region) is not None:
            attrs = node.op.attributes()
            yield RegionView(
                node.name,
                parent,
                attrs["axis"],
                attrs["steps"].value if isinstance(attrs["steps"], Int) else None,
                tuple(a.name for a in body.arguments),
                tuple(y.name for y in body.yields),
            )
            yield from _loops(body, node.name)


def _view(node: Node, region: str) -> NodeView:
    state = (node.op, node.type, node.index, node.origin, region)
    if node.view is not None and all(a is b for a, b in zip(node.view[0], state, strict=True)):
        return node.view[1]
    at = node.location
    location: Location | None = None if at is None else (at.file, at.line, at.column)
    made = NodeView(
        name=node.name,
        op=node.op.name,
        family=node.op.glyph.family,
        operands=tuple(o.name for o in node.operands),
        attrs={
            k: str(v)
            for k, v in node.op.attributes().items()
            if v is not None and k not in _SHOWN_ELSEWHERE
        },
        type="" if node.type is None else str(node.type),
        index=None if node.index is None else node.index.view,
        copy=node.copy,
        region=region,
        origin=node.origin,
        location=location,
    )
    node.view = (state, made)
    return made
