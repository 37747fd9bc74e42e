"""Float arithmetic that numpy does not have: one rounding for a product and a sum."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_BELOW_F32 = np.uint64((1 << 29) - 1)
"""Bits of a float64 that float32 has no room for."""
_HALFWAY = np.uint64(1 << 28)
_SMALLEST_F32 = 2.0**-126


def fma32(a: Array, b: Array, c: Array) -> Array:
    """Give a * b + c in float32, rounded once.

    The product is exact in float64. The sum is rounded there and again to float32, which is wrong
    only where it fell on, or next to, a halfway point; those few are summed again to odd.
    """
    product = a.astype(np.float64) * b
    total = product + c
    bits = total.view(np.uint64)
    doubtful = ((bits & _BELOW_F32) == _HALFWAY) | (np.abs(total) < _SMALLEST_F32)
    if doubtful.any():
        total = np.where(doubtful, to_odd(product, c.astype(np.float64)), total)
    return total.astype(np.float32)


def to_odd(a: Array, b: Array) -> Array:
    """Give a + b in float64, where an inexact sum becomes the neighbour with an odd last bit.

    Rounding such a sum again to fewer bits gives the same as rounding the exact one.
    Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
    using rounding to odd".
    """
    total, error = two_sum(a, b)
    bits = np.ascontiguousarray(total).view(np.int64)
    even_and_inexact = ((error > 0) | (error < 0)) & ((bits & 1) == 0)
    away = (error > 0) == (total > 0)
    moved = bits + np.where(away, 1, -1)
    return np.where(even_and_inexact, moved, bits).view(np.float64)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """A float sum and the error of its rounding. Source: Knuth."""
    total = a + b
    from_b = total - a
    return total, (a - (total - from_b)) + (b - from_b)


def fma64(a: Array, b: Array, c: Array) -> Array:
    """Give a * b + c in float64, the product exact; off by an ulp in rare halfway cases."""
    product = a * b
    error = _product_error(a, b, product)
    total, lost = two_sum(product, c)
    better = total + (lost + error)
    return np.where(np.isfinite(better), better, product + c)


def _product_error(a: Array, b: Array, product: Array) -> Array:
    """What rounding a * b lost. Source: Dekker, Veltkamp."""
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(x: Array) -> tuple[Array, Array]:
    scaled = x * 134217729.0  # 2^27 + 1
    high = scaled - (scaled - x)
    return high, x - high


def fma16(a: Array, b: Array, c: Array) -> Array:
    """Give a * b + c in float16, rounded once: float64 holds the product and the sum."""
    return (a.astype(np.float64) * b.astype(np.float64) + c).astype(np.float16)


def toward_zero_16(x: Array) -> Array:
    """From float32 to float16, cut off."""
    near = x.astype(np.float16)
    too_far = np.abs(near.astype(np.float32)) > np.abs(x)
    return (near.view(np.uint16) - too_far.astype(np.uint16)).view(np.float16)


def bf16_bits(x: Array) -> Array:
    """From float32 to bfloat16, to nearest even, as uint32; NaN stays NaN."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    near = (bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)
    return np.where(np.isnan(x), (bits >> np.uint32(16)) | np.uint32(0x40), near)


def maximum(a: Array, b: Array) -> Array:
    """The larger; a number rather than NaN; +0 rather than -0."""
    found = np.fmax(a, b)
    zeros = (found == 0) & (a == b)
    # -0 == +0, and only the sum of two -0 is -0.
    return np.where(zeros, a + b, found) if zeros.any() else found


def minimum(a: Array, b: Array) -> Array:
    """The smaller; a number rather than NaN; -0 rather than +0."""
    return -maximum(-a, -b)


def maximum_nan(a: Array, b: Array) -> Array:
    """The larger; NaN where one is NaN."""
    return np.where(np.isnan(a) | np.isnan(b), a + b, maximum(a, b))


def minimum_nan(a: Array, b: Array) -> Array:
    """The smaller; NaN where one is NaN."""
    return -maximum_nan(-a, -b)
