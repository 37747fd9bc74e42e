"""Compiled code gives what torch gives, in place, for all element types and ragged sizes."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import explorer
import explorer.lang as tkl
from core.cases import BLOCK_N, NUMPY, Array, Case
from core.kernels import ZOO, case
from core.zoo import ANY
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.runtime.errors import MissingDevice
from explorer.compiling import CompiledKernel

TORCH = {
    tkl.f64: torch.float64,
    tkl.f32: torch.float32,
    tkl.f16: torch.float16,
    tkl.bf16: torch.bfloat16,
}


def compiled(case: Case, target: str = "cpu", **options: Any) -> CompiledKernel:
    """The case's kernel as machine code."""
    return explorer.compile(case.kernel, case.bindings, target=target, **options)


def check(case: Case) -> None:
    """Assert that the cpu code gives what it should."""
    inputs, output = case.inputs(), case.output()
    compiled(case)(*inputs, output)
    case.check(output, inputs)


@pytest.mark.parametrize("name", ZOO)
def test_the_zoo_in_f32(name: str) -> None:
    check(case(name))


@pytest.mark.parametrize("name", ["row_max_add", "several_carried", "matmul", "choices"])
def test_integers(name: str) -> None:
    check(case(name, tkl.i32, 2, 65))


@pytest.mark.parametrize("dtype", [tkl.f16, tkl.bf16])
@pytest.mark.parametrize("name", ["online_softmax", "through_f32"])
def test_small_floats(name: str, dtype: DType) -> None:
    check(case(name, dtype, 2, 65))


@pytest.mark.slow
@pytest.mark.parametrize("name", ANY)
def test_the_zoo_in_integers(name: str) -> None:
    check(case(name, tkl.i32, 2, 65))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [tkl.f16, tkl.bf16])
@pytest.mark.parametrize("name", ZOO)
def test_the_zoo_in_small_floats(name: str, dtype: DType) -> None:
    check(case(name, dtype, 2, 65))


@pytest.mark.parametrize("dtype", [tkl.f64, tkl.i64, tkl.i16, tkl.i8])
def test_other_element_types(dtype: DType) -> None:
    check(case("polynomial", dtype, 3, 33))


RAGGED = ("row_max_add", "online_softmax", "naive_softmax")


@pytest.mark.parametrize("n", [1, 3, 48, 65, 1000])
def test_ragged_rows(n: int) -> None:
    check(case("online_softmax", m=3, n=n))


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 48, 64, 65, 100, 127, 128, 129, 1000, 1023])
@pytest.mark.parametrize("name", [*RAGGED, "layer_norm"])
def test_more_ragged_rows(name: str, n: int) -> None:
    check(case(name, m=3, n=n))


@pytest.mark.parametrize("block_n", [1, 3, 512])
def test_ragged_tiles(block_n: int) -> None:
    check(case("row_max_add", m=2, n=20).bound({BLOCK_N: block_n}))


@pytest.mark.parametrize("name", ["online_softmax", "naive_softmax"])
def test_rows_long_enough_for_generated_loops(name: str) -> None:
    check(case(name, m=2, n=5000).bound({BLOCK_N: 64}))


# --- special values -------------------------------------------------------------------------------

INF = float("inf")


def special_rows() -> Array:
    """Rows of 200 on which careless softmaxes fail; the last is all -inf."""
    ramp = np.linspace(-3, 3, 200)
    leading = np.concatenate([np.full(150, -INF), ramp[:50]])
    trailing = leading[::-1]
    one = np.full(200, -INF)
    one[137] = -2
    rows = [
        np.zeros(200),
        np.full(200, 1e30),
        np.full(200, -1e30),
        ramp * 1e30,
        np.where(ramp > 0, 1e30, -1e30),
        ramp - 2e6,
        leading,
        trailing,
        one,
        np.full(200, -INF),
    ]
    return np.stack(rows).astype(np.float32)


@pytest.mark.parametrize("name", ["online_softmax", "naive_softmax"])
@pytest.mark.parametrize("block_n", [64, 256])
def test_softmax_of_special_rows(name: str, block_n: int) -> None:
    x = special_rows()
    softmax = case(name, m=len(x), n=200).bound({BLOCK_N: block_n})
    output = softmax.output()
    compiled(softmax)(x, output)
    want = torch.softmax(torch.from_numpy(x), -1).numpy()
    np.testing.assert_allclose(output, want, rtol=2e-5, atol=1e-7)
    assert np.isnan(output[-1]).all()


@pytest.mark.parametrize("name", ["online_softmax", "naive_softmax"])
def test_a_nan_stays_in_its_row(name: str) -> None:
    softmax = case(name, m=10, n=200).bound({BLOCK_N: 64})
    k = compiled(softmax)
    for position in (0, 63, 64, 199):
        (x,) = softmax.inputs()
        x[1, position] = np.nan
        output = softmax.output()
        k(x, output)
        assert np.isnan(output[1]).all()
        assert not np.isnan(output[[0, *range(2, 10)]]).any()


@pytest.mark.parametrize("name", ["row_max_add", "column_max", "repeated_operands", "choices"])
def test_nan_and_infinity_spread_as_in_torch(name: str) -> None:
    small = case(name, m=6, n=100)
    inputs = small.inputs()
    inputs[0][[0, 1, 2], [0, 50, 99]] = np.nan, INF, -INF
    output = small.output()
    compiled(small)(*inputs, output)
    np.testing.assert_allclose(output, small.expected(inputs), rtol=2e-5, atol=2e-5)


def test_the_maximum_of_negatives_is_negative() -> None:
    ragged = case("row_max_add", m=2, n=70).bound({BLOCK_N: 64})
    x = np.full((2, 70), -5.0, np.float32)
    output = ragged.output()
    compiled(ragged)(x, output)
    assert (output == -10).all()


# --- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tkl.f32, tkl.bf16])
def test_torch_tensors_are_written_in_place(dtype: DType) -> None:
    k = compiled(case("polynomial", dtype, 4, 40))
    a, b = torch.randn(4, 40).to(TORCH[dtype]), torch.randn(4, 40).to(TORCH[dtype])
    c = torch.full((4, 40), float("nan"), dtype=TORCH[dtype])
    before = c.data_ptr()
    assert k(a, b, c) is None
    assert c.data_ptr() == before
    tolerance = {tkl.f64: 1e-12, tkl.f32: 1e-6, tkl.f16: 1e-2, tkl.bf16: 6e-2}[dtype]
    torch.testing.assert_close(c, a * b - a + 2, rtol=tolerance, atol=tolerance)


def test_inputs_stay_as_they_are() -> None:
    soft = case("online_softmax")
    (x,) = soft.inputs()
    kept = x.copy()
    compiled(soft)(x, soft.output())
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("name", ["row_sum", "online_softmax"])
def test_strided_arrays_are_read_and_written(name: str) -> None:
    small = case(name, m=4, n=40)
    (x,) = small.inputs()
    wide = np.zeros((4, 80), np.float32)
    wide[:, ::2] = x
    shape = small.output().shape
    target = np.full((*shape[:-1], shape[-1] * 2), 5, np.float32)
    compiled(small)(wide[:, ::2], target[..., ::2])
    small.check(target[..., ::2], [x])
    assert (target[..., 1::2] == 5).all()


def test_elements_around_the_output_are_left_alone() -> None:
    small = case("one_dim", m=1, n=37)
    (x,) = small.inputs()
    buffer = np.full(64, 5, np.float32)
    compiled(small)(x, buffer[8:45])
    small.check(buffer[8:45], [x])
    assert (buffer[:8] == 5).all()
    assert (buffer[45:] == 5).all()


def test_a_kernel_can_be_called_again_and_again() -> None:
    soft = case("online_softmax")
    k = compiled(soft)
    for seed in range(3):
        inputs, output = soft.inputs(seed), soft.output()
        k(*inputs, output)
        soft.check(output, inputs)


def test_the_graph_itself_is_a_device_too() -> None:
    soft = case("online_softmax", m=2, n=100)
    inputs, output = soft.inputs(), soft.output()
    compiled(soft).run(*inputs, output, device="interpreter")
    soft.check(output, inputs)


def test_bfloat16_arrays_of_numpy_work() -> None:
    small = case("polynomial", tkl.bf16, 2, 20)
    inputs, output = small.inputs(), small.output()
    assert output.dtype == np.dtype(ml_dtypes.bfloat16) == np.dtype(NUMPY[tkl.bf16])
    compiled(small)(*inputs, output)
    small.check(output, inputs)


# --- targets that are not here --------------------------------------------------------------------

FLAGSHIPS = ("row_max_add", "online_softmax", "layer_norm")
LOADS = {
    "gfx942": r"global_load_dword|buffer_load_dword",
    "gfx1100": r"global_load_b|buffer_load_b",
}


@pytest.mark.parametrize("target", LOADS)
@pytest.mark.parametrize("name", FLAGSHIPS)
def test_gpu_code_is_made_without_a_gpu(name: str, target: str) -> None:
    k = compiled(case(name, m=8, n=1024), target)
    assert re.search(LOADS[target], k.isa)
    assert "s_endpgm" in k.isa
    assert k.recording.isa == k.isa
    assert k.resources["vgpr"] > 0
    assert k.resources["vgpr_spills"] == k.resources["sgpr_spills"] == 0
    assert k.resources["scratch_bytes"] == 0


@pytest.mark.parametrize("target", LOADS)
def test_gpu_maxima_use_the_machines_own_instruction(target: str) -> None:
    k = compiled(case("row_max_add", m=8, n=1024), target)
    assert re.search(r"v_(pk_)?max(imum)?(3)?_f32", k.isa)


def test_code_for_another_machine_does_not_run_here() -> None:
    small = case("row_max_add", m=8, n=1024)
    k = compiled(small, "gfx942")
    inputs, output = small.inputs(), small.output()
    with pytest.raises(MissingDevice, match="gfx942"):
        k.run(*inputs, output, device="local")
    k.run(*inputs, output, device="interpreter")
    small.check(output, inputs)
