"""AMDGPU assembly text (LLVM's syntax) as instructions with operands and modifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from explorer.compiler.emulator.operand import Operand, parse_operand

Modifier = int | str | tuple[int, ...]


@dataclass(frozen=True)
class Instruction:
    """One line of code."""

    name: str
    operands: tuple[Operand, ...]
    modifiers: Mapping[str, Modifier]
    text: str
    line: int
    """Its line in the assembly text, from 1."""
    parts: tuple[Instruction, ...] = field(default=())
    """The two halves of a dual instruction."""

    @cached_property
    def base(self) -> str:
        """The name without the encoding: ``v_add_f32_e64_dpp`` is ``v_add_f32``."""
        return _ENCODING.sub("", self.name)

    def number(self, name: str, default: int = 0) -> int:
        """An integer modifier such as ``offset:16``."""
        value = self.modifiers.get(name, default)
        return value if isinstance(value, int) else default

    def bits(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A list modifier such as ``op_sel:[0,1]``, filled up from ``default``."""
        value = self.modifiers.get(name)
        if not isinstance(value, tuple):
            return default
        return value + default[len(value) :]

    def has(self, name: str) -> bool:
        """Whether a modifier is there."""
        return name in self.modifiers


_ENCODING = re.compile(r"(_e32|_e64|_dpp8|_dpp|_sdwa|_vop3)+$")
_LABEL = re.compile(r"([.\w$]+):")
_MODIFIER = re.compile(r"([a-z_]\w*):(\[[^\]]*\]|[a-zA-Z]\w*\([^)]*\)|\S+)")
_FLAG = re.compile(
    r"offen|idxen|addr64|glc|slc|dlc|sc0|sc1|nt|lds|gds|clamp|row_mirror|row_half_mirror"
    r"|scale_offset"
)
_WITHOUT_OPERANDS = re.compile(
    r"s_(waitcnt|wait_|delay_alu|sendmsg|clause|barrier|nop|code_end|setprio|icache|inst_prefetch"
    r"|set_inst_prefetch|sleep|endpgm|setreg|denorm_mode|round_mode|version|dcache)"
)


def parse_program(text: str) -> tuple[list[Instruction], dict[str, int]]:
    """Instructions in order, and for each label the position of the instruction after it."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    for number, line in _code_lines(text):
        if label := _LABEL.fullmatch(line.strip()):
            labels[label[1]] = len(instructions)
        elif line[0].isspace() and not line.strip().startswith("."):
            instructions.append(parse_instruction(line.strip(), number))
    return instructions, labels


def _code_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith(".amdgpu_metadata"):
            return
        code = re.split(r";|//", line, maxsplit=1)[0].rstrip()
        if code:
            yield number, code


def parse_instruction(text: str, line: int = 0) -> Instruction:
    """Read one instruction; ``a :: b`` is a dual one."""
    if " :: " in text:
        parts = tuple(parse_instruction(part.strip(), line) for part in text.split(" :: "))
        return Instruction("v_dual", (), {}, text, line, parts)
    name, _, rest = text.partition(" ")
    name, _, more = name.partition("\t")
    if _WITHOUT_OPERANDS.match(name):
        return Instruction(name, (), {}, text, line)
    operands, modifiers = _split(f"{more} {rest}".strip())
    return Instruction(name, operands, modifiers, text, line)


def _split(text: str) -> tuple[tuple[Operand, ...], dict[str, Modifier]]:
    """Operands are separated by commas; modifiers follow the last of them after spaces."""
    modifiers: dict[str, Modifier] = {}
    for found in _MODIFIER.finditer(text):
        modifiers[found[1]] = _modifier(found[2])
    pieces = re.split(r",(?![^\[(]*[\])])", _MODIFIER.sub("", text))
    operands: list[Operand] = []
    for piece in pieces:
        words = piece.split()
        modifiers |= {word: 1 for word in words if _FLAG.fullmatch(word)}
        operands += [parse_operand(word) for word in words if not _FLAG.fullmatch(word)]
    return tuple(operands), modifiers


def _modifier(text: str) -> Modifier:
    if text.startswith("["):
        return tuple(int(item, 0) for item in text[1:-1].split(","))
    return int(text, 0) if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text) else text
