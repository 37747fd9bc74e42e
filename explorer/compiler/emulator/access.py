"""What loads and stores share: sizes, sub-dword results, checks, counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.errors import OutsideBuffer, StoreToInput
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.machine import Machine
from explorer.compiler.emulator.memory import BASE
from explorer.compiler.emulator.operand import Operand
from explorer.compiler.emulator.sources import bank_of, dword, unknown, write_half
from explorer.compiler.emulator.waves import Waves

Array = NDArray[Any]

_SIZES = {
    "byte": 1,
    "b8": 1,
    "ubyte": 1,
    "u8": 1,
    "sbyte": 1,
    "i8": 1,
    "short": 2,
    "b16": 2,
    "ushort": 2,
    "u16": 2,
    "sshort": 2,
    "i16": 2,
    "dword": 4,
    "b32": 4,
    "dwordx2": 8,
    "b64": 8,
    "dwordx3": 12,
    "b96": 12,
    "dwordx4": 16,
    "b128": 16,
    "dwordx8": 32,
    "b256": 32,
    "dwordx16": 64,
    "b512": 64,
}
_SIGNED = frozenset(["sbyte", "i8", "sshort", "i16"])


@dataclass(frozen=True)
class Access:
    """What a load or store moves, read from its name."""

    size: int
    """Bytes of each lane."""
    store: bool
    signed: bool
    half: bool | None
    """For d16 forms: whether the upper half of the register is meant."""

    @property
    def words(self) -> int:
        """Registers of each lane."""
        return max(1, self.size // 4)


def access_of(instruction: Instruction) -> Access:
    """Read the access from an instruction's name.

    Raises:
        UnknownInstruction: the name has no size, or is an atomic or other special form.
    """
    words = instruction.base.split("_")
    sizes = [word for word in words if word in _SIZES]
    if not sizes or {"atomic", "lds", "format", "cmpswap", "tr"} & set(words):
        raise unknown(instruction)
    half = ("hi" in words) if "d16" in words else None
    store = "store" in words or any(word.startswith("write") for word in words)
    return Access(_SIZES[sizes[-1]], store, sizes[-1] in _SIGNED, half)


def data_words(operand: Operand, access: Access) -> list[Any]:
    """Readers of the registers that a store writes from."""
    return [dword(operand, i) for i in range(access.words)]


def stored(waves: Waves, readers: Sequence[Any], access: Access) -> list[Array]:
    """The values that a store writes, uint32 [selected wave, lane]."""
    shift = np.uint32(16 if access.half else 0)
    shape = (waves.count, waves.lanes)
    return [np.broadcast_to(read(waves) >> shift, shape) for read in readers]


def finish_load(waves: Waves, target: Operand, values: Sequence[Array], access: Access) -> None:
    """Write loaded values to registers; small ones are extended or put into a half."""
    bank = bank_of(waves, target)
    for i, value in enumerate(values):
        if access.signed:
            value = _extended(value, access.size)
        if access.half is None:
            waves.write_vector(bank, target.first + i, value)
        else:
            write_half(waves, target, value & np.uint32(0xFFFF), high=access.half)


def _extended(value: Array, size: int) -> Array:
    shift = np.int32(32 - 8 * size)
    return ((value.view(np.int32) << shift) >> shift).view(np.uint32)


def check_global(
    machine: Machine, offset: Array, active: Array, size: int, *, store: bool, count: bool = True
) -> Array:
    """Check an access to global memory and count it.

    Args:
        machine: whose memory.
        offset: int64 [selected wave, lane], bytes from the start of memory.
        active: bool of the same shape.
        size: bytes of each lane.
        store: whether it writes.
        count: whether it is counted here.

    Returns:
        The offsets, 0 in lanes that do nothing.

    Raises:
        OutsideBuffer: a lane accesses no argument.
        StoreToInput: a lane writes an argument that the kernel only reads.
    """
    chosen = offset if active.all() else offset[active]
    if (bad := machine.memory.bad(chosen.ravel(), size, store=store)) is not None:
        position, region = bad
        row, lane = map(int, np.argwhere(active)[position])
        if region is not None:
            machine.waves.fail(StoreToInput, row, lane, size=size, argument=region.name)
        address = int(offset[row, lane])
        machine.waves.fail(
            OutsideBuffer,
            row,
            lane,
            what="store" if store else "load",
            size=size,
            address=(address + BASE) % 2**64,
            nearest=machine.memory.nearest(address),
        )
    if count:
        machine.counts.global_access(offset, active, size, store=store)
    return offset if active.all() else np.where(active, offset, 0)
