"""Running code: results, element types, in place and not."""

from __future__ import annotations

import threading

import ml_dtypes
import numpy as np
import pytest
import torch

from explorer.compiler.errors import WrongArgument
from explorer.compiler.runtime.call import InProcess
from explorer.compiler.runtime.errors import MissingDevice, RunFailed, UnsupportedDType
from explorer.compiler.runtime.run import run
from runtime.conftest import Compile
from runtime.modules import copied_bytes, doubled

DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
}
NUMBERS = np.arange(16) - 5


def at_offset(array: np.ndarray, offset: int) -> np.ndarray:
    """A copy of an array whose address is ``offset`` bytes past a multiple of 64."""
    memory = np.zeros(array.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


# --- run ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_run_gives_results_of_each_element_type(dtype: str, compiled: Compile) -> None:
    a = NUMBERS.astype(DTYPES[dtype])
    c = np.zeros_like(a)
    result = run(compiled(doubled(dtype)).vmfb, "main", [a, c])
    assert result.outputs[0].dtype == a.dtype
    np.testing.assert_array_equal(result.outputs[0], a + a)
    assert not c.any(), "the arguments themselves stay as they are"


def test_run_gives_booleans_back_as_booleans(compiled: Compile) -> None:
    a = NUMBERS > 0
    (output,) = run(compiled(copied_bytes()).vmfb, "main", [a, np.zeros_like(a)]).outputs
    assert output.dtype == np.bool_
    np.testing.assert_array_equal(output, a)


def test_run_repeats_but_gives_the_first_result(accumulating: bytes) -> None:
    a = np.ones(16, np.float32)
    result = run(accumulating, "main", [a, a], repeats=5, warmup=2)
    assert len(result.seconds) == 5
    assert all(second > 0 for second in result.seconds)
    np.testing.assert_array_equal(result.outputs[0], 2 * a)


def test_run_errors(doubling: bytes) -> None:
    a = np.zeros(16, np.float32)
    with pytest.raises(RunFailed, match="no function 'nope'"):
        run(doubling, "nope", [a, a])
    with pytest.raises(RunFailed, match="could not run"):
        run(b"no module", "main", [a, a])
    with pytest.raises(RunFailed, match="shape dimension 0 mismatch"):
        run(doubling, "main", [a[:8], a[:8]])
    with pytest.raises(RunFailed, match="element type mismatch"):
        run(doubling, "main", [a.astype(np.int32), a])
    with pytest.raises(UnsupportedDType, match="complex64"):
        run(doubling, "main", [a.astype(np.complex64), a])
    with pytest.raises(MissingDevice, match="no-such-driver"):
        run(doubling, "main", [a, a], device="no-such-driver")


# --- in place -------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 4, 16, 36])
def test_numpy_is_written_in_place_at_any_address(offset: int, accumulating: bytes) -> None:
    call = InProcess(accumulating, written=(False, True))
    a = at_offset(NUMBERS.astype(np.float32), offset)
    c = at_offset(np.zeros(16, np.float32), offset)
    for count in (1, 2, 3):
        call(a, c)
        np.testing.assert_array_equal(c, count * a)


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32]
)
def test_torch_is_written_in_place(dtype: torch.dtype, compiled: Compile) -> None:
    name = {"float": "f", "bfloat": "bf", "int": "i"}[str(dtype)[6:].rstrip("0123456789")]
    bits = str(dtype)[6:].lstrip("abcdefghijklmnopqrstuvwxyz")
    call = InProcess(compiled(doubled(name + bits)).vmfb, written=(False, True))
    a = torch.arange(-5, 11).to(dtype)
    c = torch.zeros_like(a)
    before = c.data_ptr()
    call(a, c)
    assert torch.equal(c, a + a)
    assert c.data_ptr() == before


def test_booleans_in_place(compiled: Compile) -> None:
    call = InProcess(compiled(copied_bytes()).vmfb, written=(False, True))
    a = NUMBERS > 0
    c = np.zeros_like(a)
    call(a, torch.from_numpy(c))
    np.testing.assert_array_equal(c, a)


def test_bfloat16_of_ml_dtypes_and_of_torch_meet(compiled: Compile) -> None:
    call = InProcess(compiled(doubled("bf16")).vmfb, written=(False, True))
    c = torch.zeros(16, dtype=torch.bfloat16)
    call(NUMBERS.astype(ml_dtypes.bfloat16), c)
    assert torch.equal(c, torch.arange(-10, 22, 2, dtype=torch.bfloat16))


def test_strided_arrays_are_copied_in_and_out(accumulating: bytes) -> None:
    call = InProcess(accumulating, written=(False, True))
    wide = np.zeros(32, np.float32)
    call(np.arange(32, dtype=np.float32)[::2], wide[::2])
    np.testing.assert_array_equal(wide[::2], np.arange(0, 32, 2))
    assert not wide[1::2].any()


def test_a_misaligned_array_is_copied_in_and_out(accumulating: bytes) -> None:
    a = at_offset(NUMBERS.astype(np.float32), 2)
    c = at_offset(np.zeros(16, np.float32), 2)
    assert not c.flags.aligned
    InProcess(accumulating, written=(False, True))(a, c)
    np.testing.assert_array_equal(c, a)


def test_read_only_arrays_can_be_read_but_not_written(doubling: bytes) -> None:
    call = InProcess(doubling, written=(False, True))
    a, c = NUMBERS.astype(np.float32), np.zeros(16, np.float32)
    a.flags.writeable = False
    call(a, c)
    np.testing.assert_array_equal(c, 2 * a)
    c.flags.writeable = False
    with pytest.raises(WrongArgument, match="read-only"):
        call(a, c)


def test_a_tensor_that_needs_gradients_is_taken(doubling: bytes) -> None:
    c = torch.zeros(16)
    InProcess(doubling, written=(False, True))(torch.ones(16, requires_grad=True), c)
    assert torch.equal(c, torch.full((16,), 2.0))


def test_wrong_arguments(doubling: bytes) -> None:
    call = InProcess(doubling, written=(False, True))
    a = np.zeros(16, np.float32)
    with pytest.raises(WrongArgument, match="1 arguments"):
        call(a)
    with pytest.raises(WrongArgument, match="a list"):
        call(a, [0.0] * 16)
    with pytest.raises(WrongArgument, match="a tensor on meta"):
        call(a, torch.zeros(16, device="meta"))
    with pytest.raises(RunFailed, match="input1 shape"):
        call(a, a.reshape(4, 4))


def test_the_memory_lives_as_long_as_its_view(doubling: bytes) -> None:
    call = InProcess(doubling, written=(False, True))
    for _ in range(200):
        c = np.zeros(16, np.float32)
        call(np.ones(16, np.float32), c)
        assert (c == 2).all()


def test_calls_from_several_threads(doubling: bytes) -> None:
    call = InProcess(doubling, written=(False, True))
    wrong: list[int] = []

    def work(number: int) -> None:
        a, c = np.full(16, number, np.float32), np.zeros(16, np.float32)
        for _ in range(50):
            call(a, c)
            wrong.extend([number] if (c != 2 * number).any() else [])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
