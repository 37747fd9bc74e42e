"""Values that would change their role when they enter a loop."""

from __future__ import annotations

from explorer.compiler.errors import ValueCrossesLoop
from explorer.compiler.ir.graph import Node, TileGraph
from explorer.compiler.ir.rewrite import captures
from explorer.compiler.ops.control import Loop
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.facts import ONE_ROLE, TYPED


@compiler_pass(requires=(TYPED,), establishes=(ONE_ROLE,))
def recompute_in_loops(graph: TileGraph, context: Context) -> None:
    """Compute a value with dim N again inside a loop over N that uses it, for the current tile.

    Registers cannot be indexed by a loop's step. What is a pure function of memory is computed
    again; anything else is refused.

        %x = read(%a)
        loop over N:
            %s = sum(%x, %carried, dim=N)
        ->
        loop over N:
            %x_1 = read(%a)
            %s = sum(%x_1, %carried, dim=N)
    """
    for _, node in graph.walk():
        if isinstance(node.op, Loop):
            recompute_inside(graph, node, node.op, context)


def recompute_inside(graph: TileGraph, node: Node, loop: Loop, context: Context) -> None:
    """Compute what the loop ``node`` takes from outside with its own dim again inside of it.

    Raises:
        ValueCrossesLoop: a value that is no pure function of memory.
    """
    crossing = [value for value in captures(node) if loop.axis in value.dims]
    if not crossing:
        return
    again = _Again(graph, node, loop)
    nodes, loop.body.nodes = loop.body.nodes, []
    arguments = [n for n in nodes if n in loop.body.arguments]
    loop.body.nodes += arguments
    with graph.building(loop.body):
        for value in crossing:
            again.compute(value)
    loop.body.nodes += [n for n in nodes if n not in loop.body.arguments]
    for _, user in loop.body.walk():
        user.op = user.op.map_operands(again.current)
    names = ", ".join(again.made[v].name for v in crossing)
    context.note(f"{names}: computed again inside the loop over {loop.axis}, tile by tile")


class _Again:
    """Copies of outer values for inside one loop."""

    def __init__(self, graph: TileGraph, node: Node, loop: Loop) -> None:
        self.graph = graph
        self.node = node
        self.loop = loop
        self.made: dict[Node, Node] = {}

    def current(self, node: Node) -> Node:
        return self.made.get(node, node)

    def compute(self, value: Node) -> Node:
        if value in self.made:
            return self.made[value]
        if not value.op.pure:
            raise ValueCrossesLoop(
                value=value.name,
                dim=self.loop.axis,
                loop=self.node.name,
                why=f"it is what a {value.op.name} gives, which cannot be computed again there",
                location=value.location,
            )
        axis = self.loop.axis
        op = value.op.map_operands(lambda o: self.compute(o) if axis in o.dims else o)
        with self.graph.replacing(value):
            self.made[value] = self.graph.add(op, name=value.name, type=value.type)
        return self.made[value]
