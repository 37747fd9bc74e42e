"""Vector instructions, family by family, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.snippets import each_lane
from explorer.compiler.emulator.errors import UnknownInstruction

Array = NDArray[Any]

LANE = np.arange(64)
VCC = np.array([0x5555AAAA, 0x0F0F0F0F], np.uint32)
IN_VCC = np.unpackbits(VCC.view(np.uint8), bitorder="little").astype(bool)

SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-40, 3e38, -3e38]


def floats(seed: int) -> Array:
    """float32 [lane]: special values, then random ones."""
    rng = np.random.default_rng(seed)
    mixed = rng.permutation(np.array(SPECIAL, np.float32))
    return np.concatenate([mixed, rng.standard_normal(64 - len(mixed)).astype(np.float32) * 10])


def integers(seed: int) -> Array:
    """uint32 [lane]: all sizes."""
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 2**32, 64) >> rng.integers(0, 32, 64)).astype(np.uint32)


def bits(x: Array) -> Array:
    """float32 as uint32."""
    return np.ascontiguousarray(x).view(np.uint32)


F32: dict[str, Callable[..., Array]] = {
    "v_add_f32_e32 v20, v10, v11": lambda a, b: a + b,
    "v_sub_f32_e32 v20, v10, v11": lambda a, b: a - b,
    "v_subrev_f32_e32 v20, v10, v11": lambda a, b: b - a,
    "v_mul_f32_e64 v20, v10, -|v11|": lambda a, b: a * -np.abs(b),
    "v_add_f32_e64 v20, v10, v11 mul:2": lambda a, b: (a + b) * np.float32(2),
    "v_rndne_f32_e32 v20, v10": np.rint,
    "v_floor_f32_e32 v20, v10": np.floor,
    "v_ceil_f32_e32 v20, v10": np.ceil,
    "v_trunc_f32_e32 v20, v10": np.trunc,
    "v_sqrt_f32_e32 v20, v10": np.sqrt,
    "v_exp_f32_e32 v20, v10": lambda a: np.exp2(a.astype(np.float64)).astype(np.float32),
    "v_log_f32_e32 v20, v10": lambda a: np.log2(a.astype(np.float64)).astype(np.float32),
    "v_rcp_f32_e32 v20, v10": lambda a: 1 / a,
    "v_mov_b32_e32 v20, v11": lambda _, b: b,
    "v_cndmask_b32_e32 v20, v10, v11, vcc": lambda a, b: np.where(IN_VCC, b, a),
}


@pytest.mark.parametrize("instruction", F32)
def test_float_arithmetic(instruction: str) -> None:
    a, b = floats(1), floats(2)
    function = F32[instruction]
    count = function.nin if isinstance(function, np.ufunc) else function.__code__.co_argcount
    with np.errstate(all="ignore"):
        want = function(*(a, b)[:count])
    found = each_lane(instruction, [bits(a), bits(b)])[0].view(np.float32)
    np.testing.assert_array_equal(found, want)


def test_clamp_holds_between_zero_and_one() -> None:
    found = each_lane("v_add_f32_e64 v20, v10, 0 clamp", [bits(floats(1))])[0].view(np.float32)
    want = np.clip(np.nan_to_num(floats(1), nan=0, posinf=1, neginf=0), 0, 1)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize(
    ("instruction", "a", "b", "want"),
    [
        ("v_max_f32_e32", np.nan, 1.0, 1.0),
        ("v_max_f32_e32", -np.inf, np.nan, -np.inf),
        ("v_max_f32_e32", -0.0, 0.0, 0.0),
        ("v_max_f32_e32", 0.0, -0.0, 0.0),
        ("v_min_f32_e32", 0.0, -0.0, -0.0),
        ("v_min_f32_e32", np.nan, 1.0, 1.0),
        ("v_maximum_f32", np.nan, 1.0, np.nan),
        ("v_minimum_f32", 1.0, np.nan, np.nan),
    ],
)
def test_maxima_of_nan_and_zeros(instruction: str, a: float, b: float, want: float) -> None:
    given = [bits(np.full(64, x, np.float32)) for x in (a, b)]
    found = each_lane(f"{instruction} v20, v10, v11", given)[0]
    if np.isnan(want):
        assert np.isnan(found.view(np.float32)).all()
    else:
        assert (found == np.float32(want).view(np.uint32)).all()


def test_a_product_and_sum_are_rounded_once() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(64).astype(np.float32) for _ in range(2))
    c = (-a.astype(np.float64) * b).astype(np.float32)
    c[::2] *= np.float32(1 + 2**-20)
    found = each_lane("v_fma_f32 v20, v10, v11, v12", [bits(x) for x in (a, b, c)])[0]
    want = (a.astype(np.longdouble) * b + c).astype(np.float32)
    np.testing.assert_array_equal(found.view(np.float32), want)


def test_a_halfway_sum_is_not_rounded_twice() -> None:
    # 1 + 2^-24 lies halfway between two float32; the product's last bit decides.
    a, b, c = np.float32(2**-24 * (1 + 2**-23)), np.float32(1 + 2**-23), np.float32(1)
    given = [bits(np.full(64, x, np.float32)) for x in (a, b, c)]
    found = each_lane("v_fma_f32 v20, v10, v11, v12", given)[0].view(np.float32)
    assert (found == np.float32(1 + 2**-23)).all()


U32: dict[str, Callable[..., Any]] = {
    "v_add_u32_e32 v20, v10, v11": lambda a, b, c: a + b,
    "v_sub_u32_e32 v20, v10, v11": lambda a, b, c: a - b,
    "v_mul_lo_u32 v20, v10, v11": lambda a, b, c: a * b,
    "v_mul_hi_u32 v20, v10, v11": lambda a, b, c: (a * b) >> 32,
    "v_mul_u32_u24_e32 v20, v10, v11": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "v_lshlrev_b32_e32 v20, v10, v11": lambda a, b, c: b << (a & 31),
    "v_lshrrev_b32_e32 v20, v10, v11": lambda a, b, c: b >> (a & 31),
    "v_ashrrev_i32_e32 v20, v10, v11": lambda a, b, c: (b - (b >> 31 << 32)) >> (a & 31),
    "v_lshl_add_u32 v20, v10, v11, v12": lambda a, b, c: (a << (b & 31)) + c,
    "v_add_lshl_u32 v20, v10, v11, v12": lambda a, b, c: (a + b) << (c & 31),
    "v_lshl_or_b32 v20, v10, v11, v12": lambda a, b, c: a << (b & 31) | c,
    "v_and_or_b32 v20, v10, v11, v12": lambda a, b, c: a & b | c,
    "v_add3_u32 v20, v10, v11, v12": lambda a, b, c: a + b + c,
    "v_or3_b32 v20, v10, v11, v12": lambda a, b, c: a | b | c,
    "v_xad_u32 v20, v10, v11, v12": lambda a, b, c: (a ^ b) + c,
    "v_bfi_b32 v20, v10, v11, v12": lambda a, b, c: a & b | ~a & c,
    "v_bfe_u32 v20, v10, v11, v12": lambda a, b, c: a >> (b & 31) & ((1 << (c & 31)) - 1),
    "v_alignbit_b32 v20, v10, v11, v12": lambda a, b, c: (a << 32 | b) >> (c & 31),
    "v_not_b32_e32 v20, v10": lambda a, b, c: ~a,
    "v_xor_b32_e32 v20, 0x1234567, v10": lambda a, b, c: a ^ 0x1234567,
    "v_max_u32_e32 v20, v10, v11": lambda a, b, c: max(a, b),
    "v_bcnt_u32_b32 v20, v10, v11": lambda a, b, c: a.bit_count() + b,
    "v_ffbh_u32_e32 v20, v10": lambda a, b, c: 32 - a.bit_length() if a else -1,
    "v_ffbl_b32_e32 v20, v10": lambda a, b, c: (a & -a).bit_length() - 1,
    "v_bfrev_b32_e32 v20, v10": lambda a, b, c: int(f"{a:032b}"[::-1], 2),
    "v_mad_u32_u24 v20, v10, v11, v12": lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c,
}


@pytest.mark.parametrize("instruction", U32)
def test_integer_arithmetic(instruction: str) -> None:
    given = [integers(seed) for seed in (1, 2, 3)]
    found = each_lane(instruction, given)[0]
    want = [U32[instruction](*map(int, row)) & 0xFFFFFFFF for row in zip(*given, strict=True)]
    np.testing.assert_array_equal(found, np.array(want, np.uint32))


def test_bytes_are_chosen() -> None:
    given = [np.full(64, x, np.uint32) for x in (0x33221100, 0x77669984, 0x0D0C0804)]
    assert (each_lane("v_perm_b32 v20, v10, v11, v12", given)[0] == 0xFF00FF00).all()


def test_wide_sums_carry() -> None:
    low, high = integers(1), integers(2)
    found = each_lane("v_lshl_add_u64 v[20:21], v[10:11], 1, v[10:11]", [low, high], results=2)
    want = (low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)) * np.uint64(3)
    np.testing.assert_array_equal(found[0], want.astype(np.uint32))
    np.testing.assert_array_equal(found[1], (want >> np.uint64(32)).astype(np.uint32))


def test_a_carry_goes_into_the_next_sum() -> None:
    code = """v_add_co_u32_e32 v20, vcc, v10, v11
        v_addc_co_u32_e32 v21, vcc, 0, v12, vcc"""
    a, b, c = (integers(seed) | np.uint32(1 << 31) * np.uint32(seed < 3) for seed in (1, 2, 3))
    found = each_lane(code, [a, b, c], results=2)
    total = a.astype(np.uint64) + b
    np.testing.assert_array_equal(found[0], total.astype(np.uint32))
    np.testing.assert_array_equal(found[1], c + (total >> np.uint64(32)).astype(np.uint32))


COMPARES = {
    "v_cmp_lt_f32_e32": np.less,
    "v_cmp_ge_f32_e32": np.greater_equal,
    "v_cmp_neq_f32_e32": np.not_equal,
    "v_cmp_nlt_f32_e32": lambda a, b: ~(a < b),
    "v_cmp_lg_f32_e32": lambda a, b: (a < b) | (a > b),
    "v_cmp_o_f32_e32": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "v_cmp_u_f32_e32": lambda a, b: np.isnan(a) | np.isnan(b),
}


@pytest.mark.parametrize("name", COMPARES)
def test_compares(name: str) -> None:
    a, b = floats(1), floats(2)
    code = f"{name} vcc, v10, v11\n v_cndmask_b32_e64 v20, 0, 1, vcc"
    found = each_lane(code, [bits(a), bits(b)])[0]
    np.testing.assert_array_equal(found.astype(bool), COMPARES[name](a, b))


def test_classes_of_floats() -> None:
    classes = 1 << 9 | 1 << 5 | 1 << 7  # +infinity, -0, +subnormal
    x = floats(1)
    code = f"v_mov_b32_e32 v11, {hex(classes)}\n v_cmp_class_f32_e32 vcc, v10, v11\n"
    found = each_lane(code + "v_cndmask_b32_e64 v20, 0, 1, vcc", [bits(x)])[0]
    negative_zero = (x == 0) & np.signbit(x)
    np.testing.assert_array_equal(
        found.astype(bool), (x == np.inf) | negative_zero | (x == np.float32(1e-40))
    )


def test_conversions() -> None:
    x = floats(1)
    with np.errstate(all="ignore"):
        half = x.astype(np.float16)
    found = each_lane("v_cvt_f16_f32_e32 v20, v10", [bits(x)])[0]
    np.testing.assert_array_equal(found.astype(np.uint16).view(np.float16), half)
    whole = each_lane("v_cvt_i32_f32_e32 v20, v10", [bits(x)])[0].view(np.int32)
    limited = np.clip(np.nan_to_num(np.trunc(x.astype(np.float64))), -(2**31), 2**31 - 1)
    np.testing.assert_array_equal(whole, limited.astype(np.int32))
    back = each_lane("v_cvt_f32_u32_e32 v20, v10", [integers(4)])[0].view(np.float32)
    np.testing.assert_array_equal(back, integers(4).astype(np.float32))


def test_packed_halves() -> None:
    a, b = (np.random.default_rng(s).standard_normal((64, 2)).astype(np.float16) for s in (1, 2))
    raw = [x.view(np.uint32)[:, 0] for x in (a, b)]
    found = each_lane("v_pk_add_f16 v20, v10, v11", raw)[0].view(np.float16).reshape(64, 2)
    np.testing.assert_array_equal(found, a + b)
    crossed = each_lane("v_pk_mul_f16 v20, v10, v11 op_sel:[1,0] op_sel_hi:[0,1]", raw)[0]
    np.testing.assert_array_equal(crossed.view(np.float16).reshape(64, 2), a[:, ::-1] * b)


def test_packed_floats_with_one_operand_for_both() -> None:
    a, b, c = floats(1), floats(2), floats(3)
    code = "v_pk_add_f32 v[20:21], v[10:11], v[12:13] op_sel_hi:[1,0]"
    found = each_lane(code, [bits(x) for x in (a, b, c, c)], results=2).view(np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.stack([a + c, b + c]))


def test_dual_instructions_read_before_they_write() -> None:
    code = """v_mov_b32_e32 v20, v10
        v_mov_b32_e32 v21, v11
        v_dual_mov_b32 v20, v21 :: v_dual_mov_b32 v21, v20"""
    a, b = integers(1)[:32], integers(2)[:32]
    found = each_lane(code, [a, b], arch="gfx1100", results=2)
    np.testing.assert_array_equal(found, np.stack([b, a]))


def test_division_of_special_values() -> None:
    a, b = floats(1), floats(2)
    code = """v_div_scale_f32 v30, vcc, v11, v11, v10
        v_rcp_f32_e32 v31, v30
        v_div_scale_f32 v32, vcc, v10, v11, v10
        v_fma_f32 v33, -v30, v31, 1.0
        v_fma_f32 v31, v33, v31, v31
        v_mul_f32_e32 v33, v32, v31
        v_fma_f32 v34, -v30, v33, v32
        v_fma_f32 v33, v34, v31, v33
        v_fma_f32 v30, -v30, v33, v32
        v_div_fmas_f32 v30, v30, v31, v33
        v_div_fixup_f32 v20, v30, v11, v10"""
    found = each_lane(code, [bits(a), bits(b)])[0].view(np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, a / b)


@pytest.mark.parametrize(
    "text",
    ["v_no_such_f32 v20, v10", "v_add_f32_e32 v20, v10", "v_add_u32_e64 v20, v10, v11 clamp"],
)
def test_what_is_not_known_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(UnknownInstruction) as caught:
        each_lane(text, [integers(1), integers(2)])
    assert text in str(caught.value)
