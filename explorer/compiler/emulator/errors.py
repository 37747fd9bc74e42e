"""What can go wrong while AMD machine code is executed, one class each.

Every fault names the instruction, its line in the assembly text, and the workgroup, wave and lane
that met it.
"""

from __future__ import annotations

from typing import ClassVar

from explorer.compiler.errors import ExplorerError


class UnknownInstruction(ExplorerError):
    """An instruction, or a form of one, that the emulator has no row for."""

    template = "the emulator does not know the instruction `{text}` (line {line} of the assembly)"
    hint = "report the kernel; until then run it on device='interpreter'"


class UnreadableAssembly(ExplorerError):
    """Assembly text without the parts that a launch needs."""

    template = "the assembly text cannot be launched: {reason}"
    hint = "give the whole text that the compiler wrote for an AMD target (k.isa)"


class EmulationFault(ExplorerError):
    """Base of the faults that a kernel's code commits while it runs."""

    where: ClassVar[str] = "`{text}` (line {line} of the assembly), {lane_name}: "

    def __str__(self) -> str:
        """Say where before what."""
        return self.where.format(**self.facts) + super().__str__()


class OutsideBuffer(EmulationFault):
    """An access to global memory that lies in no argument."""

    template = "{what} of {size} bytes at address {address:#x}, {nearest}"
    hint = "an index is too large or negative, or a mask is missing at the end of a tensor"


class StoreToInput(EmulationFault):
    """A store to an argument that the kernel is said only to read."""

    template = "store of {size} bytes into argument {argument}, which the kernel only reads"
    hint = "write to another argument"


class OutsideSharedMemory(EmulationFault):
    """An access to shared memory beyond what the workgroup has."""

    template = "{what} of {size} bytes at offset {address} of shared memory, which has {limit}"
    hint = "the index into the shared buffer is too large or negative"


class OutsideScratch(EmulationFault):
    """An access to a lane's private memory beyond what it has."""

    template = "{what} of {size} bytes at offset {address} of private memory, which has {limit}"
    hint = "this is a fault of the compiler: a register was spilled to a place that is not there"


class SharedMemoryRace(EmulationFault):
    """Two waves touch the same byte of shared memory without a barrier between."""

    template = (
        "{what} of byte {address} of shared memory, which wave {other} {other_did} since the last "
        "barrier"
    )
    hint = "a barrier is missing between the two accesses"


class NeverWritten(EmulationFault):
    """A value is used that nothing has written."""

    template = "uses {what}, which was never written"
    hint = "what it holds on a GPU is left over from an earlier program and differs from run to run"


class BarrierNotReached(EmulationFault):
    """Some waves of a workgroup wait at a barrier that the others never reach."""

    template = (
        "waits at a barrier, but wave(s) {missing} of the workgroup ended without reaching it"
    )
    hint = "a barrier must not lie in a branch that only some waves take"


class StepLimit(EmulationFault):
    """The program runs longer than allowed."""

    template = "the program did not end within {limit} steps"
    hint = "a loop may never end; raise step_limit if the kernel is that long"


class RanPastTheEnd(EmulationFault):
    """The program goes on after its last instruction."""

    template = "the program goes on after its last instruction"
    hint = "an s_endpgm is missing"
