"""How much of a kernel's code can be left out before somebody notices."""

from __future__ import annotations

import re

import numpy as np
import pytest
from core.cases import Array
from core.kernels import case

import explorer
import explorer.lang as tkl
from explorer.compiler.emulator.launch import run
from explorer.compiler.errors import ExplorerError
from explorer.compiling import CompiledKernel

ONLY_TIMING = re.compile(r"\ts_(waitcnt|wait_|nop|delay_alu|clause|sendmsg|set_inst|setprio)")


def code_lines(isa: str) -> list[int]:
    """Positions of the lines whose instruction does something."""
    text = isa.splitlines()
    end = next(i for i, line in enumerate(text) if line.startswith(".Lfunc_end0"))
    return [
        i
        for i, line in enumerate(text[:end])
        if re.match(r"\t[a-z]", line) and not ONLY_TIMING.match(line)
    ]


def noticed(k: CompiledKernel, isa: str, inputs: list[Array], want: Array) -> bool:
    """Whether the run fails, or gives something else than it should."""
    out = np.full_like(want, np.nan)
    try:
        run(
            isa,
            [*inputs, out],
            written=[False] * len(inputs) + [True],
            grid=k.lowered.tiling.grid,
            step_limit=20_000,
        )
    except ExplorerError:
        return True
    return not np.allclose(out, want, rtol=1e-5, atol=1e-7, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "least"), [("gfx942", 0.6), ("gfx1100", 0.6)])
def test_a_missing_instruction_of_softmax_is_noticed(target: str, least: float) -> None:
    small = case("online_softmax", tkl.f32, 3, 200)
    k = explorer.compile(small.kernel, small.bindings, target=target)
    inputs, want = small.inputs(), small.output()
    inputs[0][1, 150] = 200  # a spike, so that a wrong maximum overflows
    inputs[0][2, 7] = np.nan  # a row that only the tests for NaN get right
    k.emulate(*inputs, want)
    assert not noticed(k, k.isa, inputs, want)
    lines = k.isa.splitlines()
    places = code_lines(k.isa)
    found = [noticed(k, "\n".join(lines[:i] + lines[i + 1 :]), inputs, want) for i in places]
    assert np.mean(found) > least, f"{sum(found)} of {len(found)} noticed"
