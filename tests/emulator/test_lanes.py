"""Values that move between lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.snippets import each_lane

Array = NDArray[Any]

L64, L32 = np.arange(64), np.arange(32)
NONE = -1


def expected(values: Array, lane: Array, otherwise: Array | int) -> Array:
    """The value of the lane read, or another where there is none."""
    return np.where(lane == NONE, otherwise, values[np.maximum(lane, 0)])


PATTERNS = {
    "quad_perm:[2,3,0,1]": L64 ^ 2,
    "row_half_mirror": L64 // 8 * 8 + 7 - L64 % 8,
    "row_mirror": L64 // 16 * 16 + 15 - L64 % 16,
    "row_shr:4": np.where(L64 % 16 >= 4, L64 - 4, NONE),
    "row_shl:1": np.where(L64 % 16 < 15, L64 + 1, NONE),
    "row_ror:8": L64 // 16 * 16 + (L64 % 16 + 8) % 16,
    "row_bcast:15": np.where(L64 >= 16, L64 // 16 * 16 - 1, NONE),
    "row_bcast:31": np.where(L64 >= 32, 31, NONE),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_other_lanes_as_operands(pattern: str) -> None:
    values = (L64 * 7 + 3).astype(np.uint32)
    masks = "row_mask:0xf bank_mask:0xf"
    found = each_lane(f"v_mov_b32_dpp v20, v10 {pattern} {masks} bound_ctrl:1", [values])[0]
    np.testing.assert_array_equal(found, expected(values, PATTERNS[pattern], 0))
    kept = each_lane(f"v_mov_b32_e32 v20, 5\n v_mov_b32_dpp v20, v10 {pattern} {masks}", [values])[
        0
    ]
    np.testing.assert_array_equal(kept, expected(values, PATTERNS[pattern], 5))


def test_masked_rows_keep_what_they_had() -> None:
    values = (L64 + 100).astype(np.uint32)
    code = "v_mov_b32_dpp v20, v10 row_mirror row_mask:0xa bank_mask:0xf bound_ctrl:1"
    found = each_lane(code, [values])[0]
    np.testing.assert_array_equal(
        found, np.where(L64 // 16 % 2, values[L64 // 16 * 16 + 15 - L64 % 16], 0)
    )


def test_inactive_lanes_are_not_read() -> None:
    values = (L64 + 100).astype(np.uint32)
    code = """s_mov_b64 s[8:9], exec
        s_mov_b64 exec, 0xffff
        v_mov_b32_dpp v20, v10 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
        s_mov_b64 exec, 0xff
        v_mov_b32_dpp v21, v10 row_mirror row_mask:0xf bank_mask:0xf bound_ctrl:1
        s_mov_b64 exec, s[8:9]"""
    found = each_lane(code, [values], results=2)
    np.testing.assert_array_equal(found[0], np.where(L64 < 16, values[15 - L64 % 16], 0))
    assert not found[1].any()


@pytest.mark.parametrize(
    ("pattern", "lane"),
    [
        ("swizzle(SWAP,1)", L64 ^ 1),
        ("swizzle(SWAP,16)", L64 ^ 16),
        ("swizzle(REVERSE,8)", L64 ^ 7),
        ("swizzle(BROADCAST,4,2)", L64 // 4 * 4 + 2),
        ("swizzle(QUAD_PERM,3,0,1,2)", L64 // 4 * 4 + (L64 + 3) % 4),
    ],
)
def test_swizzles(pattern: str, lane: Array) -> None:
    values = (L64 * 3).astype(np.uint32)
    found = each_lane(f"ds_swizzle_b32 v20, v10 offset:{pattern}", [values])[0]
    np.testing.assert_array_equal(found, values[lane])


def test_pulling_from_and_pushing_to_lanes() -> None:
    values, order = (L64 + 1).astype(np.uint32), np.random.default_rng(0).permutation(64)
    given = [(order * 4).astype(np.uint32), values]
    pulled = each_lane("ds_bpermute_b32 v20, v10, v11", given)[0]
    np.testing.assert_array_equal(pulled, values[order])
    pushed = each_lane("ds_permute_b32 v20, v10, v11", given)[0]
    np.testing.assert_array_equal(pushed[order], values)


@pytest.mark.parametrize(("name", "other"), [("v_permlane16_b32", 0), ("v_permlanex16_b32", 16)])
def test_rows_are_permuted(name: str, other: int) -> None:
    values = (L32 * 5).astype(np.uint32)
    code = f"s_mov_b32 s8, 0x76543210\n s_mov_b32 s9, 0x89abcdef\n {name} v20, v10, s8, s9"
    found = each_lane(code, [values], arch="gfx1100")[0]
    within = np.array([0, 1, 2, 3, 4, 5, 6, 7, 15, 14, 13, 12, 11, 10, 9, 8])
    np.testing.assert_array_equal(found, values[L32 // 16 * 16 ^ other | within[L32 % 16]])


def test_lanes_and_scalar_registers() -> None:
    values = (L64 * 9 + 1).astype(np.uint32)
    code = """v_readlane_b32 s8, v10, 7
        v_mov_b32_e32 v20, s8
        v_writelane_b32 v20, 5, 3
        s_mov_b64 s[10:11], exec
        s_mov_b64 exec, 0xf0
        v_readfirstlane_b32 s9, v10
        s_mov_b64 exec, s[10:11]
        v_mov_b32_e32 v21, s9"""
    found = each_lane(code, [values], results=2)
    np.testing.assert_array_equal(found[0], np.where(L64 == 3, 5, values[7]))
    assert (found[1] == values[4]).all()


def test_the_lane_number_from_a_mask() -> None:
    code = "v_mbcnt_lo_u32_b32 v20, -1, 0\n v_mbcnt_hi_u32_b32 v20, -1, v20"
    np.testing.assert_array_equal(each_lane(code, [L64])[0], L64)


def test_rows_are_exchanged_on_cdna4() -> None:
    a, b = L64.astype(np.uint32), (L64 + 100).astype(np.uint32)
    code = """v_mov_b32_e32 v20, v10
        v_mov_b32_e32 v21, v11
        v_permlane32_swap_b32 v20, v21"""
    found = each_lane(code, [a, b], arch="gfx950", results=2)
    np.testing.assert_array_equal(found[0], np.concatenate([a[:32], b[:32]]))
    np.testing.assert_array_equal(found[1], np.concatenate([a[32:], b[32:]]))
