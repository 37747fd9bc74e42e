"""The state of all waves that run together: registers, masks, and which of them step now.

Arrays are indexed [register, wave, lane]. An instruction runs once for every selected wave: those
that are at the same address.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.errors import EmulationFault, NeverWritten
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.operand import EXEC, SCALAR_REGISTERS

Array = NDArray[Any]
Selection = slice | Array

EVERY = slice(None)
_POISON = 0x7FC0DEAD
"""What a register holds at the start: a NaN, so that an unchecked use shows in the result."""


@dataclass
class Bank:
    """One kind of register."""

    name: str
    values: Array
    """uint32 [register, wave, lane] or, for scalar registers, [register, wave]."""
    written: Array = field(init=False)
    """bool of the same shape: who wrote. Not kept up to date once ``whole`` says everybody."""
    whole: list[bool] = field(init=False)
    """For each register, whether every wave and lane has written it."""

    def __post_init__(self) -> None:
        """Poison it."""
        self.values[...] = _POISON
        self.written = np.zeros(self.values.shape, bool)
        self.whole = [False] * len(self.values)

    def note(self, register: int, selected: Selection, mask: Array | bool) -> None:
        """Remember a write by the lanes of ``mask``."""
        if isinstance(selected, slice) and mask is True:
            self.whole[register] = True
            return
        row = self.written[register]
        row[selected] |= mask
        self.whole[register] = bool(row.all())

    def forget(self, register: int, selected: Selection, mask: Array) -> None:
        """Count a register as never written in the lanes of ``mask``."""
        if not mask.any():
            return
        if self.whole[register]:
            self.written[register] = True
        self.written[register][selected] &= ~mask
        self.whole[register] = False


@dataclass(frozen=True)
class WaveLayout:
    """How many waves run together and how they are numbered."""

    lanes: int
    per_workgroup: int
    workgroups: tuple[int, ...]
    """Numbers of the workgroups, x fastest."""

    @property
    def count(self) -> int:
        """Waves in all."""
        return self.per_workgroup * len(self.workgroups)


class Waves:
    """Registers of the waves of some workgroups."""

    def __init__(self, layout: WaveLayout, vectors: int, accumulators: int) -> None:
        """Make the registers, all of them never written.

        Args:
            layout: the waves.
            vectors: vector registers of a lane.
            accumulators: accumulation registers of a lane.
        """
        self.layout = layout
        self.lanes = layout.lanes
        self.lane = np.arange(self.lanes)
        shape = (layout.count, layout.lanes)
        self.vector = Bank("v", np.empty((vectors, *shape), np.uint32))
        self.accumulator = Bank("a", np.empty((accumulators, *shape), np.uint32))
        self.scalar = Bank("s", np.empty((SCALAR_REGISTERS, layout.count), np.uint32))
        self.scc = np.zeros(layout.count, bool)
        self.selected: Selection = EVERY
        self.count = layout.count
        self.keeps_halves = False
        """Whether a 16-bit result leaves the other half of its register as it was."""
        self.now = Instruction("start", (), {}, "start of the program", 0)
        self._active: Array | None = None
        self._full = False

    # --- selection and masks ----------------------------------------------------------------------

    def select(self, selected: Selection, count: int) -> None:
        """Choose the waves that step."""
        self.selected = selected
        self.count = count
        self._active = None

    @property
    def active(self) -> Array:
        """Bool [selected wave, lane]: the lanes that take part (the EXEC mask)."""
        if self._active is None:
            self._active = self.lane_mask(EXEC)
            self._full = bool(self._active.all())
        return self._active

    @property
    def full(self) -> bool:
        """Whether every lane of every selected wave takes part."""
        return self._full if self._active is not None else bool(self.active.all())

    def lane_mask(self, register: int) -> Array:
        """The bits of a scalar register (pair) as bool [selected wave, lane]."""
        words = [self.read_scalar(register + i) for i in range(self.lanes // 32)]
        return spread_bits(np.stack(words, axis=-1))

    def set_lane_mask(self, register: int, mask: Array) -> None:
        """Write bool [selected wave, lane] into a scalar register (pair)."""
        packed = gather_bits(np.broadcast_to(mask, (self.count, self.lanes)))
        for i in range(self.lanes // 32):
            self.write_scalar(register + i, packed[:, i])

    # --- registers --------------------------------------------------------------------------------

    def read_scalar(self, register: int) -> Array:
        """uint32 [selected wave]."""
        bank = self.scalar
        if not bank.whole[register]:
            self._require_scalar(register)
        return bank.values[register][self.selected]

    def write_scalar(self, register: int, value: Array | int) -> None:
        """Write uint32 [selected wave]."""
        self.scalar.values[register][self.selected] = value
        if not self.scalar.whole[register]:
            self.scalar.note(register, self.selected, True)
        if register in {EXEC, EXEC + 1}:
            self._active = None

    def read_vector(self, bank: Bank, register: int) -> Array:
        """uint32 [selected wave, lane]; never to be changed in place."""
        if not bank.whole[register]:
            self._require_vector(bank, register)
        return bank.values[register][self.selected]

    def old_vector(self, bank: Bank, register: int) -> Array:
        """``read_vector`` for a value of which only the written part can matter."""
        return bank.values[register][self.selected]

    def write_vector(
        self, bank: Bank, register: int, value: Array, mask: Array | None = None
    ) -> None:
        """Write uint32 [selected wave, lane] in the lanes of ``mask``, else in the active ones."""
        if mask is None and self.full:
            bank.values[register][self.selected] = value
            if not bank.whole[register]:
                bank.note(register, self.selected, True)
            return
        lanes = self.active if mask is None else mask
        if isinstance(self.selected, slice):
            np.copyto(bank.values[register], value, where=lanes)
        else:
            old = bank.values[register]
            old[self.selected] = np.where(lanes, value, old[self.selected])
        if not bank.whole[register]:
            bank.note(register, self.selected, lanes)

    def _require_scalar(self, register: int) -> None:
        missing = ~self.scalar.written[register][self.selected]
        if missing.any():
            name = f"scalar register s{register}" if register < 106 else _SPECIAL[register]
            self.fail(NeverWritten, int(missing.argmax()), None, what=name)

    def _require_vector(self, bank: Bank, register: int) -> None:
        missing = self.active & ~bank.written[register][self.selected]
        if missing.any():
            wave, lane = np.argwhere(missing)[0]
            self.fail(NeverWritten, int(wave), int(lane), what=f"register {bank.name}{register}")

    # --- faults -----------------------------------------------------------------------------------

    def wave_numbers(self) -> Array:
        """Int [selected wave]: their places among all waves that run together."""
        return np.arange(self.layout.count)[self.selected]

    def lane_name(self, wave: int, lane: int | None) -> str:
        """Words for a wave, given by its place among all, and one of its lanes."""
        group, within = divmod(wave, self.layout.per_workgroup)
        name = f"workgroup {self.layout.workgroups[group]}, wave {within}"
        return name if lane is None else f"{name}, lane {lane}"

    def fail(
        self, error: type[EmulationFault], row: int, lane: int | None, **facts: str | int
    ) -> NoReturn:
        """Raise ``error`` for the selected wave number ``row`` and its lane."""
        wave = int(self.wave_numbers()[row])
        place = {"text": self.now.text, "line": self.now.line}
        raise error(location=None, lane_name=self.lane_name(wave, lane), **place, **facts)


_SPECIAL = {106: "vcc_lo", 107: "vcc_hi", 125: "m0", 126: "exec_lo", 127: "exec_hi"} | {
    108 + i: f"ttmp{i}" for i in range(16)
}


def spread_bits(words: Array) -> Array:
    """uint32 [..., word] -> bool [..., 32 * word], lowest bit first."""
    raw = np.ascontiguousarray(words, np.uint32).view(np.uint8)
    return np.unpackbits(raw, axis=-1, bitorder="little").view(bool)


def gather_bits(mask: Array) -> Array:
    """Bool [..., 32 * word] -> uint32 [..., word], lowest bit first."""
    return np.packbits(mask, axis=-1, bitorder="little").view(np.uint32)
