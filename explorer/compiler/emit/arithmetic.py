"""Vectors: their types and constants, elementwise code, conversions."""

from __future__ import annotations

import math as pymath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emit.mlir import Ssa, arith, ir, llvm, math, vector
from explorer.compiler.lang.dtypes import DType, Kind

_ELEMENT: dict[DType, Any] = {
    DType.F64: lambda: ir.F64Type.get(),
    DType.F32: lambda: ir.F32Type.get(),
    DType.F16: lambda: ir.F16Type.get(),
    DType.BF16: lambda: ir.BF16Type.get(),
}
_DIALECTS = {"arith": arith, "math": math}
_COMPARE_FLOAT = {
    n: i
    for i, n in enumerate(
        [
            "false",
            "oeq",
            "ogt",
            "oge",
            "olt",
            "ole",
            "one",
            "ord",
            "ueq",
            "ugt",
            "uge",
            "ult",
            "ule",
            "une",
            "uno",
            "true",
        ]
    )
}
_COMPARE_INT = {
    n: i for i, n in enumerate(["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
}
_IGNORING_NAN = {"arith.maximumf": arith.maxnumf, "arith.minimumf": arith.minnumf}
_BETTER = {"arith.maximumf": "ogt", "arith.minimumf": "olt"}
COMPUTED_IN_F32 = (DType.F16, DType.BF16)
"""Element types whose arithmetic is done in f32 and rounded after every op."""


def element_type(dtype: DType) -> Any:
    """The MLIR element type."""
    made = _ELEMENT.get(dtype)
    return made() if made is not None else ir.IntegerType.get_signless(dtype.bits)


def vector_type(dtype: DType, elements: int) -> Any:
    """``vector<elements x dtype>``."""
    return ir.VectorType.get([elements], element_type(dtype))


def splat(dtype: DType, elements: int, value: float) -> Ssa:
    """A vector constant with all elements equal."""
    kind = vector_type(dtype, elements)
    if dtype.is_float:
        attribute = ir.FloatAttr.get(element_type(dtype), float(value))
    else:
        attribute = ir.IntegerAttr.get(element_type(dtype), int(value))
    return arith.constant(kind, ir.DenseElementsAttr.get_splat(kind, attribute))


def integers(values: Sequence[int], dtype: DType = DType.I32) -> Ssa:
    """A constant vector of integers."""
    kind = vector_type(dtype, len(values))
    made = np.array(values, f"i{dtype.bytes}")
    return arith.constant(kind, ir.DenseElementsAttr.get(made, type=kind))


def length(value: Ssa) -> int:
    """Elements of a vector."""
    return ir.VectorType(value.type).shape[0]


def shuffled(value: Ssa, positions: NDArray[Any]) -> Ssa:
    """The elements of ``value`` at ``positions``, in that order."""
    at = [int(p) for p in positions]
    if at == list(range(length(value))):
        return value
    if length(value) == 1:
        kind = ir.VectorType.get([len(at)], ir.VectorType(value.type).element_type)
        return vector.broadcast(kind, value)
    return vector.shuffle(value, value, at)


@dataclass(frozen=True)
class Arithmetic:
    """How float operations are to be computed.

    Args:
        fast: whether they may be reordered, contracted and approximated. NaN and infinities keep
            their meaning: masks and starting values are made of them.
        contracts: whether machine code joins a product and a sum into one rounding by itself.
            IREE lets LLVM do so on the CPU, whatever the flags say; a fence after each product
            keeps both roundings.
        chooses: whether ``maximumf`` and ``minimumf`` are spelled as comparisons and choices, which
            is cheaper where no one instruction keeps NaN (x86).
        loses_nan: whether the target's ``maximumf`` and ``minimumf`` forget a NaN. IREE's lowering
            for ROCm turns them into ``maxnumf`` and ``minnumf``.
    """

    fast: bool
    contracts: bool
    chooses: bool
    loses_nan: bool

    @property
    def flags(self) -> Any:
        """MLIR's fast-math flags."""
        f = arith.FastMathFlags
        return f.reassoc | f.nsz | f.arcp | f.contract | f.afn if self.fast else f.none


def compute(code: str, operands: Sequence[Ssa], dtype: DType, how: Arithmetic) -> Ssa:
    """One elementwise op on vectors of ``dtype``.

    Args:
        code: ``dialect.op``, after a space a predicate; or one of the few spelled out here.
        operands: vectors of equal length.
        dtype: their element type.
        how: what may be done with floats.
    """
    if dtype in COMPUTED_IN_F32:
        wide = [convert(o, dtype, DType.F32) for o in operands]
        made = compute(code, wide, DType.F32, how)
        return made if code.startswith("arith.cmp") else convert(made, DType.F32, dtype)
    match code.split():
        case ["reciprocal"]:
            one = splat(dtype, length(operands[0]), 1)
            return compute("arith.divf", [one, *operands], dtype, how)
        case ["negi"]:
            return arith.subi(splat(dtype, length(operands[0]), 0), *operands)
        case ["arith.cmpf", predicate]:
            return arith.cmpf(_COMPARE_FLOAT[predicate], *operands)
        case ["arith.cmpi", predicate]:
            return arith.cmpi(_COMPARE_INT[predicate], *operands)
        case [name] if name in _IGNORING_NAN and how.loses_nan:
            lost = arith.cmpf(_COMPARE_FLOAT["uno"], *operands)
            nan = splat(dtype, length(operands[0]), pymath.nan)
            return arith.select(lost, nan, _IGNORING_NAN[name](*operands))
        case [name] if name in _BETTER and how.chooses:
            return _chosen(_BETTER[name], *operands)
        case ["arith.mulf"] if how.contracts and not how.fast:
            return _fenced(arith.mulf(*operands))
        case _:
            dialect, op = code.split(".")
            flags = {"fastmath": how.flags} if how.fast and dtype.is_float else {}
            return getattr(_DIALECTS[dialect], op)(*operands, **flags)


def _chosen(better: str, lhs: Ssa, rhs: Ssa) -> Ssa:
    """The operand that compares better, NaN if either is NaN: ``maxps`` and one choice on x86."""
    larger = arith.select(arith.cmpf(_COMPARE_FLOAT[better], lhs, rhs), lhs, rhs)
    return arith.select(arith.cmpf(_COMPARE_FLOAT["uno"], lhs, lhs), lhs, larger)


def _fenced(value: Ssa) -> Ssa:
    """``value``, which LLVM may not look behind."""
    made = llvm.CallIntrinsicOp(value.type, "llvm.arithmetic.fence", [value], [], [])
    return made.results[0]


def convert(value: Ssa, have: DType, want: DType) -> Ssa:
    """A vector with its elements converted; floats round to nearest even, to integers cut off."""
    if have is want:
        return value
    if want is DType.I1:
        zero = splat(have, length(value), 0)
        if have.is_float:
            return arith.cmpf(_COMPARE_FLOAT["une"], value, zero)
        return arith.cmpi(_COMPARE_INT["ne"], value, zero)
    if _goes_by_f32(have, want):
        # The fence keeps LLVM from joining both steps into the one that is to be avoided.
        return convert(_fenced(convert(value, have, DType.F32)), DType.F32, want)
    return _conversion(have, want)(vector_type(want, length(value)), value)


def _goes_by_f32(have: DType, want: DType) -> bool:
    """Between f16 and bf16; and from integers to bf16, which else calls code that is not linked."""
    if have.is_float:
        return want.is_float and have.bits == want.bits
    return want is DType.BF16


def _conversion(have: DType, want: DType) -> Any:
    match have.kind, want.kind:
        case Kind.FLOAT, Kind.FLOAT:
            return arith.extf if want.bits > have.bits else arith.truncf
        case Kind.FLOAT, _:
            return arith.fptosi
        case Kind.BOOLEAN, Kind.FLOAT:
            return arith.uitofp
        case _, Kind.FLOAT:
            return arith.sitofp
        case Kind.BOOLEAN, _:
            return arith.extui
        case _:
            return arith.extsi if want.bits > have.bits else arith.trunci


def halves(shape: tuple[int, ...], axis: int) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Flat positions of the two halves of ``shape`` along ``axis``, and a half's length.

    The second half is shorter by one when the length is odd; it is then filled up with the first
    half's last element, which the caller must leave alone.
    """
    every = np.arange(pymath.prod(shape)).reshape(shape)
    half = shape[axis] - shape[axis] // 2
    low, high = np.split(every, [half], axis)
    return low, high, half
