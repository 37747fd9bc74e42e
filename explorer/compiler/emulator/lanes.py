"""Instructions that move values between lanes, and between vector and scalar registers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.integer_rows import bits_set
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.sources import (
    bank_of,
    dword,
    scalar,
    source,
    unknown,
    write,
    write_scalar,
)
from explorer.compiler.emulator.waves import Waves

Array = NDArray[Any]
Build = Callable[[Instruction], Step]


def _full(waves: Waves, value: Array) -> Array:
    return np.broadcast_to(value, (waves.count, waves.lanes))


def _build_read_lane(instruction: Instruction) -> Step:
    target, given, index = instruction.operands
    read, lane = dword(given), scalar(index)

    def step(machine: Machine) -> None:
        waves = machine.waves
        chosen = lane(waves).astype(np.int64) % waves.lanes
        write_scalar(waves, target, _full(waves, read(waves))[np.arange(waves.count), chosen])

    return step


def _build_read_first_lane(instruction: Instruction) -> Step:
    """The first active lane, or lane 0 when none is."""
    target, given = instruction.operands
    read = dword(given)

    def step(machine: Machine) -> None:
        waves = machine.waves
        first = waves.active.argmax(axis=1)
        write_scalar(waves, target, _full(waves, read(waves))[np.arange(waves.count), first])

    return step


def _build_write_lane(instruction: Instruction) -> Step:
    """Into one lane, whether it is active or not."""
    target, given, index = instruction.operands
    read, lane = scalar(given), scalar(index)

    def step(machine: Machine) -> None:
        waves = machine.waves
        mask = waves.lane == (lane(waves).astype(np.int64) % waves.lanes)[:, None]
        waves.write_vector(bank_of(waves, target), target.first, read(waves)[:, None], mask)

    return step


def _permute_rows(*, other_row: bool) -> Build:
    """V_PERMLANE16 and V_PERMLANEX16: any lane of the own, or of the neighbouring, row of 16."""

    def build(instruction: Instruction) -> Step:
        target, given, low, high = instruction.operands
        read, low_lanes, high_lanes = dword(given), scalar(low), scalar(high)
        any_lane, zero_outside = instruction.bits("op_sel", (0, 0))[:2]

        def step(machine: Machine) -> None:
            waves = machine.waves
            table = np.stack([low_lanes(waves), high_lanes(waves)], axis=-1).astype(np.uint64)
            packed = table[:, 0] | (table[:, 1] << np.uint64(32))
            shift = (waves.lane % 16 * 4).astype(np.uint64)
            row = waves.lane // 16 * 16
            chosen = ((packed[:, None] >> shift) & np.uint64(15)).astype(np.int64)
            lane = chosen + ((row ^ 16) if other_row else row)
            value = np.take_along_axis(_full(waves, read(waves)), lane, axis=1)
            valid = np.take_along_axis(waves.active, lane, axis=1) | bool(any_lane)
            mask = waves.active & (valid | bool(zero_outside))
            bank = bank_of(waves, target)
            waves.write_vector(bank, target.first, np.where(valid, value, np.uint32(0)), mask)

        return step

    return build


def _build_swap_halves(instruction: Instruction) -> Step:
    """V_PERMLANE64: the two halves of a wave of 64."""
    target, given = instruction.operands
    read = dword(given)

    def step(machine: Machine) -> None:
        waves = machine.waves
        write(waves, target, _full(waves, read(waves))[:, waves.lane ^ 32])

    return step


def _exchange(distance: int) -> Build:
    """V_PERMLANE32_SWAP, V_PERMLANE16_SWAP: odd rows of one register for even ones of another.

    Source: CDNA4 guide.
    """

    def build(instruction: Instruction) -> Step:
        first, second = instruction.operands[:2]
        read_a, read_b = dword(first), dword(second)

        def step(machine: Machine) -> None:
            waves = machine.waves
            a, b = np.array(read_a(waves)), np.array(read_b(waves))
            odd, across = (waves.lane & distance) != 0, waves.lane ^ distance
            write(waves, first, np.where(odd, b[:, across], a))
            write(waves, second, np.where(odd, b, a[:, across]))

        return step

    return build


def _count_below(*, upper: bool) -> Build:
    """V_MBCNT: bits of a mask below the own lane, in the lower or upper half of the wave."""

    def build(instruction: Instruction) -> Step:
        target, mask, addend = instruction.operands
        read, add = source(mask, "u32"), source(addend, "u32")

        def step(machine: Machine) -> None:
            waves = machine.waves
            places = np.clip(waves.lane - (32 if upper else 0), 0, 32).astype(np.uint64)
            below = ((np.uint64(1) << places) - np.uint64(1)).astype(np.uint32)
            write(waves, target, bits_set(read(waves) & below) + add(waves))

        return step

    return build


# --- through the shared memory's crossbar ---------------------------------------------------------


def _build_pull(instruction: Instruction) -> Step:
    """DS_BPERMUTE: each lane reads the lane that it names; 0 from inactive ones."""
    target, address, data = instruction.operands
    where, read, offset = dword(address), dword(data), instruction.number("offset")

    def step(machine: Machine) -> None:
        waves = machine.waves
        lane = (_full(waves, where(waves)).astype(np.int64) + offset) // 4 % waves.lanes
        value = np.take_along_axis(_full(waves, read(waves)), lane, axis=1)
        there = np.take_along_axis(waves.active, lane, axis=1)
        write(waves, target, np.where(there, value, np.uint32(0)))

    return step


def _build_push(instruction: Instruction) -> Step:
    """DS_PERMUTE: each lane sends to the lane that it names; the highest sender wins."""
    target, address, data = instruction.operands
    where, read, offset = dword(address), dword(data), instruction.number("offset")

    def step(machine: Machine) -> None:
        waves = machine.waves
        lane = (_full(waves, where(waves)).astype(np.int64) + offset) // 4 % waves.lanes
        value, result = _full(waves, read(waves)), np.zeros((waves.count, waves.lanes), np.uint32)
        rows, senders = np.nonzero(waves.active)
        result[rows, lane[rows, senders]] = value[rows, senders]
        write(waves, target, result)

    return step


def _build_swizzle(instruction: Instruction) -> Step:
    """DS_SWIZZLE: a fixed pattern within 32 lanes; 0 from inactive ones."""
    target, data = instruction.operands
    read, pattern = dword(data), swizzle_code(instruction)

    def step(machine: Machine) -> None:
        waves = machine.waves
        lane = swizzled(waves.lane, pattern)
        value = _full(waves, read(waves))[:, lane]
        write(waves, target, np.where(waves.active[:, lane], value, np.uint32(0)))

    return step


def swizzled(lane: Array, code: int) -> Array:
    """The lane that each lane reads under a swizzle code.

    Source: CDNA3 guide, DS_SWIZZLE_B32: and, or, xor masks of five bits, or four lanes by number.
    """
    if code & 0x8000:
        order = np.array([code >> 2 * i & 3 for i in range(4)])
        return lane // 4 * 4 + order[lane % 4]
    kept = lane % 32 & (code & 31) | (code >> 5 & 31)
    return lane // 32 * 32 + (kept ^ (code >> 10 & 31))


def swizzle_code(instruction: Instruction) -> int:
    """The number behind ``offset:swizzle(...)``.

    Source: LLVM, "Syntax of AMDGPU Instruction Modifiers", swizzle pattern.

    Raises:
        UnknownInstruction: another macro.
    """
    written = instruction.modifiers.get("offset", 0)
    if isinstance(written, int):
        return written
    found = re.fullmatch(r"swizzle\((\w+),?([^)]*)\)", str(written).replace(" ", ""))
    if found is None:
        raise unknown(instruction)
    numbers = [int(n) for n in found[2].split(",") if n.isdecimal()]
    match found[1], numbers:
        case "SWAP", [size]:
            return size << 10 | 31
        case "REVERSE", [size]:
            return (size - 1) << 10 | 31
        case "BROADCAST", [size, lane]:
            return lane << 5 | (32 - size)
        case "QUAD_PERM", [a, b, c, d]:
            return 0x8000 | a | b << 2 | c << 4 | d << 6
        case _:
            raise unknown(instruction)


LANES: dict[str, Build] = {
    "v_readlane_b32": _build_read_lane,
    "v_readfirstlane_b32": _build_read_first_lane,
    "v_writelane_b32": _build_write_lane,
    "v_permlane16_b32": _permute_rows(other_row=False),
    "v_permlanex16_b32": _permute_rows(other_row=True),
    "v_permlane64_b32": _build_swap_halves,
    "v_permlane16_swap_b32": _exchange(16),
    "v_permlane32_swap_b32": _exchange(32),
    "v_mbcnt_lo_u32_b32": _count_below(upper=False),
    "v_mbcnt_hi_u32_b32": _count_below(upper=True),
    "ds_bpermute_b32": _build_pull,
    "ds_permute_b32": _build_push,
    "ds_swizzle_b32": _build_swizzle,
}
