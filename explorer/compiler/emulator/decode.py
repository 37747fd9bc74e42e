"""From an instruction to what it does, by the family that its name belongs to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from explorer.compiler.emulator import control, scalar, vector
from explorer.compiler.emulator.carry import CARRY
from explorer.compiler.emulator.division import DIVISION
from explorer.compiler.emulator.dpp import is_dpp, is_sdwa
from explorer.compiler.emulator.global_memory import build_buffer, build_global, build_scratch
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.lanes import LANES
from explorer.compiler.emulator.machine import Decoded, Step
from explorer.compiler.emulator.matrix import build_mfma, build_wmma
from explorer.compiler.emulator.moves import build_move
from explorer.compiler.emulator.shared_memory import build_shared
from explorer.compiler.emulator.sources import unknown

Build = Callable[[Instruction], Step]

SPECIAL: dict[str, Build] = CARRY | DIVISION

PREFIXES: tuple[tuple[str, str, Build], ...] = (
    ("v_mfma_", "matrix", build_mfma),
    ("v_wmma_", "matrix", build_wmma),
    ("v_cmp_", "vector", vector.build_compare),
    ("v_cmpx_", "vector", vector.build_compare),
    ("v_pk_", "vector", vector.build_packed),
    ("v_dual", "vector", vector.build_dual),
    ("global_", "global memory", build_global),
    ("flat_", "global memory", build_global),
    ("buffer_", "global memory", build_buffer),
    ("scratch_", "private memory", build_scratch),
    ("ds_", "shared memory", build_shared),
)
"""(start of the name, family, builder)"""


def decode(instruction: Instruction) -> Decoded:
    """Make an instruction ready to run.

    Raises:
        UnknownInstruction: it, or this form of it, is not modelled.
    """
    try:
        family, step = _family_and_step(instruction)
    except (ValueError, KeyError, IndexError) as error:
        # Operands of another number or kind than the name's own.
        raise unknown(instruction) from error
    return Decoded(instruction, step, family, on_lanes=family not in {"scalar", "control"})


def _family_and_step(instruction: Instruction) -> tuple[str, Step]:
    name = instruction.base
    if (step := build_move(instruction)) is not None:
        return "scalar" if name.startswith("s_") else "vector", step
    if (step := control.build(instruction)) is not None:
        return "control", step
    if name.startswith("s_"):
        step = scalar.build(instruction)
        if step is None:
            raise unknown(instruction)
        return "scalar", step
    family, build = _builder(instruction)
    return family, build(instruction)


def _builder(instruction: Instruction) -> tuple[str, Build]:
    name = instruction.base
    if (found := LANES.get(name)) is not None:
        return "lanes", found
    if (row := vector.ROWS.get(name)) is not None:
        return "vector", partial(vector.build_row, row=row)
    if (found := SPECIAL.get(name)) is not None:
        if (is_dpp(instruction) or is_sdwa(instruction)) and "cndmask" not in name:
            raise unknown(instruction)
        return "vector", found
    for prefix, family, build in PREFIXES:
        if name.startswith(prefix):
            return family, build
    raise unknown(instruction)
