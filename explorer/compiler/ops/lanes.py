"""What reductions are made of: ops on the elements, lanes and waves that hold one value."""

from __future__ import annotations

from typing import Any

from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.op import Op, Value, op
from explorer.compiler.ir.types import TileType
from explorer.compiler.ops.reduction import REDUCTIONS


@op("mask", family="movement", symbol="▚")
class Mask(Op):
    """``fill`` in place of the elements that lie outside along ``dim``.

    Shapes: source [dims] -> [dims]
    """

    source: Value
    dim: str
    fill: float

    def result_type(self, node: Node) -> TileType:
        """The source's."""
        return self.source.tile

    def interpret(self, machine: Any, node: Node) -> Any:
        """Select by the source's positions."""
        return machine.mask(self.source, self.dim, self.fill)

    def emit(self, e: Any, node: Node) -> Any:
        """``arith.select`` under the index's condition."""
        return e.mask(self.source, self.dim, self.fill)


@op("fold", family="reduction", symbol="⊕")
class Fold(Op):
    """Combine the elements that each lane holds along ``dim``.

    Shapes: source [dims] -> [dims without dim]
    """

    source: Value
    dim: str
    combine: str

    def result_type(self, node: Node) -> TileType:
        """The source's without ``dim``."""
        return self.source.tile.without(self.dim)

    def interpret(self, machine: Any, node: Node) -> Any:
        """Reduce along the element axis."""
        return machine.fold(REDUCTIONS[self.combine].combiner, self.source, self.dim, node)

    def emit(self, e: Any, node: Node) -> Any:
        """A tree of vector ops on halves."""
        return e.fold(REDUCTIONS[self.combine].combiner.binary, self.source, self.dim, node)


@op("shuffle-xor", family="movement", symbol="⤨")
class ShuffleXor(Op):
    """Each lane reads what lane ``lane ^ offset`` of its wave holds.

    Shapes: source [dims] -> [dims]
    """

    source: Value
    offset: int

    def result_type(self, node: Node) -> TileType:
        """The source's."""
        return self.source.tile

    def interpret(self, machine: Any, node: Node) -> Any:
        """Permute the lane axis."""
        return machine.shuffle(self.source, self.offset)

    def emit(self, e: Any, node: Node) -> Any:
        """``gpu.shuffle xor``."""
        return e.shuffle(self.source, self.offset)


@op("shared-store", family="synchronisation", symbol="⇩")
class SharedStore(Op):
    """Each lane puts its elements in its own place of the shared buffer ``buffer``.

    Shapes: source [dims] -> nothing
    """

    pure = False
    source: Value
    buffer: str

    def result_type(self, node: Node) -> None:
        """Nothing."""

    def interpret(self, machine: Any, node: Node) -> None:
        """Write the buffer and remember who wrote."""
        machine.shared_store(self.buffer, self.source)

    def emit(self, e: Any, node: Node) -> None:
        """A vector store to workgroup memory."""
        e.shared_store(self.buffer, self.source)


@op("shared-load", family="synchronisation", symbol="⇧")
class SharedLoad(Op):
    """Each lane reads what the same lane of wave ``wave`` along ``dim`` put in ``buffer``.

    ``like`` only tells the type; its value is not used.

    Shapes: like [dims] -> [dims]
    """

    pure = False
    like: Value
    buffer: str
    dim: str
    wave: int

    def result_type(self, node: Node) -> TileType:
        """That of what was stored."""
        return self.like.tile

    def interpret(self, machine: Any, node: Node) -> Any:
        """Read the buffer, after a check that a barrier lies between."""
        return machine.shared_load(self.buffer, self.dim, self.wave, node)

    def emit(self, e: Any, node: Node) -> Any:
        """A vector load from workgroup memory."""
        return e.shared_load(self.buffer, self.dim, self.wave, node)


@op("barrier", family="synchronisation", symbol="‖")
class Barrier(Op):
    """All waves of the workgroup wait for each other; what they stored is seen by all.

    Shapes: -> nothing
    """

    pure = False

    def result_type(self, node: Node) -> None:
        """Nothing."""

    def interpret(self, machine: Any, node: Node) -> None:
        """Forget who wrote."""
        machine.barrier()

    def emit(self, e: Any, node: Node) -> None:
        """``gpu.barrier``."""
        e.barrier()
