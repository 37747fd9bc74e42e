"""Copies of registers.

A copy of what was never written is no use of it: compilers copy registers in pairs of which one
half matters. The copy counts as never written too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.dpp import is_dpp, is_sdwa
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.operand import Operand
from explorer.compiler.emulator.waves import Bank, Waves

Array = NDArray[Any]

_WIDTHS = {
    "v_mov_b32": 1,
    "v_mov_b64": 2,
    "s_mov_b32": 1,
    "s_mov_b64": 2,
    "v_accvgpr_read_b32": 1,
    "v_accvgpr_write_b32": 1,
    "v_accvgpr_mov_b32": 1,
}


def build_move(instruction: Instruction) -> Step | None:
    """A plain copy from registers to registers; None if the instruction is none."""
    words = _WIDTHS.get(instruction.base)
    if words is None or is_dpp(instruction) or is_sdwa(instruction) or instruction.modifiers:
        return None
    target, given = instruction.operands
    if given.kind not in {"v", "a", "s"} or target.kind not in {"v", "a", "s"}:
        return None
    if given.negate or given.absolute:
        return None

    def step(machine: Machine) -> None:
        waves = machine.waves
        read = [_read(waves, given, i) for i in range(words)]
        for i, (value, unwritten) in enumerate(read):
            _write(waves, target, target.first + i, value, unwritten)

    return step


def _bank(waves: Waves, operand: Operand) -> Bank:
    return {"v": waves.vector, "a": waves.accumulator, "s": waves.scalar}[operand.kind]


def _read(waves: Waves, operand: Operand, word: int) -> tuple[Array, Array | None]:
    """A register's value, and who never wrote it: bool of the same shape, None for nobody."""
    bank, register = _bank(waves, operand), operand.first + word
    value = np.array(bank.values[register][waves.selected])
    if bank.whole[register]:
        return value, None
    return value, ~bank.written[register][waves.selected]


def _write(
    waves: Waves, target: Operand, register: int, value: Array, unwritten: Array | None
) -> None:
    bank = _bank(waves, target)
    if target.kind == "s":
        waves.write_scalar(register, value)
    else:
        waves.write_vector(bank, register, value if value.ndim == 2 else value[:, None])
    if unwritten is None:
        return
    if target.kind != "s":
        unwritten = waves.active & (unwritten if unwritten.ndim == 2 else unwritten[:, None])
    bank.forget(register, waves.selected, unwritten)
