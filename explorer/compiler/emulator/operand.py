"""Operands of AMDGPU assembly text: registers, constants and names.

Source: LLVM, "User Guide for AMDGPU Backend" and "Syntax of AMDGPU Instruction Operands".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["v", "a", "s", "scc", "null", "off", "integer", "literal", "float", "name"]

VCC, TTMP, M0, EXEC = 106, 108, 125, 126
"""Scalar register numbers. Source: CDNA3 and RDNA3 guides, "Scalar Registers"."""

SCALAR_REGISTERS = 128


@dataclass(frozen=True)
class Operand:
    """One operand with its source modifiers."""

    kind: Kind
    first: int = 0
    """Number of the first register."""
    count: int = 1
    """How many registers it spans."""
    value: float = 0
    """Of a constant."""
    name: str = ""
    """Of a label."""
    negate: bool = False
    absolute: bool = False
    high: bool | None = None
    """Which half of a register a 16-bit operand is (``.h``, ``.l``), where the text says so."""

    @property
    def is_vector(self) -> bool:
        """Whether each lane has a value of its own."""
        return self.kind in {"v", "a"}

    @property
    def is_constant(self) -> bool:
        """Whether the value is in the instruction."""
        return self.kind in {"integer", "literal", "float"}

    def register(self, offset: int) -> Operand:
        """The register ``offset`` places after the first, with the same kind."""
        return Operand(self.kind, self.first + offset)

    def integer(self) -> int:
        """The value of an integer constant."""
        return int(self.value)


_NAMED = {
    "vcc": Operand("s", VCC, 2),
    "vcc_lo": Operand("s", VCC),
    "vcc_hi": Operand("s", VCC + 1),
    "exec": Operand("s", EXEC, 2),
    "exec_lo": Operand("s", EXEC),
    "exec_hi": Operand("s", EXEC + 1),
    "flat_scratch": Operand("s", 102, 2),
    "flat_scratch_lo": Operand("s", 102),
    "flat_scratch_hi": Operand("s", 103),
    "m0": Operand("s", M0),
    "scc": Operand("scc"),
    "src_scc": Operand("scc"),
    "null": Operand("null"),
    "off": Operand("off"),
}

_REGISTER = re.compile(r"(v|s|a|ttmp)(?:(\d+)|\[(\d+)(?::(\d+))?\])")
_HALF = re.compile(r"(.+)\.([lh])")
_WRAPPED = re.compile(r"(?:neg|abs)\((.*)\)|\|(.*)\|")


def parse_operand(text: str) -> Operand:
    """Read one operand; what is no register and no number is a name."""
    text = text.strip()
    negate = absolute = False
    if text.startswith("neg(") or (text.startswith("-") and not text[1:2].isdigit()):
        negate, text = True, text[4:-1] if text.startswith("neg(") else text[1:]
    if wrapped := _WRAPPED.fullmatch(text):
        absolute, text = True, wrapped[1] or wrapped[2]
    high = None
    if half := _HALF.fullmatch(text):
        text, high = half[1], half[2] == "h"
    plain = _plain(text)
    fields = (plain.kind, plain.first, plain.count, plain.value, plain.name)
    return Operand(*fields, negate, absolute, high)


def _plain(text: str) -> Operand:
    if found := _REGISTER.fullmatch(text):
        return _register(found)
    if text in _NAMED:
        return _NAMED[text]
    if re.fullmatch(r"-?0x[0-9a-fA-F]+", text):
        return Operand("literal", value=int(text, 16))
    if re.fullmatch(r"-?\d+", text):
        return Operand("integer", value=int(text))
    if re.fullmatch(r"-?\d*\.\d*(e[+-]?\d+)?", text):
        return Operand("float", value=float(text))
    return Operand("name", name=text)


def _register(found: re.Match[str]) -> Operand:
    bank, single, first, last = found.groups()
    start = int(single or first)
    count = int(last) - start + 1 if last else 1
    match bank:
        case "ttmp":
            return Operand("s", TTMP + start, count)
        case "v":
            return Operand("v", start, count)
        case "a":
            return Operand("a", start, count)
        case _:
            return Operand("s", start, count)


_FLOATS: dict[str, tuple[type[np.floating], type[np.unsignedinteger]]] = {
    "f16": (np.float16, np.uint16),
    "f64": (np.float64, np.uint64),
    "u64": (np.float64, np.uint64),
    "i64": (np.float64, np.uint64),
}


def constant_bits(operand: Operand, kind: str) -> int:
    """The bits of a constant where a value of ``kind`` (``f32``, ``u64``, ...) is read.

    A 32-bit literal is the upper half of an f64 operand and is sign-extended for an i64 one; an
    inline integer is sign-extended. Source: CDNA3 guide, "Constants" and "Literal constants".
    """
    width = 64 if kind.endswith("64") else 32
    mask = (1 << width) - 1
    if operand.kind == "float":
        if kind == "bf16":
            return int(np.float32(operand.value).view(np.uint32)) >> 16
        real, bits = _FLOATS.get(kind, (np.float32, np.uint32))
        return int(np.array(real(operand.value)).view(bits))
    value = operand.integer()
    if operand.kind == "literal" and kind == "f64":
        return (value & 0xFFFFFFFF) << 32
    if operand.kind == "literal" and kind == "i64" and value >> 31 == 1:
        value -= 1 << 32
    return value & mask
