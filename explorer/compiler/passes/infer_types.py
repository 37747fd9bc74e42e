"""The type of every value."""

from __future__ import annotations

from explorer.compiler.errors import LiteralDoesNotFit, NestedSameAxis, UnsupportedElements
from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.ir.types import MemoryType
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.ops.control import Carried, Loop
from explorer.compiler.ops.elementwise import Elementwise
from explorer.compiler.ops.memory import Literal
from explorer.compiler.ops.reduction import Reduce
from explorer.compiler.ops.shaping import Select
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.facts import TYPED, WELL_FORMED


@compiler_pass(requires=(WELL_FORMED,), establishes=(TYPED,))
def infer_types(graph: TileGraph, context: Context) -> None:
    """Give every node the type that its op derives from its operands' types.

    A Python number takes the element type of the value beside it.

        %read = read(%a)
        %mul = mul(%read, 2)
        ->
        %read = read(%a) : f32[M, N]
        %mul = mul(%read, 2) : f32[M, N]
    """
    del context
    _region(graph.root, ())


def _region(region: Region, around: tuple[Node, ...]) -> None:
    for node in region.nodes:
        if isinstance(node.op, Literal):
            continue  # typed by its user
        _adopt_literals(node)
        if isinstance(node.op, Loop):
            _loop(node, node.op, around)
        node.type = node.op.result_type(node)
        node.typed = True
        _check_elements(node)


def _check_elements(node: Node) -> None:
    if node.type is None:
        return
    dtype = node.type.dtype
    if isinstance(node.type, MemoryType) and dtype is DType.I1:
        advice = "keep booleans in i8: write tkw.cast(condition, tkl.i8), read and compare with 0"
        raise UnsupportedElements(
            name=node.name, what="tensors", dtype=dtype, advice=advice, location=node.location
        )
    if dtype in (DType.F8E4M3FN, DType.F8E4M3FNUZ):
        raise UnsupportedElements(
            name=node.name,
            what="values and tensors",
            dtype=dtype,
            advice="use f16 or bf16",
            location=node.location,
        )


def _loop(node: Node, op: Loop, around: tuple[Node, ...]) -> None:
    for outer in around:
        assert isinstance(outer.op, Loop)
        if outer.op.axis == op.axis:
            raise NestedSameAxis(
                inner=node.name, dim=op.axis, outer=outer.name, location=node.location
            )
    for argument, init in zip(op.body.arguments, op.inits, strict=True):
        argument.op = Carried(init.tile)
    _region(op.body, (*around, node))


def _adopt_literals(node: Node) -> None:
    together = _same_dtype(node)
    literals = [o for o in node.operands if isinstance(o.op, Literal) and not o.typed]
    if not literals:
        return
    typed = [o.tile.dtype for o in together if o not in literals]
    for literal in literals:
        assert isinstance(literal.op, Literal)
        value = literal.op.value
        own = DType.F32 if isinstance(value, float) else DType.I32
        dtype = typed[0] if typed and literal in together else own
        if not typed and any(
            isinstance(o.op, Literal) and isinstance(o.op.value, float) for o in together
        ):
            dtype = DType.F32
        if not dtype.holds(value):
            raise LiteralDoesNotFit(
                op=node.op.name, value=value, dtype=dtype, location=node.location
            )
        literal.op = Literal(value, dtype)
        literal.type = literal.op.result_type(literal)
        literal.typed = True


def _same_dtype(node: Node) -> tuple[Node, ...]:
    """Operands that must be of one element type."""
    match node.op:
        case Elementwise() | Reduce():
            return node.operands
        case Select(if_true=if_true, if_false=if_false):
            return (if_true, if_false)
        case _:
            return ()
