"""All lanes of all waves of one workgroup: the meaning of a graph whose values have indices.

A value is an array ``[wave, lane, elements along each dim]``; while a node stands for several
copies, their elements follow each other. Elements outside of the tensor hold poison (NaN, or a
number nobody expects), so that a missing mask shows in the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from explorer.compiler import expr
from explorer.compiler.errors import InternalError
from explorer.compiler.interpret.machine import Array, Machine, numpy_dtype, reduce_axis
from explorer.compiler.ir.graph import Node, TileGraph
from explorer.compiler.ir.index import AxisIndex
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.lang.tiling import Tiling
from explorer.compiler.ops.control import Loop
from explorer.compiler.ops.reduction import Combiner

POISON_INT = 0x5A
"""What masked integer elements hold."""


class RaceFound(InternalError):
    """A wave touched shared memory that another wave touched since the last barrier."""


class LaneMachine(Machine):
    """Runs a graph whose nodes have indices, for one workgroup.

    ``stores`` counts how often each element of each parameter was written, by position.
    """

    def __init__(
        self,
        graph: TileGraph,
        tiling: Tiling,
        buffers: list[Array],
        workgroup: tuple[int, int, int],
        stores: Mapping[int, Array] | None = None,
    ) -> None:
        super().__init__(graph, buffers)
        self.tiling = tiling
        self.waves, self.lanes = tiling.waves, tiling.lanes
        self.stores = stores or {}
        self.env: dict[str, Any] = {f"workgroup_{i}": w for i, w in enumerate(workgroup)}
        self.env["lane"] = np.arange(self.lanes)[None, :]
        wave = np.arange(self.waves)[:, None]
        for dim in tiling.dims:
            self.env[f"size_{dim.name}"] = dim.known
            self.env[f"wave_{dim.name}"] = wave // tiling.wave_stride(dim.name) % dim.waves
        self.shared: dict[str, Array] = {}
        self.stored: set[str] = set()
        self.loaded: set[str] = set()

    def run(self) -> None:
        """Run the workgroup; written buffers change."""
        with np.errstate(all="ignore"):
            self.run_region(self.graph.root)

    # --- positions ---

    def _evaluate(self, e: expr.Expr, env: Mapping[str, Any] | None = None) -> Any:
        return expr.evaluate(e, env or self.env, np.minimum)

    def _per_copy(self, axis: AxisIndex, e: expr.Expr) -> Array:
        """``e`` for each [wave, lane, copy]."""
        parts = [
            np.broadcast_to(
                self._evaluate(e, {**self.env, f"copy_{axis.dim}": c}), (self.waves, self.lanes)
            )
            for c in range(axis.copies)
        ]
        return np.stack(parts, axis=-1)

    def _offsets(self, axis: AxisIndex) -> Array:
        return np.array([axis.dealt.offset(i) for i in range(axis.elements)])

    def _spread_elements(self, axis: AxisIndex, starts: Array) -> Array:
        every = starts[..., None] + self._offsets(axis)
        return every.reshape(self.waves, self.lanes, -1)

    def positions(self, axis: AxisIndex) -> Array:
        """Position along the dim of each [wave, lane, element]."""
        return self._spread_elements(axis, self._per_copy(axis, axis.start))

    def valid(self, axis: AxisIndex) -> Array:
        """Whether each [wave, lane, element] lies inside."""
        in_piece = self._spread_elements(axis, self._per_copy(axis, axis.in_piece))
        inside = in_piece < axis.share.piece
        if axis.share.limit is None:
            return inside
        return inside & (self.positions(axis) < self._evaluate(axis.share.limit))

    def _along(self, node: Node, parts: list[Array]) -> list[Array]:
        """One array for each dim of ``node``, shaped to be combined into one grid."""
        n = len(parts)
        return [
            p.reshape(*p.shape[:2], *(-1 if i == k else 1 for k in range(n)))
            for i, p in enumerate(parts)
        ]

    def _mask(self, node: Node) -> Array:
        mask = np.ones((self.waves, self.lanes, *(1 for _ in node.dims)), bool)
        for part in self._along(node, [self.valid(a) for a in node.placed.axes]):
            mask = mask & part
        return mask

    def _shape(self, node: Node) -> tuple[int, ...]:
        axes = node.placed.axes
        return (self.waves, self.lanes, *(a.copies * a.elements for a in axes))

    # --- what ops ask for ---

    def aligned(self, operand: Node, node: Node) -> Array:
        """The operand with length 1 along dims it lacks."""
        value = self.value(operand)
        lengths = dict(zip(operand.dims, value.shape[2:], strict=True))
        return value.reshape(*value.shape[:2], *(lengths.get(d, 1) for d in node.dims))

    def positions_of(self, node: Node) -> Array:
        """What the index formula gives."""
        return self.positions(node.placed.axes[0])

    def permuted(self, operand: Node, node: Node) -> Array:
        """Transpose the elements of each lane: lanes along a dim stay where they are."""
        order = [2 + operand.dims.index(d) for d in node.dims]
        return self.value(operand).transpose([0, 1, *order])

    def full(self, node: Node, value: float) -> Array:
        """A filled array."""
        shape = self._shape(node) if node.dims else (self.waves, self.lanes)
        return np.full(shape, value, numpy_dtype(node.tile.dtype))

    def spread(self, value: Array, node: Node) -> Array:
        """Repeat along dims of length 1."""
        return np.broadcast_to(value, self._shape(node))

    def load(self, memory: Node, node: Node) -> Array:
        """Gather elements; those outside are poison."""
        buffer = self.value(memory)
        mask = np.broadcast_to(self._mask(node), self._shape(node))
        at = [np.where(mask, p, 0) for p in self._grid(node)]
        return np.where(mask, buffer[tuple(at)], poison(node.tile.dtype)).astype(buffer.dtype)

    def store(self, memory: Node, node: Node, value: Array) -> None:
        """Scatter the elements that lie inside, each from one lane."""
        chosen = np.broadcast_to(self._mask(node), self._shape(node)).copy()
        for e in node.placed.writers:
            first = np.broadcast_to(self._evaluate(e) == 0, (self.waves, self.lanes))
            chosen &= first.reshape(self.waves, self.lanes, *(1 for _ in node.dims))
        at = tuple(np.broadcast_to(p, chosen.shape)[chosen] for p in self._grid(node))
        buffer = self.value(memory)
        buffer[at] = np.broadcast_to(value, chosen.shape)[chosen]
        if (count := self.stores.get(memory.op.attributes()["position"])) is not None:
            np.add.at(count, at, 1)

    def _grid(self, node: Node) -> list[Array]:
        return self._along(node, [self.positions(a) for a in node.placed.axes])

    def reduce(self, combiner: Combiner, sources: tuple[Node, ...], dim: str, node: Node) -> Array:
        """Combine elements, then lanes, then waves."""
        axis = sources[0].dims.index(dim)
        identity = combiner.identity(sources[0].tile.dtype)
        parts = [self.mask(s, dim, identity) for s in sources]
        value = reduce_axis(combiner, np.concatenate(parts, axis + 2), axis + 2)
        dealt = sources[0].placed[dim].dealt
        offset = dealt.stride
        while offset < dealt.stride * dealt.lanes:
            value = self.rounded(combiner.combine(value, self._swap(value, offset)), node)
            offset *= 2
        total = value[self._wave(dim, 0)]
        for w in range(1, self.tiling[dim].waves):
            part = value[self._wave(dim, w)]
            total = self.rounded(combiner.combine(total, part), node)
        return total

    def loop(self, node: Node, op: Loop) -> tuple[Any, ...]:
        """Run all steps."""
        assert op.steps is not None
        carried = [self.value(i) for i in op.inits]
        for step in range(self._evaluate(op.steps)):
            self.env[f"step_{node.name}"] = step
            carried = self.carry(op, carried)
        return tuple(carried)

    # --- what reductions are made of ---

    def mask(self, source: Node, dim: str, fill: float) -> Array:
        """``fill`` where elements lie outside along ``dim``."""
        value = self.value(source)
        inside = [
            self.valid(a) if a.dim == dim else np.ones((1, 1, 1), bool) for a in source.placed.axes
        ]
        keep = self._along(source, inside)[source.dims.index(dim)]
        return np.where(keep, value, np.asarray(fill).astype(value.dtype))

    def fold(self, combiner: Combiner, source: Node, dim: str, node: Node) -> Array:
        """Combine the elements of each lane."""
        del node
        return reduce_axis(combiner, self.value(source), source.dims.index(dim) + 2)

    def shuffle(self, source: Node, offset: int) -> Array:
        """Each lane gets the value of lane ``lane ^ offset``."""
        return self._swap(self.value(source), offset)

    def _swap(self, value: Array, offset: int) -> Array:
        return value[:, np.arange(self.lanes) ^ offset]

    def _wave(self, dim: str, wave: int) -> Array:
        """For each wave, the one that differs from it in being number ``wave`` along ``dim``."""
        own = np.arange(self.waves)
        stride = self.tiling.wave_stride(dim)
        return own + (wave - own // stride % self.tiling[dim].waves) * stride

    def shared_store(self, buffer: str, source: Node) -> None:
        """Fill a shared buffer.

        Raises:
            RaceFound: another wave may still be reading it.
        """
        if buffer in self.loaded:
            msg = f"{buffer} is written before a barrier follows the last read"
            raise RaceFound(msg)
        self.shared[buffer] = self.value(source)
        self.stored.add(buffer)

    def shared_load(self, buffer: str, dim: str, wave: int, node: Node) -> Array:
        """Read a shared buffer.

        Raises:
            RaceFound: another wave may not have written it yet.
        """
        del node
        if buffer in self.stored:
            msg = f"{buffer} is read before a barrier follows the last write"
            raise RaceFound(msg)
        self.loaded.add(buffer)
        return self.shared[buffer][self._wave(dim, wave)]

    def barrier(self) -> None:
        """All waves have arrived: what was stored and loaded is settled."""
        self.stored.clear()
        self.loaded.clear()


def poison(dtype: DType) -> float:
    """What an element outside of the tensor holds."""
    match dtype:
        case DType.I1:
            return True
        case _ if dtype.is_float:
            return float("nan")
        case _:
            return POISON_INT
