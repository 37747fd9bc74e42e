"""Loops."""

from __future__ import annotations

from typing import Any

from explorer.compiler.errors import YieldDiffers, YieldKeepsAxis
from explorer.compiler.expr import Expr
from explorer.compiler.ir.graph import Node, Region
from explorer.compiler.ir.op import Op, Value, op
from explorer.compiler.ir.types import TileType


class Loop(Op):
    """Base: run ``body`` once for each tile of ``axis``, handing carried values on."""

    pure = False
    axis: str
    inits: tuple[Value, ...]
    body: Region
    step: int | None
    """Elements of ``axis`` a step; None until the tiling is known."""
    steps: Expr | None
    """A number, or a formula of sizes that are known when the kernel is called."""

    @property
    def region(self) -> Region:
        """The body."""
        return self.body

    def result_type(self, node: Node) -> None:
        """Nothing: results are taken out by ``result``. Checks what the body yields.

        Raises:
            YieldKeepsAxis: a yielded value still has the loop's dim.
            YieldDiffers: a yielded value is of another type than the carried one.
        """
        for argument, value in zip(self.body.arguments, self.body.yields, strict=True):
            if self.axis in value.tile.dims:
                raise YieldKeepsAxis(
                    loop=node.name, dim=self.axis, type=value.tile, location=value.location
                )
            if value.tile != argument.tile:
                raise YieldDiffers(
                    loop=node.name, want=argument.tile, found=value.tile, location=value.location
                )

    def interpret(self, machine: Any, node: Node) -> Any:
        """Run the body step by step; the value is the tuple of what was carried last."""
        return machine.loop(node, self)

    def emit(self, e: Any, node: Node) -> Any:
        """``scf.for`` with carried vectors."""
        return e.loop(node, self)


@op("iterate", family="control", symbol="↻")
class Iterate(Loop):
    """A loop that the person wrote over all tiles of ``axis``.

    Shapes: inits [dims without axis] -> the same, taken out by ``result``
    """

    axis: str
    inits: tuple[Value, ...]
    body: Region
    step: int | None = None
    steps: Expr | None = None


@op("parallel-loop", family="control", symbol="⇉")
class ParallelLoop(Loop):
    """A generated loop over the tiles of ``axis`` that the workgroup owns.

    Shapes: inits [dims without axis] -> the same, taken out by ``result``
    """

    axis: str
    inits: tuple[Value, ...]
    body: Region
    step: int | None = None
    steps: Expr | None = None


@op("carried", family="control", symbol="↷")
class Carried(Op):
    """A carried value inside of a loop's body: the initial value, then what the last step yielded.

    Shapes: -> [dims]
    """

    pure = False
    tile: TileType | None = None

    def result_type(self, node: Node) -> TileType | None:
        """The initial value's type, set by the loop."""
        return self.tile

    def interpret(self, machine: Any, node: Node) -> Any:
        """Set by the loop."""
        return machine.value(node)

    def emit(self, e: Any, node: Node) -> Any:
        """Bound by the loop."""
        return e.value(node)


@op("result", family="control", symbol="↴")
class Result(Op):
    """The ``at``-th value that a loop carried last.

    Shapes: -> [dims]
    """

    pure = False
    loop: Value
    at: int

    def result_type(self, node: Node) -> TileType:
        """The type of the loop's initial value."""
        assert isinstance(self.loop.op, Loop)
        return self.loop.op.inits[self.at].tile

    def interpret(self, machine: Any, node: Node) -> Any:
        """Pick it."""
        return machine.value(self.loop)[self.at]

    def emit(self, e: Any, node: Node) -> Any:
        """Pick the loop's SSA result."""
        return e.value(self.loop)[self.at]
