"""What a launch must know of a code object, read from the assembly text's directives and metadata.

Source: LLVM, "User Guide for AMDGPU Backend", code object metadata and AMDHSA kernel directives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from explorer.compiler.emulator.errors import UnreadableAssembly
from explorer.compiler.lang.targets import TARGETS

Grid = tuple[int, int, int]

_USER_REGISTERS = (
    ("private_segment_buffer", 4),
    ("dispatch_ptr", 2),
    ("queue_ptr", 2),
    ("kernarg_segment_ptr", 2),
)
"""What lies in scalar registers from 0 on, each if its directive says so."""


@dataclass(frozen=True)
class Argument:
    """One entry of the argument segment."""

    kind: str
    """``global_buffer``, ``by_value``, or a hidden one that the runtime fills."""
    offset: int
    size: int
    """In bytes."""


@dataclass(frozen=True)
class CodeFacts:
    """One kernel's needs."""

    arch: str
    entry: str
    """Label of its first instruction."""
    lanes: int
    block: Grid
    """Threads of a workgroup along x, y and z."""
    shared_bytes: int
    scratch_bytes: int
    argument_bytes: int
    arguments: tuple[Argument, ...]
    arguments_register: int
    """Scalar register (pair) that holds the segment's address."""
    user_registers: int
    """Scalar registers before those of the workgroup's numbers."""
    workgroup_ids: tuple[bool, bool, bool]

    @property
    def waves(self) -> int:
        """Waves of a workgroup."""
        x, y, z = self.block
        return -(-x * y * z // self.lanes)


def kernel_names(isa: str) -> list[str]:
    """The kernels that an assembly text holds."""
    return re.findall(r"\.amdhsa_kernel\s+(\S+)", isa)


def read_facts(isa: str, kernel: str | None = None) -> CodeFacts:
    """Read those of a kernel; left out: of the first.

    Raises:
        UnreadableAssembly: one is missing, or the processor is not known.
    """
    if kernel is not None:
        isa = _about(isa, kernel)
    arch = _text(isa, r"\.amdgcn_target\s+\"[^\"]*-(gfx\w+)[:\"]", "name of a processor")
    if arch not in TARGETS:
        raise UnreadableAssembly(reason=f"the emulator does not know the processor {arch}")
    return CodeFacts(
        arch=arch,
        entry=_text(isa, r"\.amdhsa_kernel\s+(\S+)", "kernel"),
        lanes=_number(isa, r"\.wavefront_size:\s+(\d+)", "wavefront size"),
        block=_block(isa),
        shared_bytes=_number(isa, r"\.group_segment_fixed_size:\s+(\d+)", "shared memory size"),
        scratch_bytes=_number(isa, r"\.private_segment_fixed_size:\s+(\d+)", "scratch size"),
        argument_bytes=_number(isa, r"\.kernarg_segment_size:\s+(\d+)", "argument segment size"),
        arguments=_arguments(isa),
        arguments_register=_arguments_register(isa),
        user_registers=_number(isa, r"\.amdhsa_user_sgpr_count\s+(\d+)", "user register count"),
        workgroup_ids=(_flag(isa, "id_x"), _flag(isa, "id_y"), _flag(isa, "id_z")),
    )


def _about(isa: str, kernel: str) -> str:
    """The parts of a text that speak of one kernel: directives and its entry of the metadata."""
    target = _text(isa, r"(\.amdgcn_target[^\n]*)", "name of a processor")
    pattern = rf"(\.amdhsa_kernel\s+{re.escape(kernel)}\n.*?\.end_amdhsa_kernel)"
    directives = re.search(pattern, isa, re.DOTALL)
    entries = re.split(r"^  - ", isa.partition("amdhsa.kernels:")[2], flags=re.MULTILINE)
    named = rf"\.symbol:\s+{re.escape(kernel)}\.kd\b"
    metadata = next((entry for entry in entries if re.search(named, entry)), None)
    if directives is None or metadata is None:
        raise UnreadableAssembly(reason=f"it has no kernel {kernel}")
    return "\n".join([target, directives[1], f"  - {metadata}"])


def _text(isa: str, pattern: str, what: str) -> str:
    found = re.search(pattern, isa)
    if found is None:
        raise UnreadableAssembly(reason=f"it has no {what}")
    return found[1]


def _number(isa: str, pattern: str, what: str) -> int:
    return int(_text(isa, pattern, what))


def _directive(isa: str, name: str) -> int:
    found = re.search(rf"\.amdhsa_{name}\s+(\d+)", isa)
    return int(found[1]) if found else 0


def _flag(isa: str, name: str) -> bool:
    return _directive(isa, f"system_sgpr_workgroup_{name}") == 1


def _arguments_register(isa: str) -> int:
    register = 0
    for name, count in _USER_REGISTERS:
        if name == "kernarg_segment_ptr":
            return register
        register += count * _directive(isa, f"user_sgpr_{name}")
    return register


def _block(isa: str) -> Grid:
    pattern = r"\.reqd_workgroup_size:\s+-\s+(\d+)\s+-\s+(\d+)\s+-\s+(\d+)"
    found = re.search(pattern, isa)
    if found is None:
        raise UnreadableAssembly(reason="it does not say how many threads a workgroup has")
    x, y, z = map(int, found.groups())
    return x, y, z


def _arguments(isa: str) -> tuple[Argument, ...]:
    section = re.search(r"\.args:\s*\n(.*?)\n    \.\w", isa, re.DOTALL)
    if section is None:
        return ()
    rows = re.split(r"^ {6}- ", section[1], flags=re.MULTILINE)[1:]
    return tuple(
        Argument(
            _text(row, r"\.value_kind:\s+(\w+)", "kind of an argument"),
            _number(row, r"\.offset:\s+(\d+)", "offset of an argument"),
            _number(row, r"\.size:\s+(\d+)", "size of an argument"),
        )
        for row in rows
    )
