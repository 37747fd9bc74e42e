"""Kernels of the zoo as AMD machine code in the emulator, against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from core.cases import BLOCK_N, NUMPY, Case
from core.kernels import ZOO, case
from core.zoo import ANY

import explorer
import explorer.lang as tkl
from explorer.compiler.emulator.report import EmulatorReport
from explorer.compiler.lang.dtypes import DType

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
CLOSE = {tkl.f64: 1e-12, tkl.f32: 2e-5, tkl.f16: 2e-3, tkl.bf16: 2e-2, tkl.i32: 0}
"""How far code may be from the interpreter, relative and absolute: it sums in another order."""


def agree(small: Case, target: str, **options: Any) -> EmulatorReport:
    """Assert that the emulated code gives what the interpreter gives for the same target."""
    k = explorer.compile(small.kernel, small.bindings, target=target, **options)
    inputs, found, want = small.inputs(), small.output(), small.output()
    report = k.emulate(*inputs, found)
    k.run(*inputs, want, device="interpreter")
    bound = CLOSE[small.dtype]
    wide = np.float64 if small.dtype.is_float else np.int64
    np.testing.assert_allclose(found.astype(wide), want.astype(wide), rtol=bound, atol=bound)
    return report


FEW = [
    ("row_max_add", tkl.f32),
    ("online_softmax", tkl.f32),
    ("online_softmax", tkl.f16),
    ("layer_norm", tkl.bf16),
    ("matmul", tkl.i32),
    ("naive_softmax", tkl.f64),
]


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("name", "dtype"), FEW)
def test_code_gives_what_the_interpreter_gives(name: str, dtype: DType, target: str) -> None:
    report = agree(case(name, dtype, 3, 70), target)
    assert report.counts.total > 0
    assert report.counts.stored_bytes > 0


@pytest.mark.parametrize("target", TARGETS)
def test_every_target(target: str) -> None:
    agree(case("online_softmax", tkl.f32, 2, 100), target)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [tkl.f32, tkl.f16, tkl.bf16, tkl.f64, tkl.i32], ids=str)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ZOO)
def test_the_whole_zoo(name: str, target: str, dtype: DType) -> None:
    if dtype is tkl.i32 and name not in ANY:
        pytest.skip("a kernel for floats alone")
    agree(case(name, dtype, 4, 200), target)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 3, 48, 64, 65, 129, 1000])
def test_ragged_rows(n: int, target: str) -> None:
    agree(case("online_softmax", tkl.f32, 3, n), target)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_arrays_change_in_place_on_the_device_emulator(target: str) -> None:
    small = case("row_max_add", tkl.f32, 2, 40)
    k = explorer.compile(small.kernel, small.bindings, target=target)
    inputs, output = small.inputs(), small.output()
    assert k.run(*inputs, output, device="emulator") is None
    small.check(output, inputs)


def test_times_are_said_to_be_those_of_emulation() -> None:
    small = case("row_max_add", tkl.f32, 1, 40)
    k = explorer.compile(small.kernel, small.bindings, target="gfx942")
    times = k.benchmark(*small.inputs(), small.output(), device="emulator", repeats=2, warmup=0)
    assert len(times.runs) == 2
    assert "not a GPU's time" in str(times)


# --- special values -------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_special_values_go_the_way_that_they_go_in_torch(target: str) -> None:
    small = case("row_max_add", tkl.f32, 5, 100).bound({BLOCK_N: 64})
    (x,) = small.inputs()
    x[[0, 1, 2], [0, 50, 99]] = np.nan, np.inf, -np.inf
    x[3], x[4] = -0.0, -5
    output = small.output()
    explorer.compile(small.kernel, small.bindings, target=target).emulate(x, output)
    np.testing.assert_array_equal(output, small.expected([x]).astype(NUMPY[tkl.f32]))
    assert np.signbit(output[3]).all()
