"""Scalar instructions, masks and branches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from emulator.snippets import execute

VALUES = [0, 1, 5, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678]
STORE = """v_mov_b32_e32 v1, s10
    v_mov_b32_e32 v2, s11
    v_mov_b32_e32 v3, 0
    global_store_dwordx2 v3, v[1:2], s[4:5]"""


def scalars(code: str, a: int, b: int) -> tuple[int, int]:
    """What a program on s8 = a and s9 = b leaves in s10 and, as 0 or 1, in SCC."""
    out = np.zeros(2, np.uint32)
    execute(
        f"""s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_mov_b32 s8, {hex(a)}
        s_mov_b32 s9, {hex(b)}
        s_mov_b32 s10, 0
        {code}
        s_cselect_b32 s11, 1, 0
        {STORE}""",
        out,
    )
    return int(out[0]), int(out[1])


def signed(x: int) -> int:
    """32 bits as a signed number."""
    return x - (x >> 31 << 32)


CASES: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "s_add_u32 s10, s8, s9": lambda a, b: (a + b, (a + b) >> 32),
    "s_sub_u32 s10, s8, s9": lambda a, b: (a - b, int(b > a)),
    "s_add_i32 s10, s8, s9": lambda a, b: (a + b, int(abs(signed(a) + signed(b) + 0.5) > 2**31)),
    "s_and_b32 s10, s8, s9": lambda a, b: (a & b, int(a & b != 0)),
    "s_andn2_b32 s10, s8, s9": lambda a, b: (a & ~b, int(a & ~b != 0)),
    "s_lshl_b32 s10, s8, s9": lambda a, b: (a << (b & 31), int(a << (b & 31) & 0xFFFFFFFF != 0)),
    "s_ashr_i32 s10, s8, s9": lambda a, b: (signed(a) >> (b & 31), int(signed(a) >> (b & 31) != 0)),
    "s_min_i32 s10, s8, s9": lambda a, b: (min(a, b, key=signed), int(signed(a) < signed(b))),
    "s_max_u32 s10, s8, s9": lambda a, b: (max(a, b), int(a > b)),
    "s_cmp_lt_i32 s8, s9": lambda a, b: (0, int(signed(a) < signed(b))),
    "s_cmp_lg_u32 s8, s9": lambda a, b: (0, int(a != b)),
    "s_cmpk_eq_i32 s8, 0xffff": lambda a, b: (0, int(a == 0xFFFFFFFF)),
    "s_bitcmp1_b32 s8, s9": lambda a, b: (0, a >> (b & 31) & 1),
    "s_bfe_u32 s10, s8, 0x80004": lambda a, b: (a >> 4 & 0xFF, int(a >> 4 & 0xFF != 0)),
}


@pytest.mark.parametrize("code", CASES)
def test_results_and_condition_codes(code: str) -> None:
    for a in VALUES:
        for b in VALUES:
            value, scc = CASES[code](a, b)
            assert scalars(code, a, b) == (value & 0xFFFFFFFF, scc), (code, hex(a), hex(b))


@pytest.mark.parametrize(
    ("code", "want"),
    [
        ("s_mul_i32 s10, s8, s9", 0x12345678 * 0x10001 & 0xFFFFFFFF),
        ("s_mul_hi_u32 s10, s8, s9", 0x12345678 * 0x10001 >> 32),
        ("s_movk_i32 s10, 0x8000", 0xFFFF8000),
        ("s_brev_b32 s10, s8", 0x1E6A2C48),
        ("s_lshl2_add_u32 s10, s8, s9", 0x12345678 * 4 + 0x10001),
        ("s_add_u32 s10, s8, -1\n s_addc_u32 s10, s9, 0", 0x10002),
        ("s_mov_b32 s10, s8\n s_mulk_i32 s10, 0xfffe", -2 * 0x12345678 & 0xFFFFFFFF),
    ],
)
def test_values(code: str, want: int) -> None:
    assert scalars(code, 0x12345678, 0x10001)[0] == want


def test_a_loop_runs_as_often_as_it_says() -> None:
    code = """s_movk_i32 s10, 0x0
        .LOOP:
        s_add_i32 s10, s10, 3
        s_cmp_lt_u32 s10, 30
        s_cbranch_scc1 .LOOP"""
    assert scalars(code, 0, 0)[0] == 30


def test_waves_that_part_meet_again() -> None:
    out = np.zeros(128, np.uint32)
    report = execute(
        """s_load_dwordx2 s[4:5], s[0:1], 0x0
        v_lshlrev_b32_e32 v1, 2, v0
        v_mov_b32_e32 v2, 1
        v_cmp_gt_u32_e32 vcc, 80, v0
        s_and_saveexec_b64 s[6:7], vcc
        s_cbranch_execz .SKIP
        v_mov_b32_e32 v2, 2
        .SKIP:
        s_or_b64 exec, exec, s[6:7]
        global_store_dword v1, v2, s[4:5]""",
        out,
        waves=2,
    )
    np.testing.assert_array_equal(out, np.where(np.arange(128) < 80, 2, 1))
    assert report.counts.divergent == 1
    assert report.counts.idle_lanes == 48
