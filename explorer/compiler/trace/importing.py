"""From the torch.fx graph with symbols to the tile graph with numbers."""

from __future__ import annotations

from typing import Any

from torch import fx

from explorer.compiler.errors import (
    LoopWithoutTiling,
    NotAValue,
    PositionDoesNotFit,
    SharedParameter,
    UnknownDim,
    UnusedTiling,
)
from explorer.compiler.expr import ceil_div
from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.ir.op import Op
from explorer.compiler.ir.types import MemoryType, TileType
from explorer.compiler.lang.bindings import Bound, number_of
from explorer.compiler.lang.dtypes import DType, Kind
from explorer.compiler.lang.tiling import LARGEST_SIZE, Tiling
from explorer.compiler.lang.types import AddressSpace, Memory, Register, Scalar
from explorer.compiler.ops import memory
from explorer.compiler.ops.control import Carried, Iterate, Result
from explorer.compiler.ops.positions import SelfIndex
from explorer.compiler.ops.reduction import REDUCTIONS
from explorer.compiler.trace.kernel import Kernel
from explorer.compiler.trace.tracer import end_of_body


def import_graph(kernel: Kernel, bound: Bound, tiling: Tiling) -> TileGraph:
    """The kernel's graph for ``bound``; types and indices are still unknown.

    Raises:
        LoopWithoutTiling: a loop walks a dim that has no TilingConstraint.
        UnusedTiling: a TilingConstraint that no loop uses.
        UnknownDim: an operation names a dim that no parameter has.
        NotWhole: an access width is no positive whole number.
    """
    importer = _Importer(kernel, bound, tiling)
    with importer.graph.building(importer.graph.root):
        for node in kernel.graph.nodes:
            importer.take(node)
    importer.check_tilings()
    return importer.graph


class _Importer:
    def __init__(self, kernel: Kernel, bound: Bound, tiling: Tiling) -> None:
        self.kernel = kernel
        self.bound = bound
        self.tiling = tiling
        self.graph = TileGraph(kernel.name)
        self.dims = list(dict.fromkeys(d.name for p in kernel.parameters for d in p.dims))
        self.made: dict[fx.Node, Node] = {}
        self.open: list[tuple[Node, Any]] = []

    def take(self, node: fx.Node) -> None:
        match node.op, node.target:
            case "placeholder", _:
                self.made[node] = self._parameter(node)
            case "output", _:
                pass
            case _, target if target is end_of_body:
                self._leave(node)
            case _, target:
                assert isinstance(target, type)
                self.made[node] = self._node(node, target)

    def _parameter(self, node: fx.Node) -> Node:
        position = len(self.made)  # placeholders come first, in order; fx may rename them
        name, kind = self.kernel.parameters[position].name, self.kernel.parameters[position].kind
        op = (
            memory.Scalar(position, kind.dtype)
            if isinstance(kind, Scalar)
            else memory.Parameter(position, self._memory_type(name, kind))
        )
        return self.graph.add(op, name=name, location=self.kernel.location)

    def _memory_type(self, name: str, kind: Memory) -> MemoryType:
        space = kind.space if isinstance(kind.space, AddressSpace) else self.bound[kind.space.name]
        assert isinstance(space, AddressSpace)
        if space is AddressSpace.SHARED:
            raise SharedParameter(name=name, location=self.kernel.location)
        return MemoryType(tuple(d.name for d in kind.dims), kind.dtype, space)

    def _node(self, node: fx.Node, target: type[Any]) -> Node:
        location = node.meta["location"]

        def operand(given: Any) -> Node:
            if isinstance(given, fx.Node):
                return self.made[given]
            return self.graph.add(memory.Literal(given), name="literal", location=location)

        args = node.args
        if target is Iterate:
            return self._enter(node, [operand(v) for v in args[1:]])
        if target is Carried:
            return self._carried(node)
        made = self._op(target, args, node.kwargs, operand, location)
        return self.graph.add(made, name=_name(node, made), location=location)

    def _op(self, target: Any, args: Any, attributes: Any, operand: Any, location: Any) -> Any:
        if target is memory.Register:
            value, kind = args
            return target(value, self._tile_type(kind, location))
        if target is Result:
            return target(self.made[args[0]], args[1])
        if target in REDUCTIONS.values():
            init = operand(args[1]) if len(args) > 1 else None
            # Which dims the operand has is for type inference to say.
            return target((operand(args[0]),), attributes["dim"].name, init)
        if target is SelfIndex:
            self._check_positions(attributes["dim"], attributes["dtype"], location)
        given = {n: self._attribute(target.name, n, v, location) for n, v in attributes.items()}
        return target(*map(operand, args), **given)

    def _attribute(self, op: str, name: str, given: Any, location: Any) -> Any:
        """A static attribute: sizes as numbers, dims as names."""
        match name:
            case "width":
                return self._width(op, given)
            case "dims":
                return tuple(self._dim(d, location) for d in given)
            case "dim":
                return self._dim(given, location)
            case _:
                return given

    def _check_positions(self, dim: Any, dtype: DType, location: Any) -> None:
        size = self.tiling[self._dim(dim, location)].size or LARGEST_SIZE
        if dtype.kind is not Kind.INTEGER or not dtype.holds(size - 1):
            whole = [d for d in DType if d.kind is Kind.INTEGER and d.holds(size - 1)]
            raise PositionDoesNotFit(
                op=SelfIndex.name,
                dtype=dtype,
                dim=dim,
                size=size,
                better=", ".join(f"tkl.{d}" for d in whole),
                location=location,
            )

    def _enter(self, node: fx.Node, inits: list[Node]) -> Node:
        axis: Any = node.args[0]
        body = Region(node.name)
        dim = self.tiling[self._dim(axis, node.meta["location"])]
        if dim.loop_tile is None:
            raise LoopWithoutTiling(dim=dim.name, location=node.meta["location"])
        steps = ceil_div(dim.extent, dim.loop_tile)
        op = Iterate(dim.name, tuple(inits), body, dim.loop_tile, steps)
        loop = self.graph.add(op, name=node.name, location=node.meta["location"])
        body.name = loop.name
        entered = self.graph.building(body)
        entered.__enter__()
        self.open.append((loop, entered))
        return loop

    def _carried(self, node: fx.Node) -> Node:
        made = self.graph.add(Carried(), name=node.name, location=node.meta["location"])
        body = self.open[-1][0].op.region
        assert body is not None
        body.arguments += (made,)
        return made

    def _leave(self, node: fx.Node) -> None:
        loop, entered = self.open.pop()
        assert loop.op.region is not None
        yields: list[Node] = []
        for given in node.args[1:]:
            if not isinstance(given, fx.Node):
                raise NotAValue(
                    op=f"loop {loop.name}",
                    what="a returned value",
                    want="a traced value",
                    found=f"the number {given}",
                    advice="return tkl.Register[...](number) instead",
                    location=node.meta["location"],
                )
            yields.append(self.made[given])
        loop.op.region.yields = tuple(yields)
        entered.__exit__(None, None, None)

    def check_tilings(self) -> None:
        walked = {n.op.axis for n in self.graph.nodes if isinstance(n.op, Iterate)}
        for dim in self.tiling.dims:
            if dim.loop_tile is not None and dim.name not in walked:
                raise UnusedTiling(dim=dim.name, tile=dim.loop_tile, location=self.kernel.location)

    def _width(self, op: str, width: Any) -> int | None:
        return (
            None if width is None else number_of(width, self.bound, f"elements_per_thread of {op}")
        )

    def _tile_type(self, kind: Register, location: Any) -> TileType:
        return TileType(tuple(self._dim(d, location) for d in kind.dims), kind.dtype)

    def _dim(self, dim: Any, location: Any) -> str:
        if dim.name not in self.dims:
            raise UnknownDim(
                kind="an operation", dim=dim, known=", ".join(self.dims), location=location
            )
        return dim.name


def _name(node: fx.Node, op: Op) -> str:
    """The op's name; a loop's result is named after the loop."""
    return node.name if isinstance(op, Result) else op.name
