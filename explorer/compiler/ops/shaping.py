"""Ops that choose, convert or spread elements."""

from __future__ import annotations

from typing import Any

from explorer.compiler.errors import BroadcastDims, PermuteDims
from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.op import Op, Value, op
from explorer.compiler.ir.types import TileType, is_subsequence
from explorer.compiler.lang.dtypes import DType, Kind
from explorer.compiler.ops.typing_rules import common_dims, common_dtype, require_kind


@op("select", family="elementwise", symbol="?")
class Select(Op):
    """``if_true`` where ``condition`` holds, else ``if_false``.

    Shapes: condition, if_true, if_false [dims or a part of them] -> [dims]
    """

    condition: Value
    if_true: Value
    if_false: Value

    def result_type(self, node: Node) -> TileType:
        """The type of the two choices, which must be equal but for their dims."""
        require_kind(node, self.condition, (Kind.BOOLEAN,))
        dtype = common_dtype(node, (self.if_true, self.if_false))
        return TileType(common_dims(node, self.operands), dtype)

    def interpret(self, machine: Any, node: Node) -> Any:
        """``numpy.where``."""
        return machine.where(*(machine.aligned(o, node) for o in self.operands))

    def emit(self, e: Any, node: Node) -> Any:
        """``arith.select``."""
        return e.select(*(e.aligned(o, node) for o in self.operands))


@op("cast", family="elementwise", symbol="→")
class Cast(Op):
    """Convert elements to ``dtype``: floats round to nearest even; to integers they are cut off.

    A float that an integer type cannot hold gives an unspecified number.

    Shapes: x [dims] -> [dims]
    """

    x: Value
    dtype: DType

    def result_type(self, node: Node) -> TileType:
        """The operand's dims with the new element type."""
        return TileType(self.x.tile.dims, self.dtype)

    def interpret(self, machine: Any, node: Node) -> Any:
        """``astype``."""
        return machine.rounded(machine.aligned(self.x, node), node)

    def emit(self, e: Any, node: Node) -> Any:
        """``arith.extf``, ``truncf``, ``sitofp``, ..."""
        return e.cast(e.aligned(self.x, node), self.x.tile.dtype, self.dtype)


@op("broadcast", family="movement", symbol="⇶")
class Broadcast(Op):
    """Repeat a value along dims it lacks.

    Shapes: x [part of dims] -> [dims]
    """

    x: Value
    dims: tuple[str, ...]

    def result_type(self, node: Node) -> TileType:
        """The operand's element type over ``dims``.

        Raises:
            BroadcastDims: ``dims`` lacks one of the operand's, or has them in another order.
        """
        found = self.x.tile
        if not is_subsequence(found.dims, self.dims):
            raise BroadcastDims(
                found=found,
                target=", ".join(self.dims),
                dims=", ".join(found.dims),
                location=node.location,
            )
        return TileType(self.dims, found.dtype)

    def interpret(self, machine: Any, node: Node) -> Any:
        """Repeat elements."""
        return machine.spread(machine.aligned(self.x, node), node)

    def emit(self, e: Any, node: Node) -> Any:
        """A shuffle of the lane's own elements."""
        return e.aligned(self.x, node)


@op("permute", family="movement", symbol="⤭")
class Permute(Op):
    """The same elements with the dims in another order. No element changes its lane.

    Shapes: x [dims] -> [dims in another order]
    """

    x: Value
    dims: tuple[str, ...]

    def result_type(self, node: Node) -> TileType:
        """The operand's element type over ``dims``.

        Raises:
            PermuteDims: ``dims`` are not the operand's, each once.
        """
        found = self.x.tile
        if sorted(found.dims) != sorted(self.dims):
            raise PermuteDims(
                found=found,
                target=", ".join(self.dims),
                dims=", ".join(found.dims),
                location=node.location,
            )
        return TileType(self.dims, found.dtype)

    def interpret(self, machine: Any, node: Node) -> Any:
        """Transpose."""
        return machine.permuted(self.x, node)

    def emit(self, e: Any, node: Node) -> Any:
        """A shuffle of the lane's own elements."""
        return e.permuted(self.x, node)
