"""Loads and stores of global, flat and private memory, and of buffers.

Sources: CDNA3 and RDNA3 guides, "Vector Memory Operations", "Flat Memory Instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.access import (
    Access,
    access_of,
    check_global,
    data_words,
    finish_load,
    stored,
)
from explorer.compiler.emulator.errors import OutsideScratch
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.memory import BASE, gather, scatter
from explorer.compiler.emulator.operand import M0, Operand
from explorer.compiler.emulator.sources import dword, scalar, source, unknown
from explorer.compiler.emulator.waves import Waves

Array = NDArray[Any]
Address = Callable[[Waves], Array]
"""int64 [selected wave, lane]"""

_OFF = Operand("off")
_NOTHING_TO_DO = ("global_wb", "global_inv", "buffer_wb", "buffer_inv", "buffer_gl")


def _nothing(_: Machine) -> None:
    """Caches are not modelled, so nothing is written back or thrown away."""


# --- global and flat ------------------------------------------------------------------------------


def build_global(instruction: Instruction) -> Step:
    """GLOBAL and FLAT loads and stores; flat ones must not mean shared memory."""
    if instruction.base.startswith(_NOTHING_TO_DO):
        return _nothing
    access = access_of(instruction)
    first, second, *rest = instruction.operands
    address = _global_address(
        instruction, first if access.store else second, rest[0] if rest else _OFF
    )
    data = data_words(second, access) if access.store else []

    def step(machine: Machine) -> None:
        waves, memory = machine.waves, machine.memory
        active = waves.active
        offset = check_global(machine, address(waves), active, access.size, store=access.store)
        if access.store:
            values = [value[active] for value in stored(waves, data, access)]
            scatter(memory.bytes, memory.words, offset[active], values, access.size)
        else:
            values = gather(memory.bytes, memory.words, offset, access.size)
            finish_load(waves, first, values, access)

    return step


def _global_address(instruction: Instruction, vector: Operand, base: Operand) -> Address:
    """A 64-bit vector address, or a scalar one and a 32-bit vector offset."""
    fixed = instruction.number("offset") - BASE
    if base.kind != "s":
        read = source(vector, "i64")
        return lambda waves: _everywhere(waves, read(waves) + fixed)
    start, offset = source(base, "i64"), source(vector, "u32")
    return lambda waves: _everywhere(waves, start(waves) + offset(waves).astype(np.int64) + fixed)


def _everywhere(waves: Waves, value: Array) -> Array:
    return np.broadcast_to(value, (waves.count, waves.lanes))


# --- private memory -------------------------------------------------------------------------------


def build_scratch(instruction: Instruction) -> Step:
    """SCRATCH loads and stores: each lane's own bytes, where registers are spilled to."""
    access = access_of(instruction)
    first, second, *rest = instruction.operands
    vector = first if access.store else second
    address = _scratch_address(instruction, vector, rest[0] if rest else _OFF)
    return _private_step(first, second, access, address)


def _private_step(first: Operand, second: Operand, access: Access, address: Address) -> Step:
    data = data_words(second, access) if access.store else []

    def step(machine: Machine) -> None:
        waves, active = machine.waves, machine.waves.active
        place = _private_place(machine, address(waves), active, access)
        raw = machine.scratch.reshape(-1)
        words = raw.view(np.uint32)
        if access.store:
            values = [value[active] for value in stored(waves, data, access)]
            scatter(raw, words, place[active], values, access.size)
        else:
            finish_load(waves, first, gather(raw, words, place, access.size), access)

    return step


def _scratch_address(instruction: Instruction, vector: Operand, base: Operand) -> Address:
    parts = [source(operand, "i32") for operand in (vector, base) if operand.kind in {"v", "s"}]
    fixed = instruction.number("offset")

    def address(waves: Waves) -> Array:
        total = np.full((1, 1), fixed, np.int64)
        for read in parts:
            total = total + read(waves)
        return _everywhere(waves, total)

    return address


def _private_place(machine: Machine, offset: Array, active: Array, access: Access) -> Array:
    """Where each lane's bytes lie among all private memory.

    Raises:
        OutsideScratch: a lane leaves its own.
    """
    limit = machine.scratch.shape[2]
    outside = active & ((offset < 0) | (offset + access.size > limit))
    if outside.any():
        row, lane = map(int, np.argwhere(outside)[0])
        machine.waves.fail(
            OutsideScratch,
            row,
            lane,
            what="store" if access.store else "load",
            size=access.size,
            address=int(offset[row, lane]),
            limit=limit,
        )
    lanes = machine.waves.lanes
    own = (machine.waves.wave_numbers()[:, None] * lanes + machine.waves.lane) * limit
    return np.where(active, own + offset, 0)


# --- buffers --------------------------------------------------------------------------------------


def build_buffer(instruction: Instruction) -> Step:
    """Raw buffers: loads beyond the end give 0 and stores there do nothing, dword by dword.

    Without stride and index; for private memory through a buffer see ``_is_stack``.
    """
    if instruction.base.startswith(_NOTHING_TO_DO):
        return _nothing
    access = access_of(instruction)
    if instruction.has("idxen") or instruction.has("addr64"):
        raise unknown(instruction)
    given = instruction.operands
    to_shared = instruction.has("lds")
    data, (vector, descriptor, scalar_offset) = (
        (_OFF, given) if to_shared else (given[0], given[1:])
    )
    place = _BufferPlace(instruction, vector, descriptor, scalar_offset)
    if to_shared:
        return _buffer_to_shared(instruction, access, place)
    words = data_words(data, access) if access.store else []
    piece = min(access.size, 4)

    def step(machine: Machine) -> None:
        waves, memory = machine.waves, machine.memory
        offset, within = place.read(waves)
        values = stored(waves, words, access)
        loaded: list[Array] = []
        for i in range(access.words):
            active = waves.active & within(4 * i, piece)
            at = check_global(machine, offset + 4 * i, active, piece, store=access.store)
            if access.store:
                scatter(memory.bytes, memory.words, at[active], [values[i][active]], piece)
            else:
                value = gather(memory.bytes, memory.words, at, piece)[0]
                loaded.append(np.where(active, value, np.uint32(0)))
        if not access.store:
            finish_load(waves, data, loaded, access)

    return step


class _BufferPlace:
    """The address of a buffer access and its range check."""

    def __init__(
        self, instruction: Instruction, vector: Operand, descriptor: Operand, offset: Operand
    ) -> None:
        self._instruction = instruction
        self._fixed = instruction.number("offset")
        self._vector = dword(vector) if instruction.has("offen") else None
        self._descriptor = [dword(descriptor, i) for i in range(4)]
        self._scalar = scalar(offset) if offset.kind != "null" else None

    def read(self, waves: Waves) -> tuple[Array, Callable[[int, int], Array]]:
        """Offsets from the start of memory, and whether (byte offset, size) lies in the buffer.

        Raises:
            UnknownInstruction: the buffer has a stride or is swizzled.
        """
        low, high, size, _ = (read(waves) for read in self._descriptor)
        if (high >> np.uint32(16)).any():
            raise unknown(self._instruction)
        # The vector part and the instruction's own offset are added in 32 bits.
        own = np.full((1, 1), self._fixed, np.int64)
        if self._vector is not None:
            own = own + self._vector(waves)
        own = own & 0xFFFFFFFF
        extra = self._scalar(waves).astype(np.int64)[:, None] if self._scalar else 0
        base = low.astype(np.int64) | ((high & np.uint32(0xFFFF)).astype(np.int64) << 32)
        within = own + extra
        limit = size.astype(np.int64)
        place = _everywhere(waves, base + within - BASE)
        return place, lambda offset, count: within + offset + count <= limit


def _buffer_to_shared(instruction: Instruction, access: Access, place: _BufferPlace) -> Step:
    """Straight to shared memory, at M0 + offset + lane * size. Source: CDNA4 guide."""
    fixed = instruction.number("offset")
    start = scalar(Operand("s", M0))

    def step(machine: Machine) -> None:
        waves, shared = machine.waves, machine.shared
        offset, within = place.read(waves)
        active = waves.active
        loaded: list[Array] = []
        for i in range(access.words):
            valid = active & within(4 * i, 4)
            at = check_global(machine, offset + 4 * i, valid, 4, store=False)
            value = gather(machine.memory.bytes, machine.memory.words, at, 4)[0]
            loaded.append(np.where(valid, value, np.uint32(0)))
        first = (start(waves).astype(np.int64) & 0xFFFF)[:, None] + fixed
        target = first + waves.lane * access.size
        at = shared.place(waves, target, active, access.size, store=True)
        values = [value[active] for value in loaded]
        scatter(shared.bytes, shared.words, at[active], values, access.size)

    return step
