"""Elementwise ops: one row of the table each.

A row holds the numpy meaning, the MLIR op for floats and for integers, and which elements it takes.
f16 and bf16 are computed in f32 and rounded after every op, by the interpreter and the code alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.op import Op, Value, op
from explorer.compiler.ir.types import TileType
from explorer.compiler.lang.dtypes import DType, Kind
from explorer.compiler.ops.typing_rules import common_dims, common_dtype, require_kind

Array = NDArray[Any]
NUMBERS = (Kind.FLOAT, Kind.INTEGER)
FLOATS = (Kind.FLOAT,)
ANY = (Kind.FLOAT, Kind.INTEGER, Kind.BOOLEAN)


@dataclass(frozen=True)
class Row:
    """What makes one elementwise op differ from the next.

    Args:
        meaning: the numpy function.
        float_code: MLIR op for float elements (``dialect.op``, after a space the predicate).
        int_code: the same for integers and booleans.
        takes: kinds of elements allowed.
        compares: whether the result is boolean.
        widest: most bits of a float element; IREE has no code for wider ones on the CPU.
    """

    meaning: Callable[..., Array]
    float_code: str
    int_code: str = ""
    takes: tuple[Kind, ...] = FLOATS
    compares: bool = False
    widest: int = 64


class Elementwise(Op):
    """Base of the table's ops: each element of the result is made of one of each operand."""

    row: ClassVar[Row]

    def result_type(self, node: Node) -> TileType:
        """The operands' common type, boolean elements for a comparison."""
        dtype = common_dtype(node, self.operands)
        require_kind(node, self.operands[0], self.row.takes, self.row.widest)
        dims = common_dims(node, self.operands)
        return TileType(dims, DType.I1 if self.row.compares else dtype)

    def interpret(self, machine: Any, node: Node) -> Array:
        """Apply the numpy meaning, f16 and bf16 by way of f32."""
        values = [machine.aligned(o, node) for o in self.operands]
        if self.operands[0].tile.dtype in (DType.F16, DType.BF16):
            values = [v.astype(np.float32) for v in values]
        return machine.rounded(self.row.meaning(*values), node)

    def emit(self, e: Any, node: Node) -> Any:
        """One MLIR op on vectors."""
        operands = [e.aligned(o, node) for o in self.operands]
        dtype = self.operands[0].tile.dtype
        return e.elementwise(
            self.row.float_code if dtype.is_float else self.row.int_code, operands, dtype, node
        )


@dataclass(frozen=True, eq=False)
class Unary(Elementwise):
    """An elementwise op of one operand."""

    x: Value


@dataclass(frozen=True, eq=False)
class Binary(Elementwise):
    """An elementwise op of two operands."""

    lhs: Value
    rhs: Value


UNARY: dict[str, type[Unary]] = {}
BINARY: dict[str, type[Binary]] = {}


def _unary(name: str, says: str, row: Row, symbol: str = "") -> None:
    @op(name, family="elementwise", symbol=symbol)
    class Made(Unary):
        __doc__ = f"{says}\n\n    Shapes: x [dims] -> [dims]\n    "

    Made.row = row
    UNARY[name] = Made


def _binary(name: str, says: str, row: Row, symbol: str = "") -> None:
    @op(name, family="elementwise", symbol=symbol)
    class Made(Binary):
        __doc__ = (
            f"{says}\n\n    Shapes: lhs [dims], rhs [part of dims] -> [dims], or the reverse\n    "
        )

    Made.row = row
    BINARY[name] = Made


def _reciprocal_sqrt(x: Array) -> Array:
    return (1 / np.sqrt(x)).astype(x.dtype)


for _name, _symbol, _says, _made in [
    ("exp", "eˣ", "e to the power of x.", Row(np.exp, "math.exp")),
    ("exp2", "2ˣ", "2 to the power of x.", Row(np.exp2, "math.exp2")),
    ("log", "ln", "Natural logarithm; NaN below 0, -inf at 0.", Row(np.log, "math.log")),
    (
        "log2",
        "log₂",
        "Logarithm to base 2; NaN below 0, -inf at 0.",
        Row(np.log2, "math.log2", widest=32),
    ),
    ("sqrt", "√", "Square root; NaN below 0.", Row(np.sqrt, "math.sqrt")),
    ("rsqrt", "1/√", "1 over the square root; inf at 0.", Row(_reciprocal_sqrt, "math.rsqrt")),
    ("reciprocal", "1/x", "1 over x; inf at 0.", Row(np.reciprocal, "reciprocal")),
    ("tanh", "tanh", "Hyperbolic tangent.", Row(np.tanh, "math.tanh", widest=32)),
    ("abs", "|x|", "Absolute value.", Row(np.abs, "math.absf", "math.absi", NUMBERS)),
    ("neg", "-x", "Negative.", Row(np.negative, "arith.negf", "negi", NUMBERS)),
]:
    _unary(_name, _says, _made, _symbol)


def _row(meaning: Any, float_code: str, int_code: str, takes: tuple[Kind, ...] = NUMBERS) -> Row:
    return Row(meaning, float_code, int_code, takes)


def _comparison(meaning: Any, float_code: str, int_code: str, takes: tuple[Kind, ...]) -> Row:
    return Row(meaning, f"arith.cmpf {float_code}", f"arith.cmpi {int_code}", takes, compares=True)


for _name, _symbol, _says, _made in [
    ("add", "+", "Sum.", _row(np.add, "arith.addf", "arith.addi")),
    ("sub", "-", "Difference.", _row(np.subtract, "arith.subf", "arith.subi")),
    ("mul", "*", "Product.", _row(np.multiply, "arith.mulf", "arith.muli")),
    ("div", "÷", "Quotient, as IEEE 754 divides floats.", Row(np.divide, "arith.divf")),
    (
        "maximum",
        "max",
        "The larger of two; NaN if either is NaN.",
        _row(np.maximum, "arith.maximumf", "arith.maxsi"),
    ),
    (
        "minimum",
        "min",
        "The smaller of two; NaN if either is NaN.",
        _row(np.minimum, "arith.minimumf", "arith.minsi"),
    ),
    ("lt", "<", "Whether lhs < rhs; false with NaN.", _comparison(np.less, "olt", "slt", NUMBERS)),
    (
        "le",
        "≤",
        "Whether lhs <= rhs; false with NaN.",
        _comparison(np.less_equal, "ole", "sle", NUMBERS),
    ),
    (
        "gt",
        ">",
        "Whether lhs > rhs; false with NaN.",
        _comparison(np.greater, "ogt", "sgt", NUMBERS),
    ),
    (
        "ge",
        "≥",
        "Whether lhs >= rhs; false with NaN.",
        _comparison(np.greater_equal, "oge", "sge", NUMBERS),
    ),
    ("eq", "=", "Whether equal; false with NaN.", _comparison(np.equal, "oeq", "eq", ANY)),
    ("ne", "≠", "Whether different; true with NaN.", _comparison(np.not_equal, "une", "ne", ANY)),
    (
        "and",
        "&",
        "Both, bit by bit.",
        Row(np.bitwise_and, "", "arith.andi", (Kind.BOOLEAN, Kind.INTEGER)),
    ),
    (
        "or",
        "|",
        "Either, bit by bit.",
        Row(np.bitwise_or, "", "arith.ori", (Kind.BOOLEAN, Kind.INTEGER)),
    ),
]:
    _binary(_name, _says, _made, _symbol)
