"""Element types."""

from __future__ import annotations

import math
from enum import Enum


class Kind(Enum):
    """What an element is."""

    FLOAT = "float"
    INTEGER = "integer"
    BOOLEAN = "boolean"


_LARGEST = {
    "f64": float.fromhex("0x1.fffffffffffffp+1023"),
    "f32": float.fromhex("0x1.fffffep+127"),
    "f16": 65504.0,
    "bf16": float.fromhex("0x1.fep+127"),
    "f8e4m3fn": 448.0,
    "f8e4m3fnuz": 240.0,
}
"""The largest finite number of each float type."""


class DType(Enum):
    """An element type; the value is its name, as MLIR spells it (f8 types aside)."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    F8E4M3FN = "f8e4m3fn"
    F8E4M3FNUZ = "f8e4m3fnuz"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    I1 = "i1"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.value

    @property
    def kind(self) -> Kind:
        """Float, integer or boolean."""
        if self is DType.I1:
            return Kind.BOOLEAN
        return Kind.INTEGER if self.value.startswith("i") else Kind.FLOAT

    @property
    def is_float(self) -> bool:
        """Whether elements are floating-point numbers."""
        return self.kind is Kind.FLOAT

    @property
    def bits(self) -> int:
        """Bits of one element."""
        match self:
            case DType.F8E4M3FN | DType.F8E4M3FNUZ:
                return 8
            case DType.BF16:
                return 16
            case _:
                return int(self.value[1:])

    def holds(self, value: float) -> bool:
        """Whether the Python number is an element, after rounding for floats."""
        if self.is_float:
            return not math.isfinite(value) or abs(value) <= _LARGEST[self.value]
        if not math.isfinite(value) or value != int(value):
            return False
        half = 1 << (self.bits - 1)
        return value in (0, 1) if self is DType.I1 else -half <= value < half

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory (a boolean takes one)."""
        return max(1, self.bits // 8)
