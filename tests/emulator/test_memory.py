"""Loads and stores: sizes, addresses, buffers, shared and private memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.snippets import execute

Array = NDArray[Any]

START = """s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0"""


def copied(code: str, given: Array, count: int = 64, **how: Any) -> Array:
    """What a program stores into ``count`` words; it reads at s[4:5] and writes at s[6:7]."""
    out = np.full(count, 0xEEEEEEEE, np.uint32)
    execute(f"{START}\n{code}", given, out, **how)
    return out


BYTES = np.random.default_rng(0).integers(0, 256, 1024, np.uint8)


@pytest.mark.parametrize(
    ("load", "dtype"),
    [("ubyte", np.uint8), ("sbyte", np.int8), ("ushort", np.uint16), ("sshort", np.int16)],
)
def test_small_loads_are_extended(load: str, dtype: type[np.integer]) -> None:
    code = f"global_load_{load} v2, v1, s[4:5] offset:2\n global_store_dword v1, v2, s[6:7]"
    given = np.concatenate([BYTES[2:], BYTES[:2]])
    size = np.dtype(dtype).itemsize
    want = given[: 4 * 64].reshape(64, 4)[:, :size].copy().view(dtype)[:, 0].astype(np.int32)
    np.testing.assert_array_equal(copied(code, BYTES).view(np.int32), want)


def test_wide_loads_and_stores() -> None:
    code = """v_lshlrev_b32_e32 v2, 4, v0
        global_load_dwordx4 v[4:7], v2, s[4:5]
        global_store_dwordx3 v2, v[4:6], s[6:7]"""
    found = copied(code, BYTES, 256).reshape(64, 4)
    want = BYTES.view(np.uint32).reshape(64, 4)
    np.testing.assert_array_equal(found[:, :3], want[:, :3])
    assert (found[:, 3] == 0xEEEEEEEE).all()


def test_halves_of_registers() -> None:
    code = """v_mov_b32_e32 v2, 0
        global_load_short_d16 v2, v1, s[4:5]
        global_load_short_d16_hi v2, v1, s[4:5] offset:2
        global_store_dword v1, v2, s[6:7]"""
    np.testing.assert_array_equal(copied(code, BYTES[:256]), BYTES[:256].view(np.uint32))
    code = """global_load_dword v2, v1, s[4:5]
        global_store_short_d16_hi v1, v2, s[6:7]
        global_store_byte v1, v2, s[6:7] offset:3"""
    found = copied(code, BYTES[:256]).view(np.uint8).reshape(64, 4)
    want = BYTES[:256].reshape(64, 4)[:, [2, 3, 0, 0]]
    np.testing.assert_array_equal(found[:, [0, 1, 3]], want[:, [0, 1, 3]])


def test_addresses_of_64_bits() -> None:
    code = """v_mov_b32_e32 v2, s4
        v_mov_b32_e32 v3, s5
        v_lshl_add_u64 v[2:3], v[2:3], 0, 16
        flat_load_dword v4, v[2:3]
        global_store_dword v1, v4, s[6:7]"""
    assert (copied(code, BYTES) == BYTES[16:20].view(np.uint32)[0]).all()


DESCRIPTOR = """s_mov_b32 s8, s4
    s_mov_b32 s9, s5
    s_mov_b32 s10, {size}
    s_mov_b32 s11, 0x27000"""


def test_a_buffer_gives_zero_beyond_its_end_dword_by_dword() -> None:
    code = f"""{DESCRIPTOR.format(size=100)}
        v_lshlrev_b32_e32 v2, 3, v0
        buffer_load_dwordx2 v[4:5], v2, s[8:11], 0 offen
        global_store_dwordx2 v2, v[4:5], s[6:7]"""
    want = BYTES[:512].view(np.uint32).copy()
    want[25:] = 0
    np.testing.assert_array_equal(copied(code, BYTES, 128), want)


def test_a_buffer_takes_no_stores_beyond_its_end() -> None:
    code = """s_mov_b32 s8, s6
        s_mov_b32 s9, s7
        s_mov_b32 s10, 40
        s_mov_b32 s11, 0x27000
        buffer_store_dword v0, v1, s[8:11], 0 offen"""
    found = copied(code, BYTES)
    np.testing.assert_array_equal(found[:10], np.arange(10))
    assert (found[10:] == 0xEEEEEEEE).all()


def test_pairs_in_shared_memory() -> None:
    code = """v_lshlrev_b32_e32 v2, 3, v0
        ds_write2_b32 v2, v0, v1 offset0:1 offset1:0
        ds_read_b64 v[4:5], v2
        ds_read2st64_b32 v[6:7], v1 offset0:0 offset1:1
        global_store_dwordx2 v2, v[4:5], s[6:7]
        global_store_dwordx2 v2, v[6:7], s[6:7] offset:512"""
    found = copied(code, BYTES, 256, shared=512).reshape(2, 64, 2)
    lane = np.arange(64)
    np.testing.assert_array_equal(found[0], np.stack([lane * 4, lane], axis=1))
    np.testing.assert_array_equal(found[1], found[0].reshape(2, 64).T)


def test_blocks_are_transposed_on_cdna4() -> None:
    code = """v_lshlrev_b32_e32 v2, 3, v0
        global_load_dwordx2 v[4:5], v2, s[4:5]
        ds_write_b64 v2, v[4:5]
        ds_read_b64_tr_b16 v[6:7], v2
        global_store_dwordx2 v2, v[6:7], s[6:7]"""
    found = copied(code, BYTES[:512], 128, arch="gfx950", shared=512)
    blocks = BYTES[:512].view(np.uint16).reshape(4, 4, 16)
    np.testing.assert_array_equal(
        found.view(np.uint16).reshape(4, 16, 4), blocks.transpose(0, 2, 1)
    )
