"""Nodes whose values nobody needs."""

from __future__ import annotations

from explorer.compiler.errors import NoWrite, ReadAndWritten, WrittenTwice
from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.ops.memory import Parameter, Read, Scalar, Write
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.facts import TYPED


@compiler_pass(requires=(TYPED,))
def remove_unused(graph: TileGraph, context: Context) -> None:
    """Drop what no write depends on, and check that there is a write at all.

    %x = read(%a)
    %y = exp2(%x)
    write(%x, %c)
    ->
    %x = read(%a)
    write(%x, %c)
    """
    del context
    needed = _needed(graph)
    _check_memory(graph, needed)
    _prune(graph.root, needed)


def _needed(graph: TileGraph) -> set[Node]:
    """Everything that a write depends on. Carried values keep what the loop yields for them."""
    owner = {node.op.region: node for node in graph.nodes if node.op.region is not None}
    home = {node: owner.get(region) for region, node in graph.walk()}
    needed: set[Node] = set()
    work = [node for node in graph.nodes if isinstance(node.op, Write | Parameter | Scalar)]
    while work:
        node = work.pop()
        if node in needed:
            continue
        needed.add(node)
        work += node.operands
        if (body := node.op.region) is not None:
            work += [*body.yields, *body.arguments]
        if (loop := home[node]) is not None:
            work.append(loop)
    return needed


def _prune(region: Region, needed: set[Node]) -> None:
    region.nodes = [node for node in region.nodes if node in needed]
    for node in region.nodes:
        if (body := node.op.region) is not None:
            _prune(body, needed)


def _check_memory(graph: TileGraph, needed: set[Node]) -> None:
    written: dict[Node, Node] = {}
    for node in graph.nodes:
        if isinstance(node.op, Write):
            if node.op.memory in written:
                raise WrittenTwice(memory=node.op.memory.name, location=node.location)
            written[node.op.memory] = node
    if not written:
        raise NoWrite(kernel=graph.kernel)
    for node in graph.nodes:
        if node in needed and isinstance(node.op, Read) and node.op.memory in written:
            raise ReadAndWritten(
                memory=node.op.memory.name, location=written[node.op.memory].location
            )
