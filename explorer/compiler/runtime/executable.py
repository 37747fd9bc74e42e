"""What compiling gives. Apart from the compiler, so that a cache opens without loading IREE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Executable:
    """Compiled code and what is known about it."""

    vmfb: bytes
    """IREE's module: the kernel's machine code and the host function that calls it."""
    isa: str
    """Assembly text of the kernel: x86 or ARM, AMDGPU, or PTX."""
    resources: dict[str, Any]
    """Registers, spills, memory, occupancy: what the target's code tells. JSON data."""
    seconds: float
    """Time that the compiler took."""
