"""Launches a kernel's assembly text on arrays of this process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.control import ARGUMENTS
from explorer.compiler.emulator.counts import Counts
from explorer.compiler.emulator.decode import decode
from explorer.compiler.emulator.errors import UnreadableAssembly
from explorer.compiler.emulator.instruction import Instruction, parse_program
from explorer.compiler.emulator.machine import Machine, Parts, Program
from explorer.compiler.emulator.memory import GlobalMemory
from explorer.compiler.emulator.metadata import CodeFacts, read_facts
from explorer.compiler.emulator.operand import EXEC, TTMP
from explorer.compiler.emulator.report import EmulatorReport
from explorer.compiler.emulator.shared import SharedMemory
from explorer.compiler.emulator.waves import WaveLayout, Waves, gather_bits
from explorer.compiler.lang.targets import TARGETS

Array = NDArray[Any]
Grid = tuple[int, int, int]

STEP_LIMIT = 20_000_000
"""Most steps of a run; a step is one instruction of all waves that are at it."""

_STATE_BYTES = 8 * 2**20
"""Registers of the waves that run together: small enough for a processor's cache."""
_MOST_WAVES = 1024


def run(
    isa: str,
    arrays: Sequence[Array],
    *,
    written: Sequence[bool],
    grid: Grid,
    names: Sequence[str] | None = None,
    sizes: Sequence[int] = (),
    step_limit: int = STEP_LIMIT,
) -> EmulatorReport:
    """Execute a kernel. Arrays that it writes change in place, once all workgroups have ended.

    Args:
        isa: the assembly text that the compiler wrote for an AMD target.
        arrays: one for each argument; those without dims are numbers that travel by value.
        written: for each whether the kernel may write it.
        grid: workgroups along x, y and z.
        names: what errors call the arguments.
        sizes: sizes that the kernel takes after its arguments, for dims that only a call knows.
        step_limit: most instructions before the run is given up.

    Raises:
        EmulationFault: the code did something wrong; the arrays are as they were.
        UnknownInstruction: the code has an instruction that is not modelled.
        UnreadableAssembly: the text is no whole kernel of an AMD target, or takes other arguments.
    """
    start = time.perf_counter()
    facts, program = load(isa)
    names = names or [str(i) for i in range(len(arrays))]
    tensors = [i for i, array in enumerate(arrays) if array.ndim]
    held = [arrays[i] for i in tensors]
    memory = GlobalMemory.holding(held, [written[i] for i in tensors], [names[i] for i in tensors])
    numbers = [array for array in arrays if not array.ndim]
    numbers += [np.array(size, np.int64) for size in sizes]
    words = [word for number in numbers for word in _words(number)]
    segment = _argument_segment(facts, [memory.pointer(i) for i in range(len(held))], words)
    counts = Counts()
    launch = Launch(program, facts, memory, segment, grid, counts)
    launch.run(step_limit)
    memory.copy_back(held)
    total = grid[0] * grid[1] * grid[2]
    seconds = time.perf_counter() - start
    return EmulatorReport(facts.arch, grid, total * facts.waves, seconds, counts)


@lru_cache(maxsize=16)
def load(isa: str, kernel: str | None = None) -> tuple[CodeFacts, Program]:
    """Read one kernel of a text; left out: its first.

    Raises:
        UnreadableAssembly: something that a launch needs is not there.
    """
    facts = read_facts(isa, kernel)
    instructions, labels = parse_program(isa)
    if facts.entry not in labels:
        raise UnreadableAssembly(reason=f"it has no label {facts.entry}")
    return facts, Program(tuple(instructions), labels, labels[facts.entry], decode)


def _words(number: Array) -> list[int]:
    """A number as IREE hands it to a kernel: at least 32 bits, larger ones cut into words."""
    kind = np.float32 if number.itemsize < 4 and number.dtype.kind not in "biu" else number.dtype
    kind = np.int32 if number.itemsize < 4 and number.dtype.kind in "biu" else kind
    return [int(word) for word in np.atleast_1d(number.astype(kind)).view(np.uint32)]


def _argument_segment(facts: CodeFacts, addresses: list[int], words: list[int]) -> Array:
    """The bytes that the kernel reads its arguments from.

    Raises:
        UnreadableAssembly: it takes other arguments than these pointers and 32-bit words.
    """
    kinds = [argument.kind for argument in facts.arguments]
    if kinds != ["global_buffer"] * len(addresses) + ["by_value"] * len(words):
        reason = f"it does not take {len(addresses)} pointers and {len(words)} words"
        raise UnreadableAssembly(reason=reason)
    segment = np.zeros(-(-max(facts.argument_bytes, 64) // 16) * 16, np.uint8)
    values = [np.array([a], np.uint64) for a in addresses] + [
        np.array([w], np.uint32) for w in words
    ]
    for argument, value in zip(facts.arguments, values, strict=True):
        data = value.view(np.uint8)
        segment[argument.offset :][: data.size] = data
    return segment


@dataclass(frozen=True)
class Launch:
    """A kernel with its arguments and grid."""

    program: Program
    facts: CodeFacts
    memory: GlobalMemory
    segment: Array
    grid: Grid
    counts: Counts

    def run(self, step_limit: int) -> None:
        """Run all workgroups, as many together as are handled well at once."""
        with np.errstate(all="ignore"):
            for workgroups in self._chunks():
                self._machine(workgroups, step_limit).run()

    def _chunks(self) -> Iterator[tuple[int, ...]]:
        x, y, z = self.grid
        each = max(1, self._vectors[0] + self._vectors[1]) * self.facts.lanes * 4
        waves = min(_MOST_WAVES, max(1, _STATE_BYTES // each))
        together = max(1, waves // self.facts.waves)
        total = x * y * z
        for first in range(0, total, together):
            yield tuple(range(first, min(first + together, total)))

    @cached_property
    def _vectors(self) -> tuple[int, int]:
        """Vector and accumulation registers that the code names."""
        return _registers(self.program.instructions, "v"), _registers(
            self.program.instructions, "a"
        )

    def _machine(self, workgroups: tuple[int, ...], step_limit: int) -> Machine:
        facts = self.facts
        layout = WaveLayout(facts.lanes, facts.waves, workgroups)
        waves = Waves(layout, *self._vectors)
        waves.keeps_halves = not facts.arch.startswith("gfx9")
        shared = SharedMemory(len(workgroups), facts.shared_bytes, facts.waves)
        scratch_bytes = -(-facts.scratch_bytes // 4) * 4
        scratch = np.full((layout.count, layout.lanes, scratch_bytes), 0xFF, np.uint8)
        parts = Parts(waves, self.memory, self.segment, shared, scratch, self.counts)
        self._set_registers(waves, layout)
        return Machine(self.program, parts, facts.arch, TARGETS[facts.arch].banks, step_limit)

    def _set_registers(self, waves: Waves, layout: WaveLayout) -> None:
        """What the hardware puts into registers before the first instruction.

        Source: LLVM, "User Guide for AMDGPU Backend", initial kernel execution state.
        """
        facts = self.facts
        thread = np.arange(facts.waves * layout.lanes).reshape(facts.waves, layout.lanes)
        thread = np.tile(thread, (len(layout.workgroups), 1))
        self._set_exec(waves, thread)
        x, y, _ = facts.block
        packed = thread // (x * y) << 20 | thread // x % y << 10 | thread % x
        everyone = np.ones_like(packed, dtype=bool)
        waves.write_vector(waves.vector, 0, packed.astype(np.uint32), everyone)
        waves.write_scalar(facts.arguments_register, ARGUMENTS & 0xFFFFFFFF)
        waves.write_scalar(facts.arguments_register + 1, ARGUMENTS >> 32)
        self._set_workgroup(waves, layout)

    def _set_exec(self, waves: Waves, thread: Array) -> None:
        x, y, z = self.facts.block
        words = gather_bits(thread < x * y * z)
        waves.write_scalar(EXEC + 1, 0)
        for i in range(words.shape[1]):
            waves.write_scalar(EXEC + i, words[:, i])

    def _set_workgroup(self, waves: Waves, layout: WaveLayout) -> None:
        """The workgroup's numbers: in scalar registers, on gfx12 in ttmp ones."""
        number = np.repeat(np.array(layout.workgroups), self.facts.waves)
        x, y, _ = self.grid
        ids = (number % x, number // x % y, number // (x * y))
        if self.facts.arch.startswith("gfx12"):
            waves.write_scalar(TTMP + 9, ids[0].astype(np.uint32))
            waves.write_scalar(TTMP + 7, (ids[1] & 0xFFFF | ids[2] << 16).astype(np.uint32))
            return
        register = self.facts.user_registers
        for wanted, value in zip(self.facts.workgroup_ids, ids, strict=True):
            if wanted:
                waves.write_scalar(register, value.astype(np.uint32))
                register += 1


def _registers(instructions: Sequence[Instruction], kind: str) -> int:
    """One more than the highest number of a register that the code names."""
    parts = (half for i in instructions for half in (i, *i.parts))
    used = (o.first + o.count for part in parts for o in part.operands if o.kind == kind)
    return max(used, default=0) + _UNNAMED[kind]


_UNNAMED = {"v": 1, "a": 0}
"""Register 0 is set at the start even if the code never names it."""
