"""What IREE leaves in its dump folder, made fit to read: assembly and resources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer.compiler.lang.targets import Target
from explorer.compiler.runtime.elf import function_sizes


@dataclass(frozen=True)
class VectorRegisterFile:
    """How the vector registers of one SIMD limit the waves that run on it together.

    Source: LLVM, AMDGPUBaseInfo.cpp, getNumWavesPerEUWithNumVGPRs and the functions it calls.
    """

    registers: int
    """Registers of a lane that all waves of the SIMD share."""
    granule: int
    """A wave gets a multiple of this many."""
    most_waves: int

    def waves(self, used: int) -> int:
        """Waves that fit when each lane uses ``used`` registers."""
        rounded = max(1, -(-used // self.granule)) * self.granule
        return min(self.most_waves, max(1, self.registers // rounded))


_CDNA = VectorRegisterFile(registers=512, granule=8, most_waves=8)
_REGISTER_FILES = {
    ("gfx90a", 64): _CDNA,
    ("gfx942", 64): _CDNA,
    ("gfx950", 64): _CDNA,
    ("gfx1100", 32): VectorRegisterFile(registers=1536, granule=24, most_waves=16),
    ("gfx1100", 64): VectorRegisterFile(registers=768, granule=12, most_waves=16),
}
"""By target and wave width. A target without a row gets no occupancy: its figures are not known."""

_AMD_FACTS = {
    "vgpr": "vgpr_count",
    "agpr": "agpr_count",
    "sgpr": "sgpr_count",
    "vgpr_spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "shared_memory_bytes": "group_segment_fixed_size",
    "scratch_bytes": "private_segment_fixed_size",
    "wavefront_size": "wavefront_size",
}
"""Our name -> the name in the code object's metadata. Source: LLVM, AMDGPU user guide."""


def read_dump(folder: Path, target: Target) -> tuple[str, dict[str, Any]]:
    """Assembly text and resources of a kernel that was compiled with its dumps in ``folder``.

    Returns:
        The text (empty when there is none) and facts that depend on the family: registers,
        spills, ``shared_memory_bytes``, ``scratch_bytes``, ``code_bytes``,
        ``occupancy_waves_per_simd``.
    """
    match target.family:
        case "cpu":
            text = _first_text(folder, "*.s")
            return _cpu_kernel(text), _cpu_resources(folder, text)
        case "rocm":
            text = _first_text(folder, "*.rocmasm")
            return text, _amd_resources(folder, text, target)
        case "cuda":
            text = _first_text(folder, "*.ptx")
            return text, _ptx_resources(text)


def _first_text(folder: Path, pattern: str) -> str:
    return next((path.read_text() for path in sorted(folder.glob(pattern))), "")


def _code_bytes(folder: Path, pattern: str, name: str | None) -> dict[str, int]:
    for path in sorted(folder.glob(pattern)):
        size = function_sizes(path.read_bytes()).get(name or "")
        if size is not None:
            return {"code_bytes": size}
    return {}


# --- cpu ------------------------------------------------------------------------------------------

_CPU_NOISE = re.compile(r"\s*(\.cfi_|\.file|\.prefalign|\.Ltmp\d|\.Lfunc_|\.loc\s+\d+\s+0\s)")
_CPU_LINE = re.compile(r"\s*\.loc\s+\d+\s+(\d+)\s+(\d+).*")


def _cpu_kernel(text: str) -> str:
    """The kernel's function and its constants, with the place in the MLIR text above its lines.

    IREE appends its own library of functions to every module; the kernel comes first.
    """
    head, end, _ = text.partition(".Lfunc_end0:")
    lines = (head if end else text).splitlines()
    kept = (_CPU_LINE.sub(r"# mlir \1:\2", x) for x in lines if not _CPU_NOISE.match(x))
    return "\n".join(kept) + "\n" if text else ""


def _cpu_resources(folder: Path, text: str) -> dict[str, Any]:
    name = re.search(r"^(\w+):\s*(?:#.*)?\n\.Lfunc_begin0:", text, re.MULTILINE)
    return _code_bytes(folder, "*.o", name and name[1])


# --- AMD ------------------------------------------------------------------------------------------


def _amd_resources(folder: Path, text: str, target: Target) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for ours, theirs in _AMD_FACTS.items():
        if found := re.search(rf"\.{theirs}:\s+(\d+)", text):
            facts[ours] = int(found[1])
    name = re.search(r"\.symbol:\s+(\S+)\.kd", text)
    facts |= _code_bytes(folder, "*.hsaco", name and name[1])
    file = _REGISTER_FILES.get((target.name, facts.get("wavefront_size", 0)))
    if file is not None and "vgpr" in facts:
        facts["occupancy_waves_per_simd"] = file.waves(facts["vgpr"])
        facts["occupancy_limit"] = f"{file.most_waves} waves a SIMD; counted from vector registers"
    return facts


# --- NVIDIA ---------------------------------------------------------------------------------------


def _ptx_resources(text: str) -> dict[str, Any]:
    """PTX names no physical registers, and no size of the shared memory that the launch gives."""
    facts: dict[str, Any] = {}
    if ".shared" not in text:
        facts["shared_memory_bytes"] = 0
    if threads := re.search(r"\.maxntid\s+(\d+),\s*(\d+),\s*(\d+)", text):
        x, y, z = map(int, threads.groups())
        facts["threads"] = x * y * z
    return facts
