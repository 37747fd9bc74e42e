"""Kernels of several waves: they agree through shared memory, and every barrier is needed.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import re

import numpy as np
import pytest
from core.cases import SPACE, M, N
from numpy.typing import NDArray

import explorer
import explorer.lang as tkl
import explorer.wave as tkw
from explorer.compiler.emulator.errors import SharedMemoryRace
from explorer.compiler.emulator.launch import run
from explorer.compiler.trace.kernel import Kernel
from explorer.compiling import CompiledKernel

ROWS, COLUMNS, WAVES = 3, 500, 4


def softmax_of_four_waves() -> Kernel:
    """Four waves share a row."""

    @tkw.wave(
        [
            tkw.HardwareConstraint(64, waves_per_block=(WAVES, 1, 1), vector_shapes={M: 1, N: 64}),
            tkw.WorkgroupConstraint(M, 1, 1),
            tkw.WorkgroupConstraint(N, N, 0),
        ]
    )
    def softmax(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]) -> None:
        x = tkw.read(a)
        e = tkw.exp2(x - tkw.max(x, dim=N))
        tkw.write(e / tkw.sum(e, dim=N), c)

    return softmax


def inputs() -> NDArray[np.float32]:
    """Rows of random numbers."""
    return np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)


def barriers(k: CompiledKernel) -> list[int]:
    """Positions of the lines at which waves wait for each other."""
    waits = re.compile(r"\ts_barrier(_wait\b|\s*$)")
    return [i for i, line in enumerate(k.isa.splitlines()) if waits.match(line)]


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx1201"])
def test_without_a_barrier_waves_race(target: str) -> None:
    k = explorer.compile(softmax_of_four_waves(), {M: ROWS, N: COLUMNS}, target=target)
    x = inputs()
    found = np.full_like(x, np.nan)
    report = k.emulate(x, found)
    e = np.exp2(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    places = barriers(k)
    assert report.counts.barriers == len(places) * WAVES * ROWS > 0
    lines = k.isa.splitlines()
    for place in places:
        shorter = "\n".join(lines[:place] + lines[place + 1 :])
        with pytest.raises(SharedMemoryRace, match="since the last barrier"):
            run(shorter, [x, found], written=[False, True], grid=k.lowered.tiling.grid)
