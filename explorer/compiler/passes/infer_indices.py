"""Which elements each wave and lane holds, for every value."""

from __future__ import annotations

import math
from collections.abc import Iterator

from explorer.compiler import expr
from explorer.compiler.errors import ReducesAcrossWorkgroups, WriteInLoopAcrossWorkgroups
from explorer.compiler.expr import Expr, Sym
from explorer.compiler.ir.graph import Node, TileGraph
from explorer.compiler.ir.index import AxisIndex, Index, Lanes
from explorer.compiler.lang.tiling import Tiling, ceil_div, power_of_two
from explorer.compiler.ops.control import Iterate, Loop, Result
from explorer.compiler.ops.memory import Read, Write
from explorer.compiler.ops.reduction import Reduce
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.facts import INDEXED, ONE_ROLE, STEPPED, TYPED
from explorer.compiler.passes.shares import Walks, places_in, share

Spot = tuple[Node, str]
"""A value and one of its dims."""


@compiler_pass(requires=(TYPED, STEPPED, ONE_ROLE), establishes=(INDEXED,))
def infer_indices(graph: TileGraph, context: Context) -> None:
    """Say for each value which elements each copy, wave and lane holds along each of its dims.

    A dim's share depends on the place: inside a loop over N it is the loop's tile, elsewhere what
    the workgroup owns. Values that meet in an operation hold the same elements in the same lanes.

        %read = read(%a) : f32[M, N]
        ->
        %read = read(%a) : f32[M, N]   M: workgroup_1, N: copy_N*128 + lane*2 + element_N
    """
    places = dict(places_in(graph.root, {}))
    for node, walks in places.items():
        _check_workgroups(node, walks, context.tiling)
    lanes = _Dealer(graph, context).deal()
    shared: dict[object, AxisIndex] = {}
    indices: dict[object, Index] = {}

    def axis(node: Node, dim: str, walks: Walks) -> AxisIndex:
        """One object for all values that are laid out alike, so that each formula is made once."""
        key = (dim, walks.get(dim), lanes[node, dim])
        if key not in shared:
            shared[key] = AxisIndex(share(context.tiling[dim], walks), lanes[node, dim])
        return shared[key]

    for node, walks in places.items():
        axes = tuple(axis(node, d, walks) for d in node.dims)
        writers = _writers(axes, context.tiling) if isinstance(node.op, Write) else ()
        if node.dims or _has_value(node):
            key = (*map(id, axes), writers)
            node.index = indices.setdefault(key, Index(axes, writers))


def _has_value(node: Node) -> bool:
    return hasattr(node.type, "dims") or isinstance(node.op, Write)


def _check_workgroups(node: Node, walks: Walks, tiling: Tiling) -> None:
    match node.op:
        case Write():
            for d in node.dims:
                around = walks.get(d)
                if around is not None and isinstance(around.op, Iterate) and tiling[d].split:
                    raise WriteInLoopAcrossWorkgroups(
                        dim=d, count=tiling[d].workgroup_count, location=node.location
                    )
        case Reduce(dim=d):
            around = walks.get(d)
            walked = around is not None and isinstance(around.op, Iterate)
            if not walked and tiling[d].split:
                raise ReducesAcrossWorkgroups(
                    op=node.op.name,
                    dim=d,
                    tile=tiling[d].owned,
                    size=tiling[d].extent,
                    location=node.location,
                )
        case _:
            pass


def _writers(axes: tuple[AxisIndex, ...], tiling: Tiling) -> tuple[Expr, ...]:
    """Expressions that are all 0 in one of the lanes, waves and workgroups with an element."""
    has = {a.dim for a in axes}
    used = sum((a.dealt.lanes - 1) * a.dealt.stride for a in axes)
    found = [
        expr.mod(expr.floordiv(Sym("lane"), 1 << start), 1 << length)
        for start, length in _runs(~used & (tiling.lanes - 1))
    ]
    for dim in tiling.dims:
        if dim.name not in has:
            if dim.waves > 1:
                found.append(Sym(f"wave_{dim.name}"))
            if dim.split:
                found.append(Sym(f"workgroup_{dim.workgroup_dim}"))
    return tuple(found)


def _runs(bits: int) -> Iterator[tuple[int, int]]:
    """(first bit, length) of each run of ones."""
    start = 0
    while bits >> start:
        if bits >> start & 1:
            rest = bits >> start
            length = ((rest + 1) & -(rest + 1)).bit_length() - 1
            yield start, length
            start += length
        else:
            start += 1


class _Dealer:
    """Deals lanes to the dims of values: one way for all values that meet along a dim."""

    def __init__(self, graph: TileGraph, context: Context) -> None:
        self.tiling = context.tiling
        self.target = context.target
        self.nodes = [n for n in graph.nodes if n.dims]
        self.parent: dict[Spot, Spot] = {(n, d): (n, d) for n in self.nodes for d in n.dims}
        for node in self.nodes:
            self._join(node, node.operands)
        for node in graph.nodes:
            if isinstance(node.op, Loop):
                for init, argument, value in zip(
                    node.op.inits, node.op.body.arguments, node.op.body.yields, strict=True
                ):
                    self._join(argument, (init, value))
        for node in self.nodes:
            if isinstance(node.op, Result):
                assert isinstance(node.op.loop.op, Loop)
                self._join(node, (node.op.loop.op.inits[node.op.at],))
        self.beside = self._neighbours()
        self.access = self._accesses()
        self.dealt: dict[Spot, Lanes] = {}

    def deal(self) -> dict[Spot, Lanes]:
        """Lanes of every spot. Values with most dims choose first, fastest dim first."""
        for node in sorted(self.nodes, key=lambda n: -len(n.dims)):
            waiting = [d for d in node.dims if self._find((node, d)) not in self.dealt]
            while waiting:
                dim = waiting[-1]
                spot = self._find((node, dim))
                self.dealt[spot] = self._lanes(spot, [self.tiling[d].piece for d in waiting])
                waiting.pop()
        return {spot: self.dealt[self._find(spot)] for spot in self.parent}

    def _lanes(self, spot: Spot, pieces: list[int]) -> Lanes:
        """How the last of ``pieces`` is dealt out, the others being dealt after it."""
        piece = pieces[-1]
        stride, free = self._free(spot)
        if self.target.lanes == 1:
            return Lanes(1, 1, piece, 1, 1)
        widths, element_bytes = self.access.get(spot, ([], 4))
        if widths:
            width = min(widths[0], piece)
        else:
            even = power_of_two(ceil_div(math.prod(pieces), free))
            width = min(even, max(1, self.target.vector_bytes // element_bytes), piece)
        lanes = min(power_of_two(ceil_div(piece, width)), free)
        repeats = ceil_div(piece, lanes * width)
        return Lanes(lanes, stride, width, repeats, self.tiling.lanes)

    def _free(self, spot: Spot) -> tuple[int, int]:
        """(stride, count) of the first lanes that no neighbour uses."""
        taken = 0
        for other in self.beside.get(spot, ()):
            if (found := self.dealt.get(other)) is not None:
                taken |= (found.lanes - 1) * found.stride
        run = next(_runs(~taken & (self.tiling.lanes - 1)), None)
        return (1, 1) if run is None else (1 << run[0], 1 << run[1])

    def _accesses(self) -> dict[Spot, tuple[list[int], int]]:
        """Access widths asked for along each spot, and its largest element in bytes."""
        found: dict[Spot, tuple[list[int], int]] = {}
        for node in sorted(self.nodes, key=lambda n: isinstance(n.op, Write)):
            match node.op:
                case Read(width=width):
                    dtype = node.tile.dtype
                case Write(width=width, value=value):
                    dtype = value.tile.dtype
                case _:
                    continue
            widths, element_bytes = found.get(self._find((node, node.dims[-1])), ([], 1))
            asked = [width] if width is not None else []
            # A read decides before a write: its loop is where the data come from.
            found[self._find((node, node.dims[-1]))] = (
                widths + asked,
                max(element_bytes, dtype.bytes),
            )
        return found

    def _neighbours(self) -> dict[Spot, set[Spot]]:
        beside: dict[Spot, set[Spot]] = {}
        for node in self.nodes:
            spots = {self._find((node, d)) for d in node.dims}
            for spot in spots:
                beside.setdefault(spot, set()).update(spots - {spot})
        return beside

    def _join(self, node: Node, others: tuple[Node, ...]) -> None:
        for other in others:
            for d in other.dims:
                if (node, d) in self.parent and (other, d) in self.parent:
                    self.parent[self._find((node, d))] = self._find((other, d))

    def _find(self, spot: Spot) -> Spot:
        while (up := self.parent[spot]) != spot:
            self.parent[spot] = self.parent[up]
            spot = up
        return spot
