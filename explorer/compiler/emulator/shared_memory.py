"""Loads and stores of shared memory (LDS).

Sources: CDNA3, CDNA4 and RDNA3 guides, "LDS".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.access import Access, access_of, data_words, finish_load, stored
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.memory import gather, scatter
from explorer.compiler.emulator.operand import Operand
from explorer.compiler.emulator.sources import Reader, dword, unknown, write

Array = NDArray[Any]

_TWO = ("read2", "write2", "2addr")


def build_shared(instruction: Instruction) -> Step:
    """DS loads and stores, plain, in pairs, or transposing."""
    if "_tr_" in instruction.base:
        return _build_transpose(instruction)
    if any(word in instruction.base for word in _TWO):
        return _build_two(instruction)
    access = access_of(instruction)
    operands = instruction.operands
    read_address = dword(operands[0] if access.store else operands[1])
    offset = instruction.number("offset")
    data = data_words(operands[1], access) if access.store else []

    def step(machine: Machine) -> None:
        if access.store:
            _store(machine, read_address, offset, stored(machine.waves, data, access), access)
        else:
            values = _load(machine, read_address, offset, access)
            finish_load(machine.waves, operands[0], values, access)

    return step


def _place(machine: Machine, read_address: Reader, offset: int, access: Access) -> Array:
    """Checked and counted places. Base and offset are added in 32 bits."""
    waves = machine.waves
    base = np.broadcast_to(read_address(waves), (waves.count, waves.lanes)).astype(np.int64)
    address = (base + offset) & 0xFFFFFFFF
    active = waves.active
    place = machine.shared.place(waves, address, active, access.size, store=access.store)
    machine.counts.shared_access(address, active, access.size, machine.banks, store=access.store)
    return place


def _load(machine: Machine, read_address: Reader, offset: int, access: Access) -> list[Array]:
    place = _place(machine, read_address, offset, access)
    return gather(machine.shared.bytes, machine.shared.words, place, access.size)


def _store(
    machine: Machine, read_address: Reader, offset: int, values: list[Array], access: Access
) -> None:
    place = _place(machine, read_address, offset, access)
    active = machine.waves.active
    chosen = [value[active] for value in values]
    scatter(machine.shared.bytes, machine.shared.words, place[active], chosen, access.size)


def _build_two(instruction: Instruction) -> Step:
    """Two places whose offsets count elements, or 64 elements."""
    size = 8 if instruction.base.endswith("b64") else 4
    unit = size * (64 if "st64" in instruction.base else 1)
    offsets = [instruction.number(name) * unit for name in ("offset0", "offset1")]
    store = "write" in instruction.base or "store" in instruction.base
    access = Access(size, store, signed=False, half=None)
    operands = instruction.operands
    read_address = dword(operands[0] if store else operands[1])
    data = [data_words(operand, access) for operand in operands[1:3]] if store else []

    def step(machine: Machine) -> None:
        if store:
            for offset, readers in zip(offsets, data, strict=True):
                _store(
                    machine, read_address, offset, stored(machine.waves, readers, access), access
                )
            return
        values = [_load(machine, read_address, offset, access) for offset in offsets]
        finish_load(machine.waves, operands[0], [*values[0], *values[1]], access)

    return step


def _build_transpose(instruction: Instruction) -> Step:
    """DS_READ_B64_TR: 16 lanes read a block and get its columns. Source: CDNA4 guide."""
    transposed = _TRANSPOSED.get(instruction.base)
    if transposed is None:
        raise unknown(instruction)
    target, address = instruction.operands
    read_address, offset = dword(address), instruction.number("offset")
    access = Access(8, store=False, signed=False, half=None)

    def step(machine: Machine) -> None:
        values = _load(machine, read_address, offset, access)
        _write_columns(machine, target, transposed(np.stack(values, axis=-1), machine.waves.lane))

    return step


def _write_columns(machine: Machine, target: Operand, words: Array) -> None:
    for i in range(2):
        write(machine.waves, target.register(i), np.ascontiguousarray(words[..., i]))


def _columns(dtype: type[np.unsignedinteger], wide: int) -> Callable[[Array, Array], Array]:
    """Element j of a lane is its own column in row ``j`` of the block of its 16 lanes."""

    def transposed(words: Array, lane: Array) -> Array:
        elements = words.view(dtype)
        group, own = lane // 16 * 16, lane % 16
        per_row = 16 // wide
        rows = [elements[:, group + per_row * j + own // wide, own % wide] for j in range(wide)]
        return np.ascontiguousarray(np.stack(rows, axis=-1)).view(np.uint32)

    return transposed


_TRANSPOSED = {
    "ds_read_b64_tr_b16": _columns(np.uint16, 4),
    "ds_read_b64_tr_b8": _columns(np.uint8, 8),
}
