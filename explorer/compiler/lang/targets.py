"""The machines that kernels are compiled for: one row of facts each.

Index inference, the checks of a tiling, the emitter and the lane viewer read the same row.

Sources of the figures, by the short names that the rows use:

- CDNA2, CDNA3, CDNA4, RDNA3, RDNA4: AMD's instruction set architecture guides of that name, the
  chapters on the local data share and on vector registers.
- LLVM: AMDGPUBaseInfo.cpp of the AMDGPU backend (addressable registers, largest workgroup).
- HIP: no launch may have 2^32 threads or more along a dim; ``rocminfo`` reports 65535 for y and z.
- CUDA: CUDA C++ programming guide, table "Technical specifications per compute capability".
- IREE: the ``#iree_gpu.target`` that release 3.13 compiles with (waves, threads, shared memory,
  banks, widest load; a test compares), and for the cpu the state of a dispatch in its local
  executable library: x and y are 32 bits wide, z is 16 bits wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from explorer.compiler.errors import ExplorerError, did_you_mean

Family = Literal["cpu", "rocm", "cuda"]
DeviceKind = Literal["local", "hip", "cuda"]


class UnknownTarget(ExplorerError):
    """A target that is in no row of the table."""

    template = "no target {name!r}{guess}"
    hint = "the targets are {known}"


@dataclass(frozen=True)
class Target:
    """Facts about one machine."""

    name: str
    family: Family
    lanes: int
    """Lanes of a wave unless the kernel asks for another of ``lane_choices``."""
    lane_choices: tuple[int, ...]
    max_threads: int
    """Most lanes of a workgroup, all its waves together."""
    grid_limits: tuple[int, int, int]
    """Most workgroups along x, y and z."""
    shared_memory_bytes: int
    """Most shared memory of a workgroup."""
    banks: int
    """Banks of shared memory, each four bytes wide."""
    registers: int
    """Most 32-bit vector registers of a lane."""
    vector_bytes: int
    """Widest access to memory of one lane."""
    subgroup_shuffles: bool
    """Whether lanes of a wave can read each other's registers."""
    device: DeviceKind
    """The kind of device that runs this target's code."""
    description: str


def _cpu() -> Target:
    return Target(
        name="cpu",
        family="cpu",
        lanes=1,
        lane_choices=(1,),
        max_threads=1,
        grid_limits=(2**32 - 1, 2**32 - 1, 2**16 - 1),  # source: IREE
        shared_memory_bytes=32 * 1024,  # source: IREE, limit of stack memory in one dispatch
        banks=1,  # a cache has no banks that a kernel could see
        registers=32,  # source: AVX-512 and AArch64 have 32 vector registers
        vector_bytes=64,  # source: one cache line, one AVX-512 register
        subgroup_shuffles=False,
        device="local",
        description="this machine's processor",
    )


def _amd(
    name: str,
    lanes: int,
    lane_choices: tuple[int, ...],
    shared_kib: int,
    banks: int,
    registers: int,
    description: str,
) -> Target:
    threads = 1024  # source: LLVM, IREE
    return Target(
        name=name,
        family="rocm",
        lanes=lanes,
        lane_choices=lane_choices,
        max_threads=threads,
        # source: HIP; x so that the largest workgroups fit
        grid_limits=((2**32 - 1) // threads, 65535, 65535),
        shared_memory_bytes=shared_kib * 1024,
        banks=banks,
        registers=registers,
        vector_bytes=16,  # source: IREE
        subgroup_shuffles=True,
        device="hip",
        description=description,
    )


def _nvidia(name: str, shared_kib: int, description: str) -> Target:
    return Target(
        name=name,
        family="cuda",
        lanes=32,  # source: CUDA
        lane_choices=(32,),
        max_threads=1024,  # source: CUDA
        grid_limits=(2**31 - 1, 65535, 65535),  # source: CUDA
        shared_memory_bytes=shared_kib * 1024,
        banks=32,  # source: CUDA, section "Shared Memory" of each compute capability
        registers=255,  # source: CUDA
        vector_bytes=16,  # source: CUDA, section "Device Memory Accesses"
        subgroup_shuffles=True,
        device="cuda",
        description=description,
    )


_CDNA = (64,)
# RDNA can also run waves of 64, as two halves of 32. Nothing here has been checked for those, so a
# kernel that asks for 64 lanes gets 32 with twice the elements in each.
_RDNA = (32,)

TARGETS: dict[str, Target] = {
    row.name: row
    for row in (
        _cpu(),
        # source: CDNA2 (512 registers: vector and accumulation together), IREE
        _amd("gfx90a", 64, _CDNA, 64, 32, 512, "AMD CDNA 2: MI210, MI250, MI250X"),
        # source: CDNA3, IREE
        _amd("gfx942", 64, _CDNA, 64, 32, 512, "AMD CDNA 3: MI300A, MI300X, MI325X"),
        # source: CDNA4, IREE
        _amd("gfx950", 64, _CDNA, 160, 64, 512, "AMD CDNA 4: MI350X, MI355X"),
        # source: RDNA3, IREE (64 banks serve the two compute units of a workgroup processor)
        _amd("gfx1100", 32, _RDNA, 64, 64, 256, "AMD RDNA 3: Radeon RX 7900, PRO W7900"),
        # source: RDNA4, IREE
        _amd("gfx1201", 32, _RDNA, 64, 64, 256, "AMD RDNA 4: Radeon RX 9070, AI PRO R9700"),
        # source: CUDA, "Maximum amount of shared memory per thread block"
        _nvidia("sm_80", 163, "NVIDIA Ampere: A100, A30"),
        _nvidia("sm_86", 99, "NVIDIA Ampere: A10, A40, RTX 30"),
        _nvidia("sm_89", 99, "NVIDIA Ada: L4, L40, RTX 40"),
        _nvidia("sm_90", 227, "NVIDIA Hopper: H100, H200"),
    )
}
"""All targets by name, in the order in which they are listed to people."""


def target(name: str) -> Target:
    """The row of a target.

    Raises:
        UnknownTarget: there is no such row.
    """
    row = TARGETS.get(name)
    if row is None:
        raise UnknownTarget(name=name, guess=did_you_mean(name, TARGETS), known=", ".join(TARGETS))
    return row
