"""Reductions that can wait until after their loop."""

from __future__ import annotations

from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.ir.index import Index
from explorer.compiler.ir.rewrite import users
from explorer.compiler.ops.control import Carried, Loop, Result
from explorer.compiler.ops.memory import Register
from explorer.compiler.ops.reduction import Reduce
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.decompose_reductions import combined_copies
from explorer.compiler.passes.facts import EXPANDED


@compiler_pass(requires=(EXPANDED,))
def keep_partials(graph: TileGraph, context: Context) -> None:
    """Let each lane carry its own partial result through a loop and reduce once, after it.

    Only where the loop does nothing else with the running result. Sums are added up in another
    order by this, nothing else changes.

        loop carrying %m:
            %m' = max(%x, %m, dim=N)
        ->
        loop carrying %p:
            %p' = maximum(%x, %p)
        %m' = max(%p', %m, dim=N)
    """
    used = users(graph)
    for region, node in graph.walk():
        if isinstance(node.op, Loop):
            for slot, value in enumerate(node.op.body.yields):
                if _waits(node.op, slot, used):
                    with graph.replacing(value):
                        _postpone(graph, region, node, slot)
                    context.note(f"{value.name} is reduced after the loop {node.name}, not in it")


def _waits(loop: Loop, slot: int, used: dict[Node, list[Node]]) -> bool:
    """Whether a reduction into the carried value is the only thing done with it."""
    argument, value = loop.body.arguments[slot], loop.body.yields[slot]
    if not isinstance(value.op, Reduce) or value not in loop.body.nodes:
        return False
    alone = used.get(argument) == [value] and len(used[value]) == 1
    return alone and value.op.init is argument


def _postpone(graph: TileGraph, home: Region, node: Node, slot: int) -> None:
    """Carry the source's own elements through the loop ``node`` and reduce its result."""
    loop = node.op
    assert isinstance(loop, Loop)
    reduction = loop.body.yields[slot]
    reduce = reduction.op
    assert isinstance(reduce, Reduce)
    kind = reduce.source[0].tile
    index = _neutral(reduce)
    init = loop.inits[slot]

    with graph.before(home, node):
        identity = reduce.combiner.identity(kind.dtype)
        start = graph.add(Register(identity, kind), type=kind, index=index)
    node.op = loop.replaced({"inits": _put(loop.inits, slot, start)})

    argument = loop.body.arguments[slot]
    argument.op, argument.type, argument.index = Carried(kind), kind, index
    with graph.before(loop.body, reduction):
        binary = reduce.combiner.binary(argument, combined_copies(graph, reduce))
        total = graph.add(binary, type=kind, index=index)
    loop.body.nodes.remove(reduction)
    loop.body.yields = _put(loop.body.yields, slot, total)

    for result in list(home.nodes):
        if isinstance(result.op, Result) and result.op.loop is node and result.op.at == slot:
            with graph.before(home, result):
                partial = graph.add(
                    result.op, name=f"{result.name}_partial", type=kind, index=index
                )
            # The result keeps its node, so that its users need no change; it is the reduction now.
            result.location = reduction.location
            result.op = reduce.replaced({"source": (partial,), "init": init})


def _neutral(reduce: Reduce) -> Index:
    axes = reduce.source[0].placed.axes
    return Index(tuple(a.neutral() if a.dim == reduce.dim else a for a in axes))


def _put(values: tuple[Node, ...], slot: int, value: Node) -> tuple[Node, ...]:
    return (*values[:slot], value, *values[slot + 1 :])
