"""One node for each piece."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.ops.control import Loop, Result
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.facts import EXPANDED, INDEXED

Coordinates = tuple[int, ...]
"""A copy of a node: one number for each of its own dims."""


@compiler_pass(requires=(INDEXED,), establishes=(EXPANDED,))
def expand(graph: TileGraph, context: Context) -> None:
    """Make as many copies of each node as a wave handles pieces where the node stands.

    A copy reads the copies of its operands at its own coordinates, leaving out dims that the
    operand lacks; a reduction gathers all copies along its dim.

        %x = read(%a) : f32[M, N]            4 copies along N
        %y = add(%x, %m) : f32[M, N]
        ->
        %x = read(%a)  @ N=0    %y = add(%x, %m)  @ N=0
        %x_1 = read(%a)  @ N=1    %y_1 = add(%x_1, %m)  @ N=1   ...
    """
    del context
    new = graph.emptied()
    # Index formulas speak of a loop's step by the loop's name, so loops keep theirs.
    new.reserve(n.name for n in graph.nodes if isinstance(n.op, Loop))
    _Expander(new).fill(graph.root, new.root)
    graph.become(new)


class _Expander:
    def __init__(self, graph: TileGraph) -> None:
        self.graph = graph
        self.made: dict[tuple[Node, Coordinates], Node] = {}

    def fill(self, old: Region, new: Region) -> None:
        """Put the copies of all nodes of ``old`` in ``new``."""
        with self.graph.building(new):
            for node in old.nodes:
                with self.graph.replacing(node):
                    self._node(node)

    def _node(self, node: Node) -> None:
        if isinstance(node.op, Loop):
            self._loop(node, node.op)
            return
        for coordinates in _copies(node):
            self._add(node, coordinates, self._operation(node, coordinates))

    def _add(self, node: Node, coordinates: Coordinates, op: Any) -> Node:
        index = None if node.index is None else node.index.at(coordinates)
        made = self.graph.add(
            op,
            name=node.name,
            type=node.type,
            typed=node.typed,
            index=index,
            copy=dict(zip(node.dims, coordinates, strict=True)),
        )
        self.made[node, coordinates] = made
        return made

    def _operation(self, node: Node, coordinates: Coordinates) -> Any:
        if isinstance(node.op, Result):
            loop = self.made[node.op.loop, ()]
            return Result(loop, self._slots(node.op.loop)[node.op.at, coordinates])
        at = dict(zip(node.dims, coordinates, strict=True))
        changes: dict[str, Any] = {}
        for field, many in node.op.operand_fields:
            value = getattr(node.op, field)
            if many:
                gathered = node.op.gathers(field)
                changes[field] = tuple(c for v in value for c in self._all(v, at, gathered))
            elif value is not None:
                changes[field] = self._one(value, at)
        return node.op.replaced(changes)

    def _one(self, operand: Node, at: dict[str, int]) -> Node:
        return self.made[operand, tuple(at[d] for d in operand.dims)]

    def _all(self, operand: Node, at: dict[str, int], dim: str | None) -> Iterator[Node]:
        """Copies of ``operand`` at ``at``, all of them along ``dim``."""
        count = operand.placed[dim].copies if dim is not None else 1
        for c in range(count):
            yield self._one(operand, {**at, dim: c} if dim is not None else at)

    def _loop(self, node: Node, op: Loop) -> None:
        body = Region(node.name)
        inits = tuple(self.made[init, c] for init in op.inits for c in _copies(init))
        loop = self.graph.add(
            op.replaced({"inits": inits, "body": body}), exact_name=node.name, typed=True
        )
        self.made[node, ()] = loop
        self.fill(op.body, body)
        body.arguments = tuple(self.made[a, c] for a in op.body.arguments for c in _copies(a))
        body.yields = tuple(self.made[y, c] for y in op.body.yields for c in _copies(y))

    def _slots(self, loop: Node) -> dict[tuple[int, Coordinates], int]:
        """Where each copy of each carried value stands among all."""
        assert isinstance(loop.op, Loop)
        keys = [(i, c) for i, init in enumerate(loop.op.inits) for c in _copies(init)]
        return {key: slot for slot, key in enumerate(keys)}


def _copies(node: Node) -> Iterator[Coordinates]:
    if node.index is None:
        return iter([()])
    return product(*(range(n) for n in node.index.copies))
