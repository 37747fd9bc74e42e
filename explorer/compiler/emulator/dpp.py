"""Operands that come from another lane (DPP) or from a part of a register (SDWA).

Sources: CDNA3 guide, "Data Parallel Processing" and "Sub-Dword Addressing"; RDNA3 guide, "DPP".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.operand import Operand
from explorer.compiler.emulator.sources import DTYPES, Reader, dword, signed, source, unknown
from explorer.compiler.emulator.waves import Waves

Array = NDArray[Any]

Pattern = Callable[[Array, Any], Array]
"""(lane numbers, modifier) -> the lane that each reads; -1 where there is none."""

_NONE = -1


def _shift_left(lane: Array, count: int) -> Array:
    return np.where(lane % 16 + count < 16, lane + count, _NONE)


def _shift_right(lane: Array, count: int) -> Array:
    return np.where(lane % 16 >= count, lane - count, _NONE)


def _broadcast_row(lane: Array, last: int) -> Array:
    """Lane 15 of each row to the next row, or lane 31 to the upper half."""
    if last == 15:
        return np.where(lane >= 16, lane // 16 * 16 - 1, _NONE)
    return np.where(lane >= 32, 31, _NONE)


PATTERNS: dict[str, Pattern] = {
    "quad_perm": lambda lane, order: lane // 4 * 4 + np.array(order)[lane % 4],
    "dpp8": lambda lane, order: lane // 8 * 8 + np.array(order)[lane % 8],
    "row_shl": _shift_left,
    "row_shr": _shift_right,
    "row_ror": lambda lane, count: lane // 16 * 16 + (lane % 16 - count) % 16,
    "row_mirror": lambda lane, _: lane // 16 * 16 + 15 - lane % 16,
    "row_half_mirror": lambda lane, _: lane // 8 * 8 + 7 - lane % 8,
    "row_bcast": _broadcast_row,
    "row_newbcast": lambda lane, of: lane // 16 * 16 + of,
    "row_share": lambda lane, of: lane // 16 * 16 + of,
    "row_xmask": lambda lane, mask: lane // 16 * 16 + (lane % 16 ^ mask),
    "wave_shr": lambda lane, count: np.where(lane >= count, lane - count, _NONE),
    "wave_shl": lambda lane, count: np.where(lane + count < len(lane), lane + count, _NONE),
    "wave_ror": lambda lane, count: (lane - count) % len(lane),
    "wave_rol": lambda lane, count: (lane + count) % len(lane),
}


def is_dpp(instruction: Instruction) -> bool:
    """Whether the first operand comes from another lane."""
    return "_dpp" in instruction.name


def lane_read(instruction: Instruction, lane: Array) -> Array:
    """The lane that each lane reads; -1 where it has none.

    Raises:
        UnknownInstruction: no pattern is known.
    """
    for name, pattern in PATTERNS.items():
        if instruction.has(name):
            return pattern(lane, instruction.modifiers[name])
    raise unknown(instruction)


def moved(instruction: Instruction, operand: Operand, kind: str) -> Reader:
    """A reader of an operand in other lanes; 0 where a lane has none or it is not active."""
    read = dword(operand)

    def moved_bits(waves: Waves) -> Array:
        lane = lane_read(instruction, waves.lane)
        valid = _valid(instruction, waves, lane)
        value = np.broadcast_to(read(waves), (waves.count, waves.lanes))[:, np.maximum(lane, 0)]
        return np.where(valid, value, np.uint32(0))

    return _typed(moved_bits, operand, kind)


def _typed(bits: Reader, operand: Operand, kind: str) -> Reader:
    dtype = DTYPES["f32" if kind == "bf16" else kind]
    width = np.dtype(dtype).itemsize
    first = int(bool(operand.high))

    def read(waves: Waves) -> Array:
        raw = bits(waves)
        return raw.view(dtype)[..., first::2] if width == 2 else raw.view(dtype)

    return signed(read, operand) if "f" in kind else read


def _valid(instruction: Instruction, waves: Waves, lane: Array) -> Array:
    """Bool [selected wave, lane]: whether the lane read is there and may be read."""
    there = np.broadcast_to(lane >= 0, (waves.count, waves.lanes))
    if instruction.number("fi") or waves.full:
        return there
    return there & waves.active[:, np.maximum(lane, 0)]


def written_lanes(instruction: Instruction, waves: Waves) -> Array | None:
    """Bool [selected wave, lane]: the lanes that a DPP instruction writes; None: all active."""
    lane = lane_read(instruction, waves.lane)
    rows = (instruction.number("row_mask", 15) >> waves.lane // 16) & 1
    banks = (instruction.number("bank_mask", 15) >> waves.lane % 16 // 4) & 1
    enabled = np.broadcast_to((rows & banks).astype(bool), (waves.count, waves.lanes))
    if not (instruction.number("bound_ctrl") or instruction.has("dpp8")):
        enabled = enabled & _valid(instruction, waves, lane)
    return None if enabled.all() else enabled & waves.active


# --- parts of registers ---------------------------------------------------------------------------

_PARTS = {
    "DWORD": (0, 32),
    "WORD_0": (0, 16),
    "WORD_1": (16, 16),
    "BYTE_0": (0, 8),
    "BYTE_1": (8, 8),
    "BYTE_2": (16, 8),
    "BYTE_3": (24, 8),
}


def is_sdwa(instruction: Instruction) -> bool:
    """Whether operands are parts of registers."""
    return instruction.name.endswith("_sdwa")


def part(instruction: Instruction, position: int, operand: Operand, kind: str) -> Reader:
    """A reader of the part that ``src0_sel`` or ``src1_sel`` names."""
    chosen = instruction.modifiers.get(f"src{position}_sel", "DWORD")
    shift, width = _PARTS[str(chosen)]
    if width == 32:
        return source(operand, kind)
    read, keep = dword(operand), np.uint32((1 << width) - 1)
    plain = Operand(operand.kind, negate=operand.negate, absolute=operand.absolute)
    return _typed(lambda waves: (read(waves) >> np.uint32(shift)) & keep, plain, kind)


def placed(instruction: Instruction, waves: Waves, value: Array) -> Array:
    """A result moved to the part of the destination that ``dst_sel`` names, as uint32.

    Raises:
        UnknownInstruction: the rest is to be filled with the sign.
    """
    shift, width = _PARTS[str(instruction.modifiers.get("dst_sel", "DWORD"))]
    bits = np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").astype(np.uint32)
    if width == 32:
        return bits
    keep = np.uint32(((1 << width) - 1) << shift)
    bits = (bits << np.uint32(shift)) & keep
    match instruction.modifiers.get("dst_unused", "UNUSED_PAD"):
        case "UNUSED_PAD":
            return bits
        case "UNUSED_PRESERVE":
            old = waves.old_vector(waves.vector, instruction.operands[0].first)
            return (old & ~keep) | bits
        case _:
            raise unknown(instruction)
