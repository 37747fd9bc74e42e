"""Whole tiles, all workgroups at once: the meaning of a kernel before it is spread over anything.

A value is an array over its dims. A dim that a loop walks is as long as the loop's tile, and
shorter in the last step; any other dim has its full length. There are no masks: nothing lies
outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.compiler.interpret.machine import Array, Machine, numpy_dtype, reduce_axis
from explorer.compiler.ir.graph import Node, TileGraph
from explorer.compiler.lang.tiling import Tiling
from explorer.compiler.ops.control import Loop
from explorer.compiler.ops.reduction import Combiner

Window = tuple[int, int]
"""First position and the position after the last."""


class WholeMachine(Machine):
    """Runs a graph whose nodes have types."""

    def __init__(self, graph: TileGraph, tiling: Tiling, buffers: list[Array]) -> None:
        super().__init__(graph, buffers)
        self.windows: dict[str, Window] = {d.name: (0, d.known) for d in tiling.dims}
        self.full_windows = dict(self.windows)
        self.seen: dict[Node, dict[str, Window]] = {}

    def run(self) -> None:
        """Run the kernel; written buffers change."""
        with np.errstate(all="ignore"):
            self.run_region(self.graph.root)

    def define(self, node: Node, value: Any) -> None:
        """Remember the value and the windows it was computed under."""
        super().define(node, value)
        self.seen[node] = {d: self.windows[d] for d in node.dims}

    def value(self, node: Node) -> Any:
        """The value; where a loop now walks one of its dims, the part in the loop's window."""
        value = self.values[node]
        for axis, (dim, window) in enumerate(self.seen[node].items()):
            if window != self.windows[dim]:
                start, stop = (p - window[0] for p in self.windows[dim])
                value = value[(slice(None),) * axis + (slice(start, stop),)]
        return value

    def _shape(self, dims: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self.windows[d][1] - self.windows[d][0] for d in dims)

    def aligned(self, operand: Node, node: Node) -> Array:
        """The operand with length 1 along dims it lacks."""
        value = self.value(operand)
        lengths = dict(zip(operand.dims, value.shape, strict=True))
        return value.reshape([lengths.get(d, 1) for d in node.dims])

    def positions_of(self, node: Node) -> Array:
        """The window."""
        return np.arange(*self.windows[node.dims[0]])

    def permuted(self, operand: Node, node: Node) -> Array:
        """Transpose."""
        return self.value(operand).transpose([operand.dims.index(d) for d in node.dims])

    def full(self, node: Node, value: float) -> Array:
        """A filled array."""
        return np.full(self._shape(node.dims), value, numpy_dtype(node.tile.dtype))

    def spread(self, value: Array, node: Node) -> Array:
        """Repeat along dims of length 1."""
        return np.broadcast_to(value, self._shape(node.dims))

    def load(self, memory: Node, node: Node) -> Array:
        """The window of the buffer."""
        return self.value(memory)[self._slices(node)].copy()

    def store(self, memory: Node, node: Node, value: Array) -> None:
        """Fill the window of the buffer."""
        self.value(memory)[self._slices(node)] = value

    def _slices(self, node: Node) -> tuple[slice, ...]:
        return tuple(slice(*self.windows[d]) for d in node.dims)

    def reduce(self, combiner: Combiner, sources: tuple[Node, ...], dim: str, node: Node) -> Array:
        """Reduce the dim's axis."""
        (source,) = sources
        return reduce_axis(combiner, self.value(source), source.dims.index(dim))

    def loop(self, node: Node, op: Loop) -> tuple[Any, ...]:
        """Walk the whole dim in the loop's steps."""
        assert op.step is not None
        carried = [self.value(i) for i in op.inits]
        size = self.full_windows[op.axis][1]
        for start in range(0, size, op.step):
            self.windows[op.axis] = (start, min(start + op.step, size))
            carried = self.carry(op, carried)
        self.windows[op.axis] = self.full_windows[op.axis]
        return tuple(carried)
