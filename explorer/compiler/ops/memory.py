"""Parameters, constants, and access to memory."""

from __future__ import annotations

from typing import Any

from explorer.compiler.errors import LiteralDoesNotFit, WriteDiffers
from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.op import Op, Value, op
from explorer.compiler.ir.types import MemoryType, TileType
from explorer.compiler.lang.dtypes import DType


@op("parameter", family="parameter", symbol="▤")
class Parameter(Op):
    """A tensor that the kernel is called with.

    Shapes: -> memory [dims]
    """

    position: int
    memory: MemoryType

    def result_type(self, node: Node) -> MemoryType:
        """The tensor's type."""
        return self.memory

    def spread(self, node: Node) -> tuple[str, ...]:
        """A tensor is not copied."""
        return ()

    def interpret(self, machine: Any, node: Node) -> Any:
        """The tensor itself."""
        return machine.parameter(node)

    def emit(self, e: Any, node: Node) -> Any:
        """The buffer, bound at the function's entry."""
        return e.parameter(node)


@op("scalar", family="parameter", symbol="#")
class Scalar(Op):
    """A number that the kernel is called with.

    Shapes: -> []
    """

    position: int
    dtype: DType

    def result_type(self, node: Node) -> TileType:
        """A value without dims."""
        return TileType((), self.dtype)

    def interpret(self, machine: Any, node: Node) -> Any:
        """The number, the same in all lanes."""
        return machine.scalar(node)

    def emit(self, e: Any, node: Node) -> Any:
        """The argument, bound at the function's entry."""
        return e.parameter(node)


@op("register", family="constant", symbol="•")
class Register(Op):
    """A value whose elements all equal ``value``.

    Shapes: -> [dims]
    """

    value: float
    tile: TileType

    def result_type(self, node: Node) -> TileType:
        """As written.

        Raises:
            LiteralDoesNotFit: the element type cannot hold the number.
        """
        if not self.tile.dtype.holds(self.value):
            raise LiteralDoesNotFit(
                op=self.name, value=self.value, dtype=self.tile.dtype, location=node.location
            )
        return self.tile

    def interpret(self, machine: Any, node: Node) -> Any:
        """An array filled with the number."""
        return machine.full(node, self.value)

    def emit(self, e: Any, node: Node) -> Any:
        """A constant vector."""
        return e.full(node, self.value)


@op("literal", family="constant", symbol="•")
class Literal(Op):
    """A Python number in an expression; it takes the element type of the operand beside it.

    Shapes: -> []
    """

    value: float
    dtype: DType | None = None

    def result_type(self, node: Node) -> TileType | None:
        """A scalar, once its neighbour has given it an element type."""
        return None if self.dtype is None else TileType((), self.dtype)

    def interpret(self, machine: Any, node: Node) -> Any:
        """The number."""
        return machine.full(node, self.value)

    def emit(self, e: Any, node: Node) -> Any:
        """A constant."""
        return e.full(node, self.value)


@op("read", family="memory", symbol="↓")
class Read(Op):
    """Load a tile of ``memory``.

    ``width`` is the widest access of one lane in elements (None: it follows from the layout).

    Shapes: memory [dims] -> [dims]
    """

    memory: Value
    width: int | None = None

    def result_type(self, node: Node) -> TileType:
        """A value with the tensor's dims and element type."""
        assert isinstance(self.memory.type, MemoryType)
        return TileType(self.memory.type.dims, self.memory.type.dtype)

    def interpret(self, machine: Any, node: Node) -> Any:
        """Elements at the node's positions; nothing outside of the tensor is touched."""
        return machine.load(self.memory, node)

    def emit(self, e: Any, node: Node) -> Any:
        """Vector loads of the lane's runs, masked at the edges."""
        return e.load(self.memory, node, self.width)


@op("write", family="memory", symbol="↑")
class Write(Op):
    """Store a value in ``memory``; of several lanes that hold an element one stores it.

    ``width`` is the widest access of one lane in elements (None: as wide as the lane's runs).

    Shapes: value [dims], memory [dims] -> nothing
    """

    pure = False
    value: Value
    memory: Value
    width: int | None = None

    def result_type(self, node: Node) -> None:
        """Nothing; the value must be of the tensor's dims and element type.

        Raises:
            WriteDiffers: it is not.
        """
        memory, value = self.memory.type, self.value.tile
        assert isinstance(memory, MemoryType)
        want = TileType(memory.dims, memory.dtype)
        if value == want:
            return
        if value.dims == want.dims:
            advice = f"convert it: tkw.cast(value, tkl.{want.dtype})"
        elif set(value.dims) < set(want.dims):
            advice = f"give it all dims: tkw.broadcast(value, [{', '.join(want.dims)}])"
        else:
            advice = "the value must have the memory's dims, in its order"
        raise WriteDiffers(value=value, memory=want, advice=advice, location=node.location)

    def spread(self, node: Node) -> tuple[str, ...]:
        """The dims of the value written."""
        return self.value.tile.dims

    def interpret(self, machine: Any, node: Node) -> None:
        """Put the elements at the node's positions."""
        machine.store(self.memory, node, machine.value(self.value))

    def emit(self, e: Any, node: Node) -> None:
        """Vector stores of the lane's runs, masked at the edges."""
        e.store(self.memory, node, e.value(self.value), self.width)
