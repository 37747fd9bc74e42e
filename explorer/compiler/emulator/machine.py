"""Runs a decoded program: which waves step, barriers, and the limit of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.counts import Counts
from explorer.compiler.emulator.errors import BarrierNotReached, RanPastTheEnd, StepLimit
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.memory import GlobalMemory
from explorer.compiler.emulator.shared import SharedMemory
from explorer.compiler.emulator.waves import EVERY, Selection, Waves

Array = NDArray[Any]

Step = Callable[["Machine"], None]
"""What an instruction does to the selected waves."""


@dataclass(frozen=True)
class Decoded:
    """An instruction made ready to run."""

    instruction: Instruction
    step: Step
    family: str
    on_lanes: bool
    """Whether the EXEC mask matters to it, so that idle lanes are counted."""


Decode = Callable[[Instruction], Decoded]


@dataclass(frozen=True)
class Program:
    """Code of one kernel, decoded as far as anything has run it."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    entry: int
    decode: Decode
    decoded: dict[int, Decoded] = field(default_factory=dict[int, Decoded])

    def at(self, position: int) -> Decoded:
        """The instruction at a position, ready to run.

        Raises:
            UnknownInstruction: it is not modelled.
        """
        found = self.decoded.get(position)
        if found is None:
            found = self.decoded[position] = self.decode(self.instructions[position])
        return found


@dataclass(frozen=True)
class Parts:
    """What a machine is made of."""

    waves: Waves
    memory: GlobalMemory
    arguments: Array
    """uint8: the kernel-argument segment."""
    shared: SharedMemory
    scratch: Array
    """uint8 [wave, lane, byte]: private memory."""
    counts: Counts


class Machine:
    """Some workgroups of a kernel, run until all their waves have ended."""

    def __init__(self, program: Program, parts: Parts, arch: str, banks: int, limit: int) -> None:
        """Make it ready at the program's entry.

        Args:
            program: the code.
            parts: registers and memory.
            arch: the processor's name, ``gfx942``.
            banks: of shared memory.
            limit: most steps; a step is one instruction of all waves that are at it.
        """
        self.program = program
        self.waves = parts.waves
        self.memory = parts.memory
        self.arguments = parts.arguments
        self.shared = parts.shared
        self.scratch = parts.scratch
        self.counts = parts.counts
        self.arch = arch
        self.banks = banks
        self.limit = limit
        count = self.waves.layout.count
        self.address = np.full(count, program.entry, np.int64)
        self.ended = np.zeros(count, bool)
        self.waiting = np.zeros(count, bool)
        self.following = 0
        self.left = False

    # --- what control instructions do -------------------------------------------------------------

    def jump(self, label: str, taken: Array) -> None:
        """Go to a label where bool [selected wave] ``taken``, else on."""
        target = self.program.labels[label]
        self.address[self.waves.selected] = np.where(taken, target, self.following)
        self.left = True

    def end(self) -> None:
        """End the selected waves."""
        self.ended[self.waves.selected] = True
        self.left = True

    def wait_at_barrier(self) -> None:
        """Hold the selected waves until all of their workgroup wait."""
        self.address[self.waves.selected] = self.following
        self.waiting[self.waves.selected] = True
        self.counts.barriers += self.waves.count
        self.left = True

    # --- running ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Run to the end.

        Of all waves that can go on, those at the lowest address step, together; so waves that went
        different ways meet again where their ways do.

        Raises:
            EmulationFault: the code did something wrong.
            UnknownInstruction: it has an instruction that is not modelled.
        """
        steps = 0
        while not self.ended.all():
            ready = ~self.ended & ~self.waiting
            if not ready.any():
                self._release()
                continue
            steps += self._straight(ready)
            if steps > self.limit:
                row = int(ready.argmax())
                self.waves.select(EVERY, len(ready))
                self.waves.fail(StepLimit, row, None, limit=self.limit)

    def _straight(self, ready: Array) -> int:
        """Step the waves at the lowest address up to a branch, or to where others wait."""
        start = int(self.address[ready].min())
        here = ready & (self.address == start)
        others = ready & ~here
        stop = (
            int(self.address[others].min()) if others.any() else len(self.program.instructions) + 1
        )
        selected: Selection = EVERY if here.all() else np.flatnonzero(here)
        self.waves.select(selected, int(here.sum()))
        self.left = False
        position = start
        while True:
            self._step(position)
            position += 1
            if self.left or position - start > self.limit:
                break
            if position >= stop:
                self.address[selected] = position
                break
        return position - start

    def _step(self, position: int) -> None:
        if position == len(self.program.instructions):
            self.waves.fail(RanPastTheEnd, 0, None)
        decoded = self.program.at(position)
        self.waves.now = decoded.instruction
        self.following = position + 1
        self.counts.instructions[decoded.family] += self.waves.count
        if decoded.on_lanes:
            self._count_lanes()
        decoded.step(self)

    def _count_lanes(self) -> None:
        if self.waves.full:
            self.counts.full_vector(self.waves.count, self.waves.lanes)
        else:
            self.counts.vector(self.waves.active)

    def _release(self) -> None:
        """Let workgroups go on whose waves have all reached the barrier."""
        layout = self.waves.layout
        waiting = self.waiting.reshape(-1, layout.per_workgroup)
        ended = self.ended.reshape(-1, layout.per_workgroup)
        stuck = waiting.any(axis=1) & ended.any(axis=1)
        if stuck.any():
            group = int(stuck.argmax())
            self._fail_at_barrier(group, waiting[group], ended[group])
        for group in np.flatnonzero(waiting.any(axis=1)):
            self.shared.forget(int(group))
        self.waiting[...] = False

    def _fail_at_barrier(self, group: int, waiting: Array, ended: Array) -> None:
        row = group * self.waves.layout.per_workgroup + int(waiting.argmax())
        self.waves.select(EVERY, len(self.waiting))
        self.waves.now = self.program.instructions[int(self.address[row]) - 1]
        missing = ", ".join(map(str, np.flatnonzero(ended)))
        self.waves.fail(BarrierNotReached, row, None, missing=missing)
