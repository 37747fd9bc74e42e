"""The kernel language's types and symbols, used as ``tkl``."""

from __future__ import annotations

from explorer.compiler.lang.dtypes import DType
from explorer.compiler.lang.symbols import sym
from explorer.compiler.lang.types import AddressSpace, Memory, Register

GLOBAL_ADDRESS_SPACE = AddressSpace.GLOBAL
SHARED_ADDRESS_SPACE = AddressSpace.SHARED

f64, f32, f16, bf16 = DType.F64, DType.F32, DType.F16, DType.BF16
f8e4m3fn, f8e4m3fnuz = DType.F8E4M3FN, DType.F8E4M3FNUZ
i64, i32, i16, i8, i1 = DType.I64, DType.I32, DType.I16, DType.I8, DType.I1

__all__ = [
    "GLOBAL_ADDRESS_SPACE",
    "SHARED_ADDRESS_SPACE",
    "Memory",
    "Register",
    "bf16",
    "f8e4m3fn",
    "f8e4m3fnuz",
    "f16",
    "f32",
    "f64",
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "sym",
]
