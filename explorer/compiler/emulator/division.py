"""The three instructions around a division, and products of mixed kinds.

Source: CDNA3 guide, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP, V_FMA_MIX and V_DOT2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.rounding import fma32, fma64, to_odd
from explorer.compiler.emulator.sources import Reader, source, write, write_half, write_mask
from explorer.compiler.emulator.vector import VCC_PAIR, output

Array = NDArray[Any]
Build = Callable[[Instruction], Step]


@dataclass(frozen=True)
class _Float:
    """What the instructions need to know of a float type."""

    kind: str
    scale: int
    """Exponent that a scaled operand is moved by."""
    far: int
    """Difference of exponents from which the quotient is scaled."""
    low: int
    """Biased exponent up to which a numerator is scaled."""
    mantissa: int
    bias: int
    scaled_fma: Callable[[Array, Array, Array, Array], Array]

    def exponent(self, x: Array) -> Array:
        """The biased exponent."""
        bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").astype(np.uint64)
        return ((bits >> np.uint64(self.mantissa)) & np.uint64(2 * self.bias + 1)).astype(np.int64)


def _scaled_fma32(a: Array, b: Array, c: Array, power: Array) -> Array:
    total = to_odd(a.astype(np.float64) * b, c.astype(np.float64))
    return np.ldexp(total, power).astype(np.float32)


def _scaled_fma64(a: Array, b: Array, c: Array, power: Array) -> Array:
    return np.ldexp(fma64(a, b, c), power)


_F32 = _Float("f32", 64, 96, 23, 23, 127, _scaled_fma32)
_F64 = _Float("f64", 128, 768, 53, 52, 1023, _scaled_fma64)


def _float_of(instruction: Instruction) -> _Float:
    return _F64 if instruction.base.endswith("f64") else _F32


def _subnormal(x: Array) -> Array:
    return (np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0)


def div_scale(
    float_: _Float, given: Array, denominator: Array, numerator: Array
) -> tuple[Array, Array]:
    """Move operands of a division away from the ends of the range.

    Where the reciprocal of the denominator and the quotient are both subnormal, the guides print a
    denominator scaled up, which would be infinite; it is scaled down here, which the sequence of
    instructions around it needs to give the quotient.

    Returns:
        ``given`` (which is one of the other two), scaled; and whether the quotient must be scaled
        back.
    """
    up, down = np.ldexp(given, float_.scale), np.ldexp(given, -float_.scale)
    for_denominator = np.where(given == denominator, up, given)
    for_numerator = np.where(given == numerator, up, given)
    exponents = float_.exponent(numerator) - float_.exponent(denominator)
    tiny_reciprocal = _subnormal(1 / denominator)
    tiny_quotient = _subnormal(numerator / denominator)
    nan = np.full_like(up, np.nan)
    cases = [
        ((denominator == 0) | (numerator == 0), nan, False),
        (exponents >= float_.far, for_denominator, True),
        (_subnormal(denominator), up, False),
        (tiny_reciprocal & tiny_quotient, np.where(given == denominator, down, given), True),
        (tiny_reciprocal, down, False),
        (tiny_quotient, for_numerator, True),
        (float_.exponent(numerator) <= float_.low, up, False),
    ]
    conditions = [condition for condition, _, _ in cases]
    value = np.select(conditions, [value for _, value, _ in cases], given).astype(given.dtype)
    flag = np.select(conditions, [np.bool_(flag) for _, _, flag in cases], np.bool_(False))
    return value, flag.astype(bool)


def _build_scale(instruction: Instruction) -> Step:
    float_ = _float_of(instruction)
    target, mask, *given = instruction.operands
    reads = [source(operand, float_.kind) for operand in given]

    def step(machine: Machine) -> None:
        waves = machine.waves
        value, flag = div_scale(float_, *np.broadcast_arrays(*[read(waves) for read in reads]))
        flag = flag & waves.active
        write(waves, target, value)
        write_mask(waves, mask, flag)

    return step


def _build_fmas(instruction: Instruction) -> Step:
    """Product and sum, scaled where VCC says."""
    float_ = _float_of(instruction)
    target, *given = instruction.operands
    reads = [source(operand, float_.kind) for operand in given]

    def step(machine: Machine) -> None:
        waves = machine.waves
        a, b, c = (read(waves) for read in reads)
        large = float_.exponent(c) > float_.bias
        power = np.where(large, float_.scale, -float_.scale)
        power = np.where(waves.lane_mask(VCC_PAIR.first), power, 0)
        write(waves, target, float_.scaled_fma(a, b, c, power))

    return step


def div_fixup(quotient: Array, denominator: Array, numerator: Array) -> Array:
    """The quotient of special operands, or the given one with the right sign."""
    one = quotient.dtype.type(1)
    sign = np.copysign(one, denominator) * np.copysign(one, numerator)
    infinity, nan = quotient.dtype.type(np.inf), quotient.dtype.type(np.nan)
    cases: list[tuple[Array, Any]] = [
        (np.isnan(numerator), numerator),
        (np.isnan(denominator), denominator),
        ((denominator == 0) & (numerator == 0), nan),
        (np.isinf(denominator) & np.isinf(numerator), nan),
        ((denominator == 0) | np.isinf(numerator), sign * infinity),
        (np.isinf(denominator) | (numerator == 0), sign * quotient.dtype.type(0)),
        (np.isnan(quotient), sign * infinity),  # of finite operands: it overflowed on the way
    ]
    conditions, values = [c for c, _ in cases], [v for _, v in cases]
    return np.select(conditions, values, np.copysign(quotient, sign)).astype(quotient.dtype)


def _build_fixup(instruction: Instruction) -> Step:
    kind = "f16" if instruction.base.endswith("f16") else _float_of(instruction).kind
    target, *given = instruction.operands
    reads = [source(operand, kind) for operand in given]

    def step(machine: Machine) -> None:
        values = np.broadcast_arrays(*[read(machine.waves) for read in reads])
        write(machine.waves, target, div_fixup(*values))

    return step


# --- mixed kinds ----------------------------------------------------------------------------------


def _mixed_reader(instruction: Instruction, position: int) -> Reader:
    """An operand as float32: a half of its register where ``op_sel_hi`` is set."""
    operand = instruction.operands[1 + position]
    if not instruction.bits("op_sel_hi", (0, 0, 0))[position]:
        return source(operand, "f32")
    high = bool(instruction.bits("op_sel", (0, 0, 0))[position])
    read = source(operand, "f16", high=high)
    return lambda waves: read(waves).astype(np.float32)


def _build_mixed(instruction: Instruction) -> Step:
    """V_FMA_MIX: float32 product and sum of float32 and float16, kept or rounded to a half."""
    reads = [_mixed_reader(instruction, i) for i in range(3)]
    clamp, target = instruction.has("clamp"), instruction.operands[0]
    half = instruction.base.endswith("f16")

    def step(machine: Machine) -> None:
        waves = machine.waves
        value = output(fma32(*[read(waves) for read in reads]), 1, clamp=clamp)
        if not half:
            write(waves, target, value)
            return
        bits = value.astype(np.float16).view(np.uint16).astype(np.uint32)
        write_half(waves, target, bits, high="mixhi" in instruction.base)

    return step


def _build_dot2(instruction: Instruction) -> Step:
    """Two float16 products added to a float32, with a single rounding."""
    target, first, second, *third = instruction.operands
    addend = source(third[0] if third else target, "f32")
    pairs = [
        (source(first, "f16", high=high), source(second, "f16", high=high))
        for high in (False, True)
    ]

    def step(machine: Machine) -> None:
        waves = machine.waves
        total = addend(waves).astype(np.float64)
        for read_a, read_b in pairs:
            total = total + read_a(waves).astype(np.float64) * read_b(waves).astype(np.float64)
        write(waves, target, total.astype(np.float32))

    return step


DIVISION: dict[str, Build] = {
    "v_div_scale_f32": _build_scale,
    "v_div_scale_f64": _build_scale,
    "v_div_fmas_f32": _build_fmas,
    "v_div_fmas_f64": _build_fmas,
    "v_div_fixup_f16": _build_fixup,
    "v_div_fixup_f32": _build_fixup,
    "v_div_fixup_f64": _build_fixup,
    "v_fma_mix_f32": _build_mixed,
    "v_mad_mix_f32": _build_mixed,
    "v_fma_mixlo_f16": _build_mixed,
    "v_fma_mixhi_f16": _build_mixed,
    "v_mad_mixlo_f16": _build_mixed,
    "v_mad_mixhi_f16": _build_mixed,
    "v_dot2_f32_f16": _build_dot2,
    "v_dot2c_f32_f16": _build_dot2,
    "v_dot2acc_f32_f16": _build_dot2,
}
