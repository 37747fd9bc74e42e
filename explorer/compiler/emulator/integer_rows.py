"""Rows of integer and bit arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.rows import Binary, Table, add

Array = NDArray[Any]

INTEGER: Table = {}


def _reversed(function: Binary) -> Binary:
    return lambda a, b: function(b, a)


def shift_left(value: Array, count: Array) -> Array:
    """Shift by the low bits of ``count`` that the width of ``value`` needs."""
    return value << _count(value, count)


def shift_right(value: Array, count: Array) -> Array:
    """Shift right, with the sign for signed kinds."""
    return value >> _count(value, count)


def _count(value: Array, count: Array) -> Array:
    limit = value.dtype.itemsize * 8 - 1
    return (count & count.dtype.type(limit)).astype(value.dtype)


def high_product(a: Array, b: Array) -> Array:
    """Upper 32 bits of a 64-bit product of two 32-bit numbers."""
    wide = np.int64 if a.dtype.kind == "i" else np.uint64
    return (a.astype(wide) * b.astype(wide)) >> wide(32)


def _low24(a: Array) -> Array:
    """The low 24 bits, with their sign for signed kinds."""
    shift = a.dtype.type(8)
    return (a << shift) >> shift


def field_unsigned(value: Array, offset: Array, width: Array) -> Array:
    """``width`` bits from bit ``offset`` on."""
    keep = (np.uint64(1) << (width & np.uint32(31)).astype(np.uint64)) - np.uint64(1)
    return (value >> (offset & np.uint32(31))) & keep.astype(np.uint32)


def field_signed(value: Array, offset: Array, width: Array) -> Array:
    """``field_unsigned`` with the sign of its highest bit."""
    bits = (width & np.uint32(31)).astype(np.int64)
    field = field_unsigned(value.view(np.uint32), offset, width).astype(np.int64)
    sign = np.where(bits > 0, np.int64(1) << np.maximum(bits - 1, 0), 0)
    return (field ^ sign) - sign


def bits_set(a: Array) -> Array:
    """How many bits are set."""
    return np.bitwise_count(a).astype(np.uint32)


def reverse_bits(a: Array) -> Array:
    """Lowest bit first."""
    raw = np.ascontiguousarray(a)[..., None].view(np.uint8)
    flipped = np.unpackbits(raw, axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(flipped, axis=-1, bitorder="little").view(np.uint32)[..., 0]


def leading_zeros(a: Array) -> Array:
    """Zeros before the highest set bit; all ones for 0."""
    exponent = np.frexp(a.astype(np.float64))[1]
    return np.where(a == 0, -1, 32 - exponent).astype(np.int32).view(np.uint32)


def trailing_zeros(a: Array) -> Array:
    """Zeros after the lowest set bit; all ones for 0."""
    lowest = a & (~a + np.uint32(1))
    return np.where(a == 0, np.uint32(0xFFFFFFFF), np.uint32(31) - leading_zeros(lowest))


def choose_bytes(high: Array, low: Array, selector: Array) -> Array:
    """V_PERM_B32: each byte of the result is chosen among eight, or a constant, or a sign."""
    both = (high.astype(np.uint64) << np.uint64(32)) | low
    result = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint32)
    for i in range(4):
        code = (selector >> np.uint32(8 * i)) & np.uint32(0xFF)
        result |= _chosen_byte(both, code.astype(np.uint64)) << np.uint32(8 * i)
    return result


def _chosen_byte(both: Array, code: Array) -> Array:
    index = np.minimum(code, np.uint64(7))
    plain = (both >> (index * np.uint64(8))) & np.uint64(0xFF)
    sign_of = np.clip(code.astype(np.int64) - 8, 0, 3).astype(np.uint64) * np.uint64(16)
    sign = ((both >> (sign_of + np.uint64(15))) & np.uint64(1)) * np.uint64(0xFF)
    conditions = [code < 8, code < 12, code == 12]
    return np.select(conditions, [plain, sign, np.uint64(0)], np.uint64(0xFF)).astype(np.uint32)


def _align_bits(high: Array, low: Array, count: Array) -> Array:
    both = (high.astype(np.uint64) << np.uint64(32)) | low
    return both >> (count & np.uint32(31)).astype(np.uint64)


def _median(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _pack(low: Array, high: Array) -> Array:
    return low.astype(np.uint32) | (high.astype(np.uint32) << np.uint32(16))


def _same(a: Array) -> Array:
    return a


_U32, _U16 = "u32 <- u32 u32", "u16 <- u16 u16"
_U32_3 = "u32 <- u32 u32 u32"

for _width in ("u16", "i16", "u32", "i32"):
    _two, _triple = f"{_width} <- {_width} {_width}", f"{_width} <- {_width} {_width} {_width}"
    add(INTEGER, f"v_add_{_width} v_add_nc_{_width}", _two, np.add)
    add(INTEGER, f"v_sub_{_width} v_sub_nc_{_width}", _two, np.subtract)
    add(INTEGER, f"v_subrev_{_width} v_subrev_nc_{_width}", _two, _reversed(np.subtract))
    add(INTEGER, f"v_max_{_width}", _two, np.maximum)
    add(INTEGER, f"v_min_{_width}", _two, np.minimum)
    add(INTEGER, f"v_max3_{_width}", _triple, lambda a, b, c: np.maximum(np.maximum(a, b), c))
    add(INTEGER, f"v_min3_{_width}", _triple, lambda a, b, c: np.minimum(np.minimum(a, b), c))
    add(INTEGER, f"v_maxmin_{_width}", _triple, lambda a, b, c: np.minimum(np.maximum(a, b), c))
    add(INTEGER, f"v_minmax_{_width}", _triple, lambda a, b, c: np.maximum(np.minimum(a, b), c))
    add(INTEGER, f"v_med3_{_width}", _triple, _median)

for _bits in ("16", "32", "64"):
    _shift = f"u{_bits} <- {'u16' if _bits == '16' else 'u32'} u{_bits}"
    add(INTEGER, f"v_lshlrev_b{_bits}", _shift, _reversed(shift_left))
    add(INTEGER, f"v_lshrrev_b{_bits}", _shift, _reversed(shift_right))
    add(
        INTEGER,
        f"v_ashrrev_i{_bits}",
        _shift.replace(f"u{_bits}", f"i{_bits}"),
        _reversed(shift_right),
    )
    add(INTEGER, f"v_mov_b{_bits}", f"u{_bits} <- u{_bits}", _same)

for _bits in ("16", "32"):
    _two = f"u{_bits} <- u{_bits} u{_bits}"
    add(INTEGER, f"v_and_b{_bits}", _two, np.bitwise_and)
    add(INTEGER, f"v_or_b{_bits}", _two, np.bitwise_or)
    add(INTEGER, f"v_xor_b{_bits}", _two, np.bitwise_xor)
    add(INTEGER, f"v_not_b{_bits}", f"u{_bits} <- u{_bits}", np.invert)

add(INTEGER, "v_xnor_b32", _U32, lambda a, b: ~(a ^ b))
add(INTEGER, "v_add3_u32", _U32_3, lambda a, b, c: a + b + c)
add(INTEGER, "v_lshl_add_u32", _U32_3, lambda a, b, c: shift_left(a, b) + c)
add(INTEGER, "v_add_lshl_u32", _U32_3, lambda a, b, c: shift_left(a + b, c))
add(INTEGER, "v_lshl_or_b32", _U32_3, lambda a, b, c: shift_left(a, b) | c)
add(INTEGER, "v_and_or_b32", _U32_3, lambda a, b, c: (a & b) | c)
add(INTEGER, "v_or3_b32", _U32_3, lambda a, b, c: a | b | c)
add(INTEGER, "v_xor3_b32", _U32_3, lambda a, b, c: a ^ b ^ c)
add(INTEGER, "v_xad_u32", _U32_3, lambda a, b, c: (a ^ b) + c)
add(INTEGER, "v_bfi_b32", _U32_3, lambda a, b, c: (a & b) | (~a & c))
add(
    INTEGER,
    "v_lshl_add_u64",
    "u64 <- u64 u32 u64",
    lambda a, b, c: (a << (b & np.uint32(7)).astype(np.uint64)) + c,
)
add(INTEGER, "v_add_nc_u64", "u64 <- u64 u64", np.add)
add(INTEGER, "v_sub_nc_u64", "u64 <- u64 u64", np.subtract)
add(INTEGER, "v_mul_lo_u32", _U32, np.multiply)
add(INTEGER, "v_mul_hi_u32", _U32, high_product)
add(INTEGER, "v_mul_hi_i32", "i32 <- i32 i32", high_product)
add(INTEGER, "v_mul_u32_u24", _U32, lambda a, b: _low24(a) * _low24(b))
add(INTEGER, "v_mul_i32_i24", "i32 <- i32 i32", lambda a, b: _low24(a) * _low24(b))
add(INTEGER, "v_mul_hi_u32_u24", _U32, lambda a, b: high_product(_low24(a), _low24(b)))
add(INTEGER, "v_mul_hi_i32_i24", "i32 <- i32 i32", lambda a, b: high_product(_low24(a), _low24(b)))
add(INTEGER, "v_mad_u32_u24", _U32_3, lambda a, b, c: _low24(a) * _low24(b) + c)
add(INTEGER, "v_mad_i32_i24", "i32 <- i32 i32 i32", lambda a, b, c: _low24(a) * _low24(b) + c)
add(INTEGER, "v_mul_lo_u16", _U16, np.multiply)
add(INTEGER, "v_mad_u16", "u16 <- u16 u16 u16", lambda a, b, c: a * b + c)
add(INTEGER, "v_mad_i16", "i16 <- i16 i16 i16", lambda a, b, c: a * b + c)
add(INTEGER, "v_mad_u32_u16", "u32 <- u16 u16 u32", lambda a, b, c: a.astype(np.uint32) * b + c)
add(INTEGER, "v_mad_i32_i16", "i32 <- i16 i16 i32", lambda a, b, c: a.astype(np.int32) * b + c)
add(INTEGER, "v_bfe_u32", _U32_3, field_unsigned)
add(INTEGER, "v_bfe_i32", "i32 <- i32 u32 u32", field_signed)
add(
    INTEGER,
    "v_bfm_b32",
    _U32,
    lambda a, b: shift_left(shift_left(a * 0 + np.uint32(1), a) - np.uint32(1), b),
)
add(INTEGER, "v_perm_b32", _U32_3, choose_bytes)
add(INTEGER, "v_alignbit_b32", _U32_3, _align_bits)
add(
    INTEGER,
    "v_alignbyte_b32",
    _U32_3,
    lambda a, b, c: _align_bits(a, b, (c & np.uint32(3)) * np.uint32(8)),
)
add(INTEGER, "v_bcnt_u32_b32", _U32, lambda a, b: bits_set(a) + b)
add(INTEGER, "v_bfrev_b32", "u32 <- u32", reverse_bits)
add(INTEGER, "v_ffbh_u32 v_clz_i32_u32", "u32 <- u32", leading_zeros)
add(INTEGER, "v_ffbl_b32 v_ctz_i32_b32", "u32 <- u32", trailing_zeros)
add(INTEGER, "v_pack_b32_f16", "u32 <- u16 u16", _pack)
