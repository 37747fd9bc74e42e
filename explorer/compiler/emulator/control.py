"""Branches, barriers, the end of the program, scalar loads, and what only orders or waits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.access import access_of
from explorer.compiler.emulator.errors import OutsideBuffer
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.memory import BASE, gather
from explorer.compiler.emulator.operand import EXEC, VCC
from explorer.compiler.emulator.sources import scalar, unknown
from explorer.compiler.emulator.waves import Waves

Array = NDArray[Any]

_ONLY_WAITS = (
    "s_waitcnt",
    "s_wait_",
    "s_nop",
    "s_delay_alu",
    "s_clause",
    "s_sendmsg",
    "s_setprio",
    "s_icache",
    "s_inst_prefetch",
    "s_set_inst_prefetch",
    "s_prefetch",
    "s_barrier_signal",
    "s_code_end",
    "s_sleep",
    "s_dcache",
    "s_version",
    "v_nop",
)
"""Timing, messages and caches are not modelled."""

ARGUMENTS = 0x7E00_0000_0000
"""Address of the kernel-argument segment."""


def _nothing(_: Machine) -> None:
    pass


def build(instruction: Instruction) -> Step | None:
    """A control instruction; None if it is none."""
    name = instruction.base
    if name.startswith(_ONLY_WAITS) or _keeps_rounding(instruction):
        return _nothing
    if name.startswith("s_endpgm"):
        return Machine.end
    if name in {"s_barrier", "s_barrier_wait"}:
        return Machine.wait_at_barrier
    if name == "s_branch":
        return _branch(instruction, lambda waves: np.ones(waves.count, bool))
    if name.startswith("s_cbranch_"):
        return _branch(instruction, _condition(instruction))
    if name.startswith("s_load_"):
        return _load(instruction)
    return None


def _keeps_rounding(instruction: Instruction) -> bool:
    """Whether a change of modes is one that makes no difference here.

    Bits 0 to 3 are rounding, where 0 is to nearest, the only one modelled; bits 4 to 7 say where
    subnormals are flushed, which is not modelled. Source: RDNA3 guide, MODE register.
    """
    if instruction.base == "s_denorm_mode":
        return True
    pattern = r"s_setreg_imm32_b32 hwreg\(HW_REG_MODE, (\d+), (\d+)\), (\w+)"
    if (found := re.fullmatch(pattern, instruction.text)) is None:
        return False
    first, end, value = int(found[1]), int(found[1]) + int(found[2]), int(found[3], 0)
    return (first >= 4 and end <= 8) or (end <= 4 and value == 0)


def _branch(instruction: Instruction, condition: Callable[[Waves], Array]) -> Step:
    label = instruction.operands[0].name
    return lambda machine: machine.jump(label, condition(machine.waves))


def _condition(instruction: Instruction) -> Callable[[Waves], Array]:
    match instruction.base.removeprefix("s_cbranch_"):
        case "scc0":
            return lambda waves: ~waves.scc[waves.selected]
        case "scc1":
            return lambda waves: waves.scc[waves.selected]
        case "vccz":
            return lambda waves: ~_any_bit(waves, VCC)
        case "vccnz":
            return lambda waves: _any_bit(waves, VCC)
        case "execz":
            return lambda waves: ~_any_bit(waves, EXEC)
        case "execnz":
            return lambda waves: _any_bit(waves, EXEC)
        case _:
            raise unknown(instruction)


def _any_bit(waves: Waves, register: int) -> Array:
    words = [waves.read_scalar(register + i) for i in range(waves.lanes // 32)]
    return np.any(np.stack(words), axis=0)


def _load(instruction: Instruction) -> Step:
    """S_LOAD: from the kernel-argument segment or from global memory into scalar registers."""
    access = access_of(instruction)
    target, base, *rest = instruction.operands
    address, offset = scalar(base, "i64"), scalar(rest[0], "i64" if rest[0].is_constant else "u32")
    fixed = instruction.number("offset")

    def step(machine: Machine) -> None:
        waves = machine.waves
        where = address(waves) + offset(waves).astype(np.int64) + fixed
        data, place = _segment(machine, where, access.size)
        for i, value in enumerate(gather(data, data.view(np.uint32), place, access.size)):
            waves.write_scalar(target.first + i, value)

    return step


def _segment(machine: Machine, where: Array, size: int) -> tuple[Array, Array]:
    """The memory that scalar addresses lie in, and the places there.

    Raises:
        OutsideBuffer: they lie in none.
    """
    in_arguments = where - ARGUMENTS
    if ((in_arguments >= 0) & (in_arguments + size <= len(machine.arguments))).all():
        return machine.arguments, in_arguments
    place = where - BASE
    if (bad := machine.memory.bad(place, size, store=False)) is not None:
        at = int(place[bad[0]])
        machine.waves.fail(
            OutsideBuffer,
            bad[0],
            None,
            what="scalar load",
            size=size,
            address=(at + BASE) % 2**64,
            nearest=machine.memory.nearest(at),
        )
    return machine.memory.bytes, place
