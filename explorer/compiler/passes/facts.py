"""What a graph is known to satisfy, and how to check it.

A pass says which facts it needs and which it makes true. After every pass all facts known so far
are checked again, so that a pass that breaks one is caught at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.ir.rewrite import captures
from explorer.compiler.ops.control import Loop, Result
from explorer.compiler.ops.reduction import Reduce


@dataclass(frozen=True)
class Fact:
    """Something true of a whole graph. ``check`` yields one line for each violation."""

    name: str
    check: Callable[[TileGraph], Iterator[str]]


def _ill_formed(graph: TileGraph) -> Iterator[str]:
    yield from _undefined(graph.root, set())
    names = [node.name for node in graph.nodes]
    if len(set(names)) != len(names):
        yield "two nodes share a name"


def _undefined(region: Region, seen: set[Node]) -> Iterator[str]:
    defined = seen | set(region.arguments)
    for node in region.nodes:
        for operand in node.operands:
            if operand not in defined:
                yield f"{node.name} uses {operand.name}, which is not defined before it"
        if (body := node.op.region) is not None:
            yield from _undefined(body, defined)
            yield from _unbalanced(node, body)
        defined.add(node)
    for value in region.yields:
        if value not in defined:
            yield f"{region.name} yields {value.name}, which is not defined in it"


def _unbalanced(node: Node, body: Region) -> Iterator[str]:
    assert isinstance(node.op, Loop)
    if not len(node.op.inits) == len(body.arguments) == len(body.yields):
        yield f"loop {node.name} carries different numbers of values in and out"


def _untyped(graph: TileGraph) -> Iterator[str]:
    return (f"{node.name} has no type" for node in graph.nodes if not node.typed)


def _unindexed(graph: TileGraph) -> Iterator[str]:
    for node in graph.nodes:
        if node.dims and node.index is None:
            yield f"{node.name} has no index"
        elif node.index is not None and tuple(a.dim for a in node.index.axes) != node.dims:
            yield f"{node.name} has an index for other dims than its own"


def _several_copies(graph: TileGraph) -> Iterator[str]:
    for node in graph.nodes:
        if node.index is not None and any(c != 1 for c in node.index.copies):
            yield f"{node.name} still stands for several copies"


def _reductions_left(graph: TileGraph) -> Iterator[str]:
    return (f"{node.name} still reduces" for node in graph.nodes if isinstance(node.op, Reduce))


def _loops_without_steps(graph: TileGraph) -> Iterator[str]:
    for node in graph.nodes:
        match node.op:
            case Loop(steps=None):
                yield f"loop {node.name} has no number of steps"
            case Result(loop=loop) if not isinstance(loop.op, Loop):
                yield f"{node.name} is the result of something that is no loop"
            case _:
                pass


def _crossing(graph: TileGraph) -> Iterator[str]:
    """Values with a loop's dim that come into the loop from outside."""
    for node in graph.nodes:
        if isinstance(node.op, Loop):
            for value in captures(node):
                if node.op.axis in value.dims:
                    yield f"{value.name} is used across the loop {node.name} over {node.op.axis}"


WELL_FORMED = Fact("well-formed", _ill_formed)
STEPPED = Fact("stepped", _loops_without_steps)
TYPED = Fact("typed", _untyped)
ONE_ROLE = Fact("one-role", _crossing)
INDEXED = Fact("indexed", _unindexed)
EXPANDED = Fact("expanded", _several_copies)
LANE_LOCAL = Fact("lane-local", _reductions_left)
