"""What both machines share: buffers, values by node, and running a region."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.ops.control import Loop
from explorer.compiler.ops.memory import Parameter, Scalar
from explorer.compiler.ops.reduction import Combiner

Array = NDArray[Any]

_NUMPY: dict[DType, Any] = {
    DType.F64: np.float64,
    DType.F32: np.float32,
    DType.F16: np.float16,
    DType.BF16: ml_dtypes.bfloat16,
    DType.F8E4M3FN: ml_dtypes.float8_e4m3fn,
    DType.F8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    DType.I64: np.int64,
    DType.I32: np.int32,
    DType.I16: np.int16,
    DType.I8: np.int8,
    DType.I1: np.bool_,
}


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The numpy type of an element type."""
    return np.dtype(_NUMPY[dtype])


class Machine(ABC):
    """Runs a graph on buffers. ``values`` holds what each node gave."""

    def __init__(self, graph: TileGraph, buffers: Sequence[Array]) -> None:
        self.graph = graph
        self.buffers = list(buffers)
        self.values: dict[Node, Any] = {}

    def run_region(self, region: Region) -> None:
        """Interpret the nodes of a region in program order."""
        for node in region.nodes:
            self.define(node, node.op.interpret(self, node))

    def define(self, node: Node, value: Any) -> None:
        """Remember what ``node`` gave."""
        self.values[node] = value

    def parameter(self, node: Node) -> Array:
        """The buffer of a parameter."""
        assert isinstance(node.op, Parameter)
        return self.buffers[node.op.position]

    def scalar(self, node: Node) -> Array:
        """The number given for a parameter, in the shape of ``node``."""
        assert isinstance(node.op, Scalar)
        return self.full(node, self.buffers[node.op.position].item())

    def value(self, node: Node) -> Any:
        """What ``node`` gave, as seen from where the machine is."""
        return self.values[node]

    def rounded(self, value: Array, node: Node) -> Array:
        """``value`` in the element type of ``node``."""
        return np.asarray(value).astype(numpy_dtype(node.tile.dtype))

    def where(self, condition: Array, if_true: Array, if_false: Array) -> Array:
        """Choose element by element."""
        return np.where(condition, if_true, if_false)

    def carry(self, op: Loop, carried: list[Any]) -> list[Any]:
        """One step of a loop."""
        for argument, value in zip(op.body.arguments, carried, strict=True):
            self.define(argument, value)
        self.run_region(op.body)
        return [self.value(y) for y in op.body.yields]

    @abstractmethod
    def aligned(self, operand: Node, node: Node) -> Array:
        """The operand's value with an axis of length 1 for each dim that only ``node`` has."""

    @abstractmethod
    def positions_of(self, node: Node) -> Array:
        """Positions of the elements of ``node``, which has one dim."""

    @abstractmethod
    def permuted(self, operand: Node, node: Node) -> Array:
        """The operand's value with its dims in the order of ``node``."""

    @abstractmethod
    def full(self, node: Node, value: float) -> Array:
        """An array for ``node`` filled with ``value``."""

    @abstractmethod
    def spread(self, value: Array, node: Node) -> Array:
        """``value`` repeated to the shape of ``node``."""

    @abstractmethod
    def load(self, memory: Node, node: Node) -> Array:
        """The part of ``memory`` at the place of ``node``."""

    @abstractmethod
    def store(self, memory: Node, node: Node, value: Array) -> None:
        """Put ``value`` in ``memory`` at the place of ``node``."""

    @abstractmethod
    def reduce(self, combiner: Combiner, sources: tuple[Node, ...], dim: str, node: Node) -> Array:
        """Combine all valid elements of ``sources`` along ``dim``."""

    @abstractmethod
    def loop(self, node: Node, op: Loop) -> tuple[Any, ...]:
        """Run a loop; gives what it carried last."""


def reduce_axis(combiner: Combiner, value: Array, axis: int) -> Array:
    """Combine along one axis of an array; f16 and bf16 by way of f32, rounded once."""
    small = value.dtype.itemsize == 2 and value.dtype.kind not in "iu"
    wide = value.astype(np.float32) if small else value
    meaning: Any = combiner.binary.row.meaning  # a ufunc
    return meaning.reduce(wide, axis=axis, dtype=wide.dtype).astype(value.dtype)
