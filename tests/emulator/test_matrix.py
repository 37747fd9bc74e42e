"""Matrix instructions against numpy, with the layouts of the instruction guides written out."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.snippets import execute
from explorer.compiler.emulator.matrix import small_floats

Array = NDArray[Any]


def multiply(code: str, a: Array, b: Array, c: Array, *, arch: str) -> Array:
    """Run one matrix instruction on what each lane holds of A, B and C.

    Args:
        code: takes A from v[10:], B from v[20:], C from v[30:] and leaves D there.
        a: uint32 [lane, register].
        b: the same.
        c: uint32 [lane, register], small enough for 16 registers.
        arch: the processor.
    """
    word = "dword" if arch.startswith("gfx9") else "b32"
    parts = [(10, a), (20, b), (30, c)]
    given = np.ascontiguousarray(np.concatenate([x for _, x in parts], axis=1))
    width, out = given.shape[1], np.zeros_like(c)
    registers = [first + i for first, x in parts for i in range(x.shape[1])]
    loads = "\n".join(
        f"global_load_{word} v{r}, v1, s[4:5] offset:{4 * i}" for i, r in enumerate(registers)
    )
    stores = "\n".join(
        f"global_store_{word} v2, v{30 + i}, s[6:7] offset:{4 * i}" for i in range(c.shape[1])
    )
    execute(
        f"""s_load_b128 s[4:7], s[0:1], 0x0
        v_mul_u32_u24_e32 v1, {4 * width}, v0
        v_mul_u32_u24_e32 v2, {4 * c.shape[1]}, v0
        {loads}
        {code}
        {stores}""",
        given,
        out,
        arch=arch,
    )
    return out


def normal(shape: tuple[int, ...], dtype: Any, seed: int) -> Array:
    """Random numbers of a type."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def words(x: Array) -> Array:
    """[lane, element] as uint32 [lane, register]."""
    return np.ascontiguousarray(x).view(np.uint32)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["f16", "bf16"])
def test_mfma_16x16x16(dtype: Any) -> None:
    a, b, c = (
        normal((16, 16), dtype, 1),
        normal((16, 16), dtype, 2),
        normal((16, 16), np.float32, 3),
    )
    lane, i = np.arange(64)[:, None], np.arange(4)[None, :]
    depth, row = 4 * (lane // 16) + i, 4 * (lane // 16) + i
    suffix = "f16" if dtype is np.float16 else "bf16_1k"
    found = multiply(
        f"v_mfma_f32_16x16x16_{suffix} v[30:33], v[10:11], v[20:21], v[30:33]",
        words(a[lane % 16, depth]),
        words(b[depth, lane % 16]),
        words(c[row, lane % 16]),
        arch="gfx942",
    ).view(np.float32)
    want = a.astype(np.float64) @ b.astype(np.float64) + c
    np.testing.assert_allclose(found, want[row, lane % 16], rtol=1e-6, atol=1e-6)


def test_mfma_32x32x8() -> None:
    a, b = normal((32, 8), np.float16, 1), normal((8, 32), np.float16, 2)
    lane, i, r = np.arange(64)[:, None], np.arange(4)[None, :], np.arange(16)[None, :]
    row = 8 * (r // 4) + 4 * (lane // 32) + r % 4
    depth = 4 * (lane // 32) + i
    found = multiply(
        "v_mfma_f32_32x32x8_f16 v[30:45], v[10:11], v[20:21], 0",
        words(a[lane % 32, depth]),
        words(b[depth, lane % 32]),
        np.zeros((64, 16), np.uint32),
        arch="gfx90a",
    ).view(np.float32)
    want = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(found, want[row, lane % 32], rtol=1e-6, atol=1e-6)


def test_mfma_of_integers() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, (16, 32)).astype(np.int8) for _ in range(2))
    lane, i, r = np.arange(64)[:, None], np.arange(8)[None, :], np.arange(4)[None, :]
    found = multiply(
        "v_mfma_i32_16x16x32_i8 v[30:33], v[10:11], v[20:21], v[30:33]",
        words(a[lane % 16, 8 * (lane // 16) + i]),
        words(b[lane % 16, 8 * (lane // 16) + i]),
        np.full((64, 4), 7, np.uint32),
        arch="gfx942",
    ).view(np.int32)
    want = a.astype(np.int32) @ b.T.astype(np.int32) + 7
    np.testing.assert_array_equal(found, want[4 * (lane // 16) + r, lane % 16])


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_wmma(arch: str) -> None:
    a, b, c = (
        normal((16, 16), np.float16, 1),
        normal((16, 16), np.float16, 2),
        normal((16, 16), np.float32, 3),
    )
    lane, r = np.arange(32)[:, None], np.arange(8)[None, :]
    half = lane // 16
    if arch == "gfx1100":
        depth, row, last = np.arange(16)[None, :] + 0 * lane, 2 * r + half, (17, 27)
    else:
        depth, row, last = 8 * half + r, 8 * half + r, (13, 23)
    found = multiply(
        f"v_wmma_f32_16x16x16_f16 v[30:37], v[10:{last[0]}], v[20:{last[1]}], v[30:37]",
        words(a[lane % 16, depth]),
        words(b[depth, lane % 16]),
        words(c[row, lane % 16]),
        arch=arch,
    ).view(np.float32)
    want = a.astype(np.float64) @ b.astype(np.float64) + c
    np.testing.assert_allclose(found, want[row, lane % 16], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("exponent_bits", "unsigned_zero", "dtype"),
    [
        (4, False, ml_dtypes.float8_e4m3fn),
        (4, True, ml_dtypes.float8_e4m3fnuz),
        (5, False, ml_dtypes.float8_e5m2),
        (5, True, ml_dtypes.float8_e5m2fnuz),
    ],
)
def test_all_floats_of_8_bits(exponent_bits: int, unsigned_zero: bool, dtype: Any) -> None:
    want = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    np.testing.assert_array_equal(small_floats(exponent_bits, unsigned_zero=unsigned_zero), want)
