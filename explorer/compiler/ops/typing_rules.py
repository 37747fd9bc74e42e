"""Type rules that several ops share."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.compiler.errors import DimsDiffer, DTypesDiffer, WrongDType
from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.types import is_subsequence
from explorer.compiler.lang.dtypes import DType, Kind


def common_dims(node: Node, operands: Sequence[Node]) -> tuple[str, ...]:
    """The dims of an elementwise result: the largest operand's, which must contain the others'.

    Raises:
        DimsDiffer: they do not fit.
    """
    largest = max((o.tile.dims for o in operands), key=len)
    if not all(is_subsequence(o.tile.dims, largest) for o in operands):
        raise DimsDiffer(op=node.op.name, types=_list(operands), location=node.location)
    return largest


def common_dtype(node: Node, operands: Sequence[Node]) -> DType:
    """The one element type of all ``operands``.

    Raises:
        DTypesDiffer: they have several.
    """
    dtypes = [o.tile.dtype for o in operands]
    if len(set(dtypes)) > 1:
        wanted = max(dtypes, key=lambda d: (d.is_float, d.bits))
        raise DTypesDiffer(
            op=node.op.name, types=_list(operands), wanted=wanted, location=node.location
        )
    return dtypes[0]


def require_kind(node: Node, operand: Node, kinds: Sequence[Kind], widest: int = 64) -> None:
    """Check that the operand's elements are of one of ``kinds`` and of at most ``widest`` bits.

    Raises:
        WrongDType: they are not.
    """
    dtype = operand.tile.dtype
    if dtype.kind not in kinds or dtype.bits > widest:
        limit = f" of at most {widest} bits" if widest < 64 else ""
        example = {Kind.FLOAT: DType.F32, Kind.INTEGER: DType.I32, Kind.BOOLEAN: DType.I1}
        raise WrongDType(
            op=node.op.name,
            dtype=dtype,
            want=" or ".join(k.value for k in kinds) + " elements" + limit,
            example=example[kinds[0]],
            location=node.location,
        )


def _list(operands: Sequence[Node]) -> str:
    return " and ".join(str(o.tile) for o in operands)
