"""Positions as values."""

from __future__ import annotations

from typing import Any

from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.op import Op, op
from explorer.compiler.ir.types import TileType
from explorer.compiler.lang.dtypes import DType


@op("self-index", family="constant", symbol="i")
class SelfIndex(Op):
    """The position of each element along ``dim``: 0, 1, 2, ... over the whole tensor.

    Shapes: -> [dim]
    """

    dim: str
    dtype: DType

    def result_type(self, node: Node) -> TileType:
        """Integers along the dim."""
        return TileType((self.dim,), self.dtype)

    def interpret(self, machine: Any, node: Node) -> Any:
        """The positions that the index formula gives."""
        return machine.rounded(machine.positions_of(node), node)

    def emit(self, e: Any, node: Node) -> Any:
        """The lane's first position and constant offsets from it."""
        return e.positions_of(node)
