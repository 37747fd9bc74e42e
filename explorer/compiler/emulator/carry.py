"""Vector instructions that make or take carries, choose by masks, or have more than one result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.dpp import is_dpp, is_sdwa, placed, written_lanes
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.operand import Operand
from explorer.compiler.emulator.sources import (
    DTYPES,
    Reader,
    dword,
    join,
    lane_bits,
    source,
    write,
    write_mask,
)
from explorer.compiler.emulator.vector import chosen, reader, selects_high
from explorer.compiler.emulator.waves import Waves

Array = NDArray[Any]
Build = Callable[[Instruction], Step]


def _with_carry(combine: Callable[[Array, Array, Array], Array], *, takes: bool) -> Build:
    """An addition or subtraction in 64 bits; bit 32 is the carry or borrow.

    Args:
        combine: of two operands and the carry, all int64.
        takes: whether a carry comes in as the last operand.
    """

    def build(instruction: Instruction) -> Step:
        target, carry_out, first, second, *more = instruction.operands
        read_a = reader(instruction, 0, first, "u32")
        read_b = reader(instruction, 1, second, "u32")
        carry_in = lane_bits(more[0]) if takes else None

        def step(machine: Machine) -> None:
            waves = machine.waves
            carry = carry_in(waves).astype(np.int64) if carry_in else np.zeros((1, 1), np.int64)
            total = combine(read_a(waves).astype(np.int64), read_b(waves).astype(np.int64), carry)
            mask = ((total >> 32) & 1).astype(bool) & waves.active
            write(waves, target, total.astype(np.uint32))
            write_mask(waves, carry_out, mask)

        return step

    return build


def _plus(a: Array, b: Array, carry: Array) -> Array:
    return a + b + carry


def _minus(a: Array, b: Array, carry: Array) -> Array:
    return a - b - carry


def _minus_reversed(a: Array, b: Array, carry: Array) -> Array:
    return b - a - carry


def _build_wide_product(instruction: Instruction) -> Step:
    """V_MAD_U64_U32, V_MAD_I64_I32: a 64-bit product and sum, and its carry.

    Compilers use it for 32-bit sums too, with an upper half that was never written: then the upper
    half of the result counts as never written.
    """
    kind = "i" if "i64" in instruction.base else "u"
    wide = np.int64 if kind == "i" else np.uint64
    target, carry, first, second, third = instruction.operands
    read_a, read_b = source(first, f"{kind}32"), source(second, f"{kind}32")
    read_c = _wide_addend(third, f"{kind}64")

    def step(machine: Machine) -> None:
        waves = machine.waves
        addend = read_c(waves)
        total = read_a(waves).astype(wide) * read_b(waves).astype(wide) + addend
        overflow = (total < addend) & waves.active
        unwritten = _unwritten(waves, third)
        write(waves, target, total)
        write_mask(waves, carry, overflow)
        if unwritten is not None:
            waves.vector.forget(target.first + 1, waves.selected, unwritten)

    return step


def _wide_addend(operand: Operand, kind: str) -> Reader:
    if not operand.is_vector:
        return source(operand, kind)
    low, high = dword(operand), operand.first + 1
    return lambda waves: join(low(waves), waves.old_vector(waves.vector, high)).view(DTYPES[kind])


def _unwritten(waves: Waves, operand: Operand) -> Array | None:
    """Bool [selected wave, lane]: whose upper half was never written; None: nobody's."""
    upper = operand.first + 1
    if not operand.is_vector or waves.vector.whole[upper]:
        return None
    return waves.active & ~waves.vector.written[upper][waves.selected]


def _build_choice(instruction: Instruction) -> Step:
    kind = "u16" if instruction.base.endswith("b16") else "f32"
    choose, target = chosen(instruction, kind), instruction.operands[0]
    high, dpp, sdwa = selects_high(instruction, 3), is_dpp(instruction), is_sdwa(instruction)

    def step(machine: Machine) -> None:
        waves, value = machine.waves, choose(machine)
        value = placed(instruction, waves, value) if sdwa else value
        mask = written_lanes(instruction, waves) if dpp else None
        write(waves, target, value, mask, high=high)

    return step


def _build_bit_table(instruction: Instruction) -> Step:
    """V_BITOP3: any function of three bits, given as a table of eight."""
    kind = "u16" if instruction.base.endswith("b16") else "u32"
    table, target = instruction.number("bitop3"), instruction.operands[0]
    reads = [reader(instruction, i, o, kind) for i, o in enumerate(instruction.operands[1:4])]
    high = selects_high(instruction, 3)

    def step(machine: Machine) -> None:
        a, b, c = (read(machine.waves) for read in reads)
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), a.dtype)
        for row in range(8):
            if table >> row & 1:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        write(machine.waves, target, result, high=high)

    return step


def _build_swap(instruction: Instruction) -> Step:
    first, second = instruction.operands
    read_a, read_b = dword(first), dword(second)

    def step(machine: Machine) -> None:
        a, b = np.array(read_a(machine.waves)), np.array(read_b(machine.waves))
        write(machine.waves, first, b)
        write(machine.waves, second, a)

    return step


def _build_move(instruction: Instruction) -> Step:
    """A constant into an accumulation register; copies of registers are in ``moves``."""
    target, given = instruction.operands
    read = dword(given)
    return lambda machine: write(machine.waves, target, read(machine.waves))


CARRY: dict[str, Build] = {
    "v_add_co_u32": _with_carry(_plus, takes=False),
    "v_sub_co_u32": _with_carry(_minus, takes=False),
    "v_subrev_co_u32": _with_carry(_minus_reversed, takes=False),
    "v_addc_co_u32": _with_carry(_plus, takes=True),
    "v_add_co_ci_u32": _with_carry(_plus, takes=True),
    "v_subb_co_u32": _with_carry(_minus, takes=True),
    "v_sub_co_ci_u32": _with_carry(_minus, takes=True),
    "v_subbrev_co_u32": _with_carry(_minus_reversed, takes=True),
    "v_subrev_co_ci_u32": _with_carry(_minus_reversed, takes=True),
    "v_mad_u64_u32": _build_wide_product,
    "v_mad_i64_i32": _build_wide_product,
    "v_mad_co_u64_u32": _build_wide_product,
    "v_mad_co_i64_i32": _build_wide_product,
    "v_cndmask_b32": _build_choice,
    "v_cndmask_b16": _build_choice,
    "v_bitop3_b32": _build_bit_table,
    "v_bitop3_b16": _build_bit_table,
    "v_swap_b32": _build_swap,
    "v_accvgpr_read_b32": _build_move,
    "v_accvgpr_write_b32": _build_move,
}
