"""Rows of float arithmetic: f32, f16 and f64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.rounding import (
    fma16,
    fma32,
    fma64,
    maximum,
    maximum_nan,
    minimum,
    minimum_nan,
)
from explorer.compiler.emulator.rows import Binary, Table, Ternary, Unary, add

Array = NDArray[Any]

FLOAT: Table = {}


def _reversed(function: Binary) -> Binary:
    return lambda a, b: function(b, a)


def _three(function: Binary) -> Ternary:
    return lambda a, b, c: function(function(a, b), c)


def _then(first: Binary, second: Binary) -> Ternary:
    return lambda a, b, c: second(first(a, b), c)


def _median(a: Array, b: Array, c: Array) -> Array:
    """The middle of three; the smallest where one is NaN."""
    middle = maximum(minimum(a, b), minimum(maximum(a, b), c))
    smallest = minimum(minimum(a, b), c)
    return np.where(np.isnan(a) | np.isnan(b) | np.isnan(c), smallest, middle)


def _wide(function: Unary) -> Unary:
    """``function`` in float64, rounded to the type of its operand.

    Hardware is off by up to an ulp in ways that no guide describes; this is not.
    """
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


def _reciprocal(a: Array) -> Array:
    return 1 / a


def _rsqrt(a: Array) -> Array:
    return 1 / np.sqrt(a)


def _turns_sin(a: Array) -> Array:
    return np.sin(a * 2 * np.pi)


def _turns_cos(a: Array) -> Array:
    return np.cos(a * 2 * np.pi)


def _fraction(a: Array) -> Array:
    return a - np.floor(a)


def _scale(a: Array, exponent: Array) -> Array:
    return np.ldexp(a.astype(np.float64), exponent.astype(np.int32))


def _fraction_part(a: Array) -> Array:
    return np.where(np.isfinite(a), np.frexp(a)[0], a)


def _exponent_part(a: Array) -> Array:
    return np.where(np.isfinite(a), np.frexp(a)[1], 0)


def _multiply_then_add(a: Array, b: Array, c: Array) -> Array:
    """Rounded twice."""
    return a * b + c


def _legacy_multiply(a: Array, b: Array) -> Array:
    """Zero times anything is zero."""
    return np.where((a == 0) | (b == 0), np.float32(0), a * b)


_FMA = {"f16": fma16, "f32": fma32, "f64": fma64}

for _kind, _fma in _FMA.items():
    _two, _triple = f"{_kind} <- {_kind} {_kind}", f"{_kind} <- {_kind} {_kind} {_kind}"
    _one = f"{_kind} <- {_kind}"
    add(FLOAT, f"v_add_{_kind}", _two, np.add)
    add(FLOAT, f"v_sub_{_kind}", _two, np.subtract)
    add(FLOAT, f"v_subrev_{_kind}", _two, _reversed(np.subtract))
    add(FLOAT, f"v_mul_{_kind}", _two, np.multiply)
    add(FLOAT, f"v_max_{_kind} v_max_num_{_kind}", _two, maximum)
    add(FLOAT, f"v_min_{_kind} v_min_num_{_kind}", _two, minimum)
    add(FLOAT, f"v_maximum_{_kind}", _two, maximum_nan)
    add(FLOAT, f"v_minimum_{_kind}", _two, minimum_nan)
    add(FLOAT, f"v_max3_{_kind} v_max3_num_{_kind}", _triple, _three(maximum))
    add(FLOAT, f"v_min3_{_kind} v_min3_num_{_kind}", _triple, _three(minimum))
    add(FLOAT, f"v_maximum3_{_kind}", _triple, _three(maximum_nan))
    add(FLOAT, f"v_minimum3_{_kind}", _triple, _three(minimum_nan))
    add(FLOAT, f"v_maxmin_{_kind} v_maxmin_num_{_kind}", _triple, _then(maximum, minimum))
    add(FLOAT, f"v_minmax_{_kind} v_minmax_num_{_kind}", _triple, _then(minimum, maximum))
    add(FLOAT, f"v_maximumminimum_{_kind}", _triple, _then(maximum_nan, minimum_nan))
    add(FLOAT, f"v_minimummaximum_{_kind}", _triple, _then(minimum_nan, maximum_nan))
    add(FLOAT, f"v_med3_{_kind} v_med3_num_{_kind}", _triple, _median)
    add(FLOAT, f"v_fma_{_kind} v_fmamk_{_kind} v_fmaak_{_kind}", _triple, _fma)
    add(FLOAT, f"v_fmac_{_kind}", f"{_two} =", _fma)
    add(FLOAT, f"v_rcp_{_kind} v_rcp_iflag_{_kind}", _one, _wide(_reciprocal))
    add(FLOAT, f"v_rsq_{_kind}", _one, _wide(_rsqrt))
    add(FLOAT, f"v_sqrt_{_kind}", _one, np.sqrt)
    add(FLOAT, f"v_rndne_{_kind}", _one, np.rint)
    add(FLOAT, f"v_floor_{_kind}", _one, np.floor)
    add(FLOAT, f"v_ceil_{_kind}", _one, np.ceil)
    add(FLOAT, f"v_trunc_{_kind}", _one, np.trunc)
    add(FLOAT, f"v_fract_{_kind}", _one, _fraction)
    add(FLOAT, f"v_frexp_mant_{_kind}", _one, _fraction_part)

for _kind in ("f16", "f32"):
    _one = f"{_kind} <- {_kind}"
    add(FLOAT, f"v_exp_{_kind}", _one, _wide(np.exp2))
    add(FLOAT, f"v_log_{_kind}", _one, _wide(np.log2))
    add(FLOAT, f"v_sin_{_kind}", _one, _wide(_turns_sin))
    add(FLOAT, f"v_cos_{_kind}", _one, _wide(_turns_cos))

add(FLOAT, "v_mad_f32 v_madmk_f32 v_madak_f32", "f32 <- f32 f32 f32", _multiply_then_add)
add(FLOAT, "v_mac_f32", "f32 <- f32 f32 =", _multiply_then_add)
add(FLOAT, "v_mul_legacy_f32 v_mul_dx9_zero_f32", "f32 <- f32 f32", _legacy_multiply)
add(FLOAT, "v_ldexp_f16", "f16 <- f16 i16", _scale)
add(FLOAT, "v_ldexp_f32", "f32 <- f32 i32", _scale)
add(FLOAT, "v_ldexp_f64", "f64 <- f64 i32", _scale)
add(FLOAT, "v_frexp_exp_i32_f32", "i32 <- f32", _exponent_part)
add(FLOAT, "v_frexp_exp_i32_f64", "i32 <- f64", _exponent_part)
add(FLOAT, "v_frexp_exp_i16_f16", "i16 <- f16", _exponent_part)
