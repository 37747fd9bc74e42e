"""Reductions taken apart into what one lane does and how lanes and waves exchange."""

from __future__ import annotations

from collections.abc import Callable

from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.ir.index import AxisIndex, Index
from explorer.compiler.ir.op import Op
from explorer.compiler.ir.rewrite import rewrite
from explorer.compiler.lang.tiling import Tiling
from explorer.compiler.ops.lanes import Barrier, Fold, Mask, SharedLoad, SharedStore, ShuffleXor
from explorer.compiler.ops.reduction import Reduce
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.facts import EXPANDED, LANE_LOCAL


@compiler_pass(requires=(EXPANDED,), establishes=(LANE_LOCAL,))
def decompose_reductions(graph: TileGraph, context: Context) -> None:
    """Split each reduction into folds within lanes, butterflies of shuffles, exchanges of waves.

    Elements outside the tensor are replaced by the combiner's identity first. Every lane and wave
    ends with the total, so that no broadcast is needed.

        %r = max(%x, %x_1, dim=N)
        ->
        %c = maximum(mask(%x), mask(%x_1))
        %l = fold(%c, dim=N)
        %t = maximum(%l, shuffle-xor(%l, offset=1))     offsets 1, 2, 4, ...
        shared-store(%t); barrier; maximum(shared-load(wave=0), shared-load(wave=1))
    """
    alone = _alone_in_loop(graph, context.tiling)

    def rule(node: Node) -> Node | None:
        if not isinstance(node.op, Reduce):
            return None
        return _Decomposer(graph, context.tiling, node, node.op).total(again=node in alone)

    rewrite(graph, rule)


def _alone_in_loop(graph: TileGraph, tiling: Tiling) -> set[Node]:
    """Reductions that are the only ones across waves in the body of their loop.

    Where there are several, the barriers of one keep the steps of the others apart: between the
    last read of a buffer and the next step's write lies another reduction's barrier.
    """
    exchanging: dict[Region, list[Node]] = {}
    for region, node in graph.walk():
        if isinstance(node.op, Reduce) and tiling[node.op.dim].waves > 1:
            exchanging.setdefault(region, []).append(node)
    looped = (nodes for region, nodes in exchanging.items() if region is not graph.root)
    return {nodes[0] for nodes in looped if len(nodes) == 1}


def combined_copies(graph: TileGraph, op: Reduce) -> Node:
    """All copies of the source combined into one, invalid elements filled with the identity."""
    identity = op.combiner.identity(op.source[0].tile.dtype)

    def filled(source: Node) -> Node:
        if not source.placed[op.dim].masked:
            return source
        made = Mask(source, op.dim, identity)
        return graph.add(made, type=source.type, index=_neutral(source.placed, op.dim))

    def join(lhs: Node, rhs: Node) -> Node:
        made = op.combiner.binary(lhs, rhs)
        return graph.add(made, type=lhs.type, index=_neutral(lhs.placed, op.dim))

    return _tree([filled(s) for s in op.source], join)


def _neutral(index: Index, dim: str) -> Index:
    return Index(tuple(a.neutral() if a.dim == dim else a for a in index.axes))


def _tree(nodes: list[Node], join: Callable[[Node, Node], Node]) -> Node:
    """All of ``nodes`` combined pairwise: less rounding and more independent work than a chain."""
    while len(nodes) > 1:
        pairs = [join(a, b) for a, b in zip(nodes[::2], nodes[1::2], strict=False)]
        nodes = pairs + nodes[len(pairs) * 2 :]
    return nodes[0]


class _Decomposer:
    def __init__(self, graph: TileGraph, tiling: Tiling, node: Node, op: Reduce) -> None:
        self.graph = graph
        self.tiling = tiling
        self.node = node
        self.op = op
        self.axis: AxisIndex = op.source[0].placed[op.dim]

    def total(self, *, again: bool) -> Node:
        """The node that holds the result; ``again``: no barrier keeps a loop's steps apart yet."""
        folded = self._add(Fold(combined_copies(self.graph, self.op), self.op.dim, self.op.name))
        total = self._across_lanes(folded)
        if self.tiling[self.op.dim].waves > 1:
            total = self._across_waves(total, again=again)
        if self.op.init is not None:
            total = self._join(self.op.init, total)
        return total

    def _add(self, op: Op) -> Node:
        return self.graph.add(op, type=self.node.type, index=self.node.index)

    def _join(self, lhs: Node, rhs: Node) -> Node:
        return self._add(self.op.combiner.binary(lhs, rhs))

    def _across_lanes(self, value: Node) -> Node:
        dealt = self.axis.dealt
        offset = dealt.stride
        while offset < dealt.stride * dealt.lanes:
            value = self._join(value, self._add(ShuffleXor(value, offset)))
            offset *= 2
        return value

    def _across_waves(self, value: Node, *, again: bool) -> Node:
        buffer = self.graph.fresh(f"shared_{self.node.name}")
        if again:
            # A slow wave may still be reading what the last step left.
            self.graph.add(Barrier(), typed=True)
        self.graph.add(SharedStore(value, buffer), typed=True)
        self.graph.add(Barrier(), typed=True)
        waves = range(self.tiling[self.op.dim].waves)
        parts = [self._add(SharedLoad(value, buffer, self.op.dim, w)) for w in waves]
        return _tree(parts, self._join)
