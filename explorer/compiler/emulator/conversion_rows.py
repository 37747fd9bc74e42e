"""Rows of conversions between kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.rounding import bf16_bits, toward_zero_16
from explorer.compiler.emulator.rows import OfOperands, Table, add

Array = NDArray[Any]

CONVERSION: Table = {}


def _to(dtype: type[np.generic]) -> OfOperands:
    return lambda a: a.astype(dtype)


def to_integer(dtype: type[np.integer]) -> OfOperands:
    """Cut off, held within the range; NaN gives 0."""
    range_ = np.iinfo(dtype)

    def convert(a: Array) -> Array:
        whole = np.clip(np.trunc(a.astype(np.float64)), range_.min, range_.max)
        return np.where(np.isnan(whole), 0, whole).astype(dtype)

    return convert


def _halves(low: Array, high: Array) -> Array:
    """Two 16-bit arrays as one of 32 bits."""
    bits = (np.ascontiguousarray(part).view(np.uint16).astype(np.uint32) for part in (low, high))
    first, second = bits
    return first | (second << np.uint32(16))


def pack_toward_zero(a: Array, b: Array) -> Array:
    """Two float32 cut to float16, in one register."""
    return _halves(toward_zero_16(a), toward_zero_16(b))


def pack_nearest(a: Array, b: Array) -> Array:
    """Two float32 rounded to float16, in one register."""
    return _halves(a.astype(np.float16), b.astype(np.float16))


def pack_bf16(a: Array, b: Array) -> Array:
    """Two float32 rounded to bfloat16, in one register."""
    return bf16_bits(a) | (bf16_bits(b) << np.uint32(16))


def _byte(index: int) -> OfOperands:
    return lambda a: ((a >> np.uint32(8 * index)) & np.uint32(0xFF)).astype(np.float32)


def _pack_clamped(dtype: type[np.integer]) -> OfOperands:
    """Two 32-bit integers held within 16 bits, in one register."""
    limits = np.iinfo(dtype)
    return lambda a, b: _halves(
        np.clip(a, limits.min, limits.max).astype(dtype),
        np.clip(b, limits.min, limits.max).astype(dtype),
    )


_FLOATS: dict[str, type[np.floating]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_INTEGERS: dict[str, type[np.integer]] = {
    "u16": np.uint16,
    "i16": np.int16,
    "u32": np.uint32,
    "i32": np.int32,
}
_FLOAT_PAIRS = (("f16", "f32"), ("f32", "f16"), ("f64", "f32"), ("f32", "f64"))
_MIXED_PAIRS = (
    ("f32", "u32"),
    ("f32", "i32"),
    ("f64", "u32"),
    ("f64", "i32"),
    ("f16", "u16"),
    ("f16", "i16"),
)

for _to_kind, _from in _FLOAT_PAIRS:
    add(CONVERSION, f"v_cvt_{_to_kind}_{_from}", f"{_to_kind} <- {_from}", _to(_FLOATS[_to_kind]))
for _float, _integer in _MIXED_PAIRS:
    add(CONVERSION, f"v_cvt_{_float}_{_integer}", f"{_float} <- {_integer}", _to(_FLOATS[_float]))
    add(
        CONVERSION,
        f"v_cvt_{_integer}_{_float}",
        f"{_integer} <- {_float}",
        to_integer(_INTEGERS[_integer]),
    )
for _index in range(4):
    add(CONVERSION, f"v_cvt_f32_ubyte{_index}", "f32 <- u32", _byte(_index))

add(CONVERSION, "v_cvt_u32_u16", "u32 <- u16", _to(np.uint32))
add(CONVERSION, "v_cvt_i32_i16", "i32 <- i16", _to(np.int32))
add(CONVERSION, "v_cvt_f32_bf16", "f32 <- bf16", _to(np.float32))
add(CONVERSION, "v_cvt_pkrtz_f16_f32 v_cvt_pk_rtz_f16_f32", "u32 <- f32 f32", pack_toward_zero)
add(CONVERSION, "v_cvt_pk_f16_f32", "u32 <- f32 f32", pack_nearest)
add(CONVERSION, "v_cvt_pk_bf16_f32", "u32 <- f32 f32", pack_bf16)
add(CONVERSION, "v_cvt_pk_i16_i32", "u32 <- i32 i32", _pack_clamped(np.int16))
add(CONVERSION, "v_cvt_pk_u16_u32", "u32 <- u32 u32", _pack_clamped(np.uint16))
