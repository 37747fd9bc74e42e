"""Scalar ALU instructions: one value for each wave.

Sources: AMD's instruction set architecture guides, chapter on scalar ALU operations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.conversion_rows import to_integer
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.integer_rows import (
    field_signed,
    field_unsigned,
    high_product,
    leading_zeros,
    reverse_bits,
    shift_left,
    shift_right,
    trailing_zeros,
)
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.operand import EXEC, Operand
from explorer.compiler.emulator.rounding import fma32, maximum, minimum
from explorer.compiler.emulator.rows import Binary, Function, OfOperands, Ternary, Unary
from explorer.compiler.emulator.sources import DTYPES, scalar, unknown, write_scalar
from explorer.compiler.emulator.vector import COMPARES

Array = NDArray[Any]
Build = Callable[[Instruction], Step]
Condition = Callable[[list[Array], Array], Array]
"""(operands, result) -> the new SCC."""


@dataclass(frozen=True)
class ScalarRow:
    """What a scalar instruction reads, computes and writes."""

    result: str
    sources: tuple[str, ...]
    function: Function
    scc: Condition | None


SCALAR: dict[str, ScalarRow] = {}


def _add(names: str, kinds: str, function: OfOperands, scc: Condition | None = None) -> None:
    result, _, sources = kinds.partition(" <- ")
    row = ScalarRow(result, tuple(sources.split()), function, scc)
    SCALAR.update(dict.fromkeys(names.split(), row))


def _not_zero(_: list[Array], result: Array) -> Array:
    return result != 0


def _carry(operands: list[Array], result: Array) -> Array:
    return result < operands[0]


def _borrow(operands: list[Array], _: Array) -> Array:
    return operands[1] > operands[0]


def _overflow_add(operands: list[Array], result: Array) -> Array:
    return operands[0].astype(np.int64) + operands[1] != result


def _overflow_subtract(operands: list[Array], result: Array) -> Array:
    return operands[0].astype(np.int64) - operands[1] != result


def _first_wins(operands: list[Array], result: Array) -> Array:
    return (result == operands[0]) & (operands[0] != operands[1])


def _and_not(a: Array, b: Array) -> Array:
    return a & ~b


LOGIC: dict[str, Binary] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "andn2": _and_not,
    "and_not1": _and_not,
    "orn2": lambda a, b: a | ~b,
    "or_not1": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}


def _field(function: Ternary) -> Binary:
    """Offset in bits 0 to 4 and width in bits 16 to 22 of the second operand."""
    return lambda a, b: function(a, b & np.uint32(31), (b >> np.uint32(16)) & np.uint32(127))


def _signed_part(bits: int) -> Unary:
    shift = np.int32(32 - bits)
    return lambda a: (a << shift) >> shift


def _mask(width: Array, offset: Array) -> Array:
    one = np.ones_like(width)
    return shift_left(shift_left(one, width) - one, offset)


def _shifted_sum(shift: int) -> Binary:
    return lambda a, b: (a << np.uint32(shift)) + b


def _shifted_carry(shift: int) -> Condition:
    return lambda operands, _: (
        (operands[0].astype(np.uint64) << np.uint64(shift)) + operands[1] >= 2**32
    )


for _bits in ("32", "64"):
    for _name, _function in LOGIC.items():
        _add(f"s_{_name}_b{_bits}", f"u{_bits} <- u{_bits} u{_bits}", _function, _not_zero)
    _add(f"s_mov_b{_bits}", f"u{_bits} <- u{_bits}", lambda a: a)
    _add(f"s_not_b{_bits}", f"u{_bits} <- u{_bits}", np.invert, _not_zero)
    _add(f"s_lshl_b{_bits}", f"u{_bits} <- u{_bits} u32", shift_left, _not_zero)
    _add(f"s_lshr_b{_bits}", f"u{_bits} <- u{_bits} u32", shift_right, _not_zero)
    _add(f"s_ashr_i{_bits}", f"i{_bits} <- i{_bits} u32", shift_right, _not_zero)

for _kind in ("u32", "i32"):
    _two = f"{_kind} <- {_kind} {_kind}"
    _add(f"s_min_{_kind}", _two, np.minimum, _first_wins)
    _add(f"s_max_{_kind}", _two, np.maximum, _first_wins)
    _add(f"s_mul_hi_{_kind}", _two, high_product)

for _shift in range(1, 5):
    _add(f"s_lshl{_shift}_add_u32", "u32 <- u32 u32", _shifted_sum(_shift), _shifted_carry(_shift))

_add("s_add_u32 s_add_co_u32", "u32 <- u32 u32", np.add, _carry)
_add("s_sub_u32 s_sub_co_u32", "u32 <- u32 u32", np.subtract, _borrow)
_add("s_add_i32 s_add_co_i32", "i32 <- i32 i32", np.add, _overflow_add)
_add("s_sub_i32 s_sub_co_i32", "i32 <- i32 i32", np.subtract, _overflow_subtract)
_add("s_add_nc_u64 s_add_u64", "u64 <- u64 u64", np.add)
_add("s_sub_nc_u64 s_sub_u64", "u64 <- u64 u64", np.subtract)
_add("s_mul_i32", "i32 <- i32 i32", np.multiply)
_add("s_mul_u64", "u64 <- u64 u64", np.multiply)
_add("s_bfe_u32", "u32 <- u32 u32", _field(field_unsigned), _not_zero)
_add("s_bfe_i32", "i32 <- i32 u32", _field(field_signed), _not_zero)
_add("s_bfm_b32", "u32 <- u32 u32", _mask)
_add("s_brev_b32", "u32 <- u32", reverse_bits)
_add("s_ff1_i32_b32 s_ctz_i32_b32", "u32 <- u32", trailing_zeros)
_add("s_flbit_i32_b32 s_clz_i32_u32", "u32 <- u32", leading_zeros)
_add("s_sext_i32_i16", "i32 <- i32", _signed_part(16))
_add("s_sext_i32_i8", "i32 <- i32", _signed_part(8))
_add(
    "s_pack_ll_b32_b16",
    "u32 <- u32 u32",
    lambda a, b: (a & np.uint32(0xFFFF)) | (b << np.uint32(16)),
)
_add("s_abs_i32", "i32 <- i32", np.abs, _not_zero)
for _kind in ("f16", "f32"):
    _one, _two = f"{_kind} <- {_kind}", f"{_kind} <- {_kind} {_kind}"
    _add(f"s_add_{_kind}", _two, np.add)
    _add(f"s_sub_{_kind}", _two, np.subtract)
    _add(f"s_mul_{_kind}", _two, np.multiply)
    _add(f"s_max_{_kind} s_max_num_{_kind}", _two, maximum)
    _add(f"s_min_{_kind} s_min_num_{_kind}", _two, minimum)
    _add(f"s_ceil_{_kind}", _one, np.ceil)
    _add(f"s_floor_{_kind}", _one, np.floor)
    _add(f"s_trunc_{_kind}", _one, np.trunc)
    _add(f"s_rndne_{_kind}", _one, np.rint)

_add("s_cvt_f32_f16", "f32 <- f16", lambda a: a.astype(np.float32))
_add("s_cvt_f16_f32", "f16 <- f32", lambda a: a.astype(np.float16))
_add("s_cvt_i32_f32", "i32 <- f32", to_integer(np.int32))
_add("s_cvt_u32_f32", "u32 <- f32", to_integer(np.uint32))
_add("s_fmaak_f32 s_fmamk_f32", "f32 <- f32 f32 f32", fma32)
_add("s_cvt_f32_u32", "f32 <- u32", lambda a: a.astype(np.float32))
_add("s_cvt_f32_i32", "f32 <- i32", lambda a: a.astype(np.float32))


def build_row(instruction: Instruction, row: ScalarRow) -> Step:
    """An instruction from the table."""
    target, *given = instruction.operands
    if len(given) != len(row.sources):
        raise unknown(instruction)
    reads = [scalar(operand, kind) for operand, kind in zip(given, row.sources, strict=True)]
    dtype = DTYPES[row.result]

    def step(machine: Machine) -> None:
        waves = machine.waves
        operands = [read(waves) for read in reads]
        result = row.function(*operands).astype(dtype, copy=False)
        scc = row.scc(operands, result) if row.scc else None
        write_scalar(waves, target, result)
        if scc is not None:
            waves.scc[waves.selected] = scc

    return step


# --- instructions with a form of their own --------------------------------------------------------


def _build_compare(instruction: Instruction) -> Step:
    """S_CMP and S_CMPK: into SCC."""
    name, kind = instruction.base.removeprefix("s_cmpk_").removeprefix("s_cmp_").rsplit("_", 1)
    compare = COMPARES.get(name)
    if compare is None or kind not in DTYPES:
        raise unknown(instruction)
    first, second = instruction.operands
    if instruction.base.startswith("s_cmpk_") and kind == "i32":
        second = replace(second, value=int(_short(instruction)))
    read_a, read_b = scalar(first, kind), scalar(second, kind)

    def step(machine: Machine) -> None:
        waves = machine.waves
        waves.scc[waves.selected] = compare(read_a(waves), read_b(waves))

    return step


def _build_bit_test(instruction: Instruction) -> Step:
    value, bit = (scalar(operand) for operand in instruction.operands)
    wanted = np.uint32(instruction.base.startswith("s_bitcmp1"))

    def step(machine: Machine) -> None:
        waves = machine.waves
        found = (value(waves) >> (bit(waves) & np.uint32(31))) & np.uint32(1)
        waves.scc[waves.selected] = found == wanted

    return step


def _build_bit_set(instruction: Instruction) -> Step:
    """One bit of the target set or cleared."""
    target, bit = instruction.operands
    read, number = scalar(target), scalar(bit)
    sets = instruction.base.startswith("s_bitset1")

    def step(machine: Machine) -> None:
        waves = machine.waves
        mask = np.uint32(1) << (number(waves) & np.uint32(31))
        before = read(waves)
        write_scalar(waves, target, before | mask if sets else before & ~mask)

    return step


def _build_save_exec(instruction: Instruction) -> Step:
    """Keep EXEC and replace it by a function of it."""
    name, bits = instruction.base.removeprefix("s_").split("_saveexec_b")
    function = LOGIC.get(name)
    if function is None:
        raise unknown(instruction)
    target, given = instruction.operands
    exec_mask = Operand("s", EXEC, 2)
    read, old = scalar(given, f"u{bits}"), scalar(exec_mask, f"u{bits}")

    def step(machine: Machine) -> None:
        waves = machine.waves
        before = np.array(old(waves))
        after = function(read(waves), before)
        write_scalar(waves, target, before)
        write_scalar(waves, exec_mask, after)
        waves.scc[waves.selected] = after != 0

    return step


def _build_select(instruction: Instruction) -> Step:
    kind = "u64" if instruction.base.endswith("64") else "u32"
    target, first, second = instruction.operands
    read_a, read_b = scalar(first, kind), scalar(second, kind)

    def step(machine: Machine) -> None:
        waves = machine.waves
        value = np.where(waves.scc[waves.selected], read_a(waves), read_b(waves))
        write_scalar(waves, target, value)

    return step


def _with_carry(combine: Callable[[Array, Array, Array], Array]) -> Build:
    """S_ADDC and S_SUBB: SCC comes in and goes out as the carry."""

    def build(instruction: Instruction) -> Step:
        target, first, second = instruction.operands
        read_a, read_b = scalar(first), scalar(second)

        def step(machine: Machine) -> None:
            waves = machine.waves
            carry = waves.scc[waves.selected].astype(np.int64)
            total = combine(read_a(waves).astype(np.int64), read_b(waves).astype(np.int64), carry)
            write_scalar(waves, target, total.astype(np.uint32))
            waves.scc[waves.selected] = (total >> 32) & 1 != 0

        return step

    return build


def _short(instruction: Instruction) -> np.int32:
    """The 16-bit constant of a K instruction, with its sign."""
    return np.int32(np.uint16(instruction.operands[1].integer() & 0xFFFF).astype(np.int16))


def _build_move_short(instruction: Instruction) -> Step:
    target, value = instruction.operands[0], _short(instruction)
    return lambda m: write_scalar(m.waves, target, np.full(m.waves.count, value))


def _with_short(function: Binary, *, sets_scc: bool) -> Build:
    def build(instruction: Instruction) -> Step:
        target, value = instruction.operands[0], _short(instruction)
        read = scalar(target, "i32")

        def step(machine: Machine) -> None:
            waves = machine.waves
            wide = function(read(waves).astype(np.int64), np.array(value, np.int64))
            result = wide.astype(np.int32)
            write_scalar(waves, target, result)
            if sets_scc:
                waves.scc[waves.selected] = wide != result

        return step

    return build


SPECIAL_SCALAR: dict[str, Build] = {
    "s_bitcmp0_b32": _build_bit_test,
    "s_bitcmp1_b32": _build_bit_test,
    "s_bitset0_b32": _build_bit_set,
    "s_bitset1_b32": _build_bit_set,
    "s_cselect_b32": _build_select,
    "s_cselect_b64": _build_select,
    "s_addc_u32": _with_carry(lambda a, b, c: a + b + c),
    "s_add_co_ci_u32": _with_carry(lambda a, b, c: a + b + c),
    "s_subb_u32": _with_carry(lambda a, b, c: a - b - c),
    "s_sub_co_ci_u32": _with_carry(lambda a, b, c: a - b - c),
    "s_movk_i32": _build_move_short,
    "s_addk_i32": _with_short(np.add, sets_scc=True),
    "s_addk_co_i32": _with_short(np.add, sets_scc=True),
    "s_mulk_i32": _with_short(np.multiply, sets_scc=False),
}


def build(instruction: Instruction) -> Step | None:
    """A scalar ALU instruction; None if it is none."""
    name = instruction.base
    if (row := SCALAR.get(name)) is not None:
        return build_row(instruction, row)
    if (special := SPECIAL_SCALAR.get(name)) is not None:
        return special(instruction)
    if name.startswith(("s_cmp_", "s_cmpk_")):
        return _build_compare(instruction)
    if "_saveexec_b" in name:
        return _build_save_exec(instruction)
    return None
