"""What a run counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.snippets import execute
from explorer.compiler.emulator.counts import bank_conflicts, segments_touched

Array = NDArray[Any]

LANE = np.arange(64)[None, :]
ALL = np.ones((1, 64), bool)


@pytest.mark.parametrize(
    ("address", "size", "segment", "count"),
    [
        (LANE * 4, 4, 64, 4),
        (LANE * 4, 4, 128, 2),
        (LANE * 4 + 4, 4, 64, 5),
        (LANE * 16, 16, 64, 16),
        (LANE * 256, 4, 64, 64),
        (LANE * 0, 4, 64, 1),
        (LANE * 0 + 62, 4, 64, 2),
    ],
)
def test_transactions(address: Array, size: int, segment: int, count: int) -> None:
    assert segments_touched(address, ALL, size, segment) == count


def test_idle_lanes_fetch_nothing() -> None:
    assert segments_touched(LANE * 256, ALL & (LANE < 3), 4, 64) == 3
    assert segments_touched(LANE * 256, ALL & False, 4, 64) == 0


@pytest.mark.parametrize(
    ("address", "size", "conflicts"),
    [
        (LANE * 4, 4, 0),
        (LANE * 0, 4, 0),
        (LANE * 8, 4, 2),
        (LANE * 128, 4, 62),
        (LANE * 132, 4, 0),
        (LANE * 16, 16, 0),
        (LANE * 8, 8, 0),
    ],
)
def test_bank_conflicts(address: Array, size: int, conflicts: int) -> None:
    assert bank_conflicts(address, ALL, size, 32) == conflicts


def test_conflicts_of_idle_lanes_do_not_count() -> None:
    assert bank_conflicts(LANE * 128, ALL & (LANE < 4), 4, 32) == 3


def test_a_report_of_a_small_program() -> None:
    out = np.zeros(128, np.uint32)
    report = execute(
        """s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        v_lshl_or_b32 v1, s2, 6, v0
        v_lshlrev_b32_e32 v1, 2, v1
        global_store_dword v1, v0, s[4:5]""",
        out,
        grid=2,
    )
    counts = report.counts
    assert dict(counts.instructions) == {"control": 6, "vector": 4, "global memory": 2}
    assert (counts.loaded_bytes, counts.stored_bytes, counts.accesses) == (0, 512, 2)
    assert counts.transactions == {64: 8, 128: 4}
    assert (counts.active_lanes, counts.idle_lanes, counts.divergent) == (384, 0, 0)
    assert report.waves == 2
    text = str(report)
    assert "12" in text
    assert "not a GPU's" in text
    np.testing.assert_array_equal(out, np.tile(np.arange(64), 2))
