"""Sizes and numbers that come with a call: one compiled kernel serves them all.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

from typing import Any

import numpy as np
import pytest
import torch

import explorer
import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_M, BLOCK_N, NUMPY, SPACE, Array, M, N, close, random
from core.refusals import F32, HARDWARE, ROW, copied, looped, lowered, refused
from explorer.compiler import errors
from explorer.compiler.lang.constraints import Constraint
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.lang.targets import target as target_row
from explorer.compiler.lang.tiling import TensorShape, resolve
from explorer.compiler.trace.kernel import Kernel
from explorer.interpreting import interpret

SHAPES = [(4, 1000), (1, 1), (130, 64), (3, 65)]
DEVICES = [("cpu", "local"), ("cpu", "interpreter"), ("gfx942", "interpreter")]
DEVICES += [("gfx942", "emulator"), ("gfx1100", "emulator")]


def rows(*more: Constraint) -> list[Constraint]:
    """BLOCK_M rows a workgroup, all of N in each."""
    return [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64}),
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(N, N, 0),
        *more,
    ]


@tkw.wave(rows(tkw.TilingConstraint(N, BLOCK_N)))
def online_softmax(
    a: tkl.Memory[M, N, SPACE, tkl.f32], scale: tkl.f32, c: tkl.Memory[M, N, SPACE, tkl.f32]
) -> None:
    """Softmax of ``a * scale`` to the base 2, its maximum and sum found in one loop."""
    lowest, nothing = ROW(-1e30), ROW(0.0)

    @tkw.iterate(N, init_args=[lowest, nothing])
    def scan(top: ROW, total: ROW) -> Any:
        x = tkw.read(a) * scale
        higher = tkw.max(x, top, dim=N)
        return higher, tkw.sum(tkw.exp2(x - higher), total * tkw.exp2(top - higher), dim=N)

    top, total = scan
    tkw.write(tkw.exp2(tkw.read(a) * scale - top) / total, c)


@tkw.wave(rows())
def centred(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]) -> None:
    """Rows less their maximum, without a loop of the person's own."""
    x = tkw.read(a)
    tkw.write(x - tkw.max(x, dim=N), c)


@tkw.wave(
    [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64}),
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(N, BLOCK_N, 0),
        tkw.WaveConstraint(N, BLOCK_N / 2),
    ]
)
def positions(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]) -> None:
    """Both dims on workgroups, two waves, and an element's position."""
    tkw.write(tkw.read(a) + tkw.cast(tkw.self_index(N), tkl.f32), c)


@pytest.mark.parametrize(("target", "device"), DEVICES)
def test_one_kernel_serves_all_sizes(target: str, device: str) -> None:
    k = explorer.compile(online_softmax, {BLOCK_M: 4, BLOCK_N: 128}, target, dynamic=[M, N])
    for m, n in SHAPES:
        a, c = _arrays(m, n)
        k.run(a, 0.75, c, device=device)
        close(c, torch.softmax(torch.tensor(a).double() * 0.75 * np.log(2), -1).numpy(), tkl.f32)


@pytest.mark.parametrize(("target", "device"), DEVICES)
def test_generated_loops_walk_an_unknown_size(target: str, device: str) -> None:
    k = explorer.compile(centred, {BLOCK_M: 2}, target, dynamic=["N", "M"])
    for m, n in SHAPES:
        a, c = _arrays(m, n)
        k.run(a, c, device=device)
        close(c, a - a.max(-1, keepdims=True), tkl.f32)


@pytest.mark.parametrize(("target", "device"), DEVICES)
def test_unknown_sizes_on_two_workgroup_dims(target: str, device: str) -> None:
    k = explorer.compile(positions, {BLOCK_M: 2, BLOCK_N: 128}, target, dynamic=[M, N])
    for m, n in SHAPES:
        a, c = _arrays(m, n)
        k.run(a, c, device=device)
        close(c, a + np.arange(n), tkl.f32)


def test_one_size_known_and_one_not() -> None:
    k = explorer.compile(centred, {BLOCK_M: 2, N: 100}, dynamic=[M])
    for m in (1, 2, 5):
        a, c = _arrays(m, 100)
        k(a, c)
        close(c, a - a.max(-1, keepdims=True), tkl.f32)


@pytest.mark.parametrize("after", ["infer-types", "infer-indices", "expand", None])
def test_every_pass_keeps_the_meaning(after: str | None) -> None:
    a, c = _arrays(3, 200)
    sizes = {BLOCK_M: 2, BLOCK_N: 64}
    interpret(online_softmax, sizes, a, 1.0, c, target="gfx1100", after=after, dynamic=[M, N])
    close(c, torch.softmax(torch.tensor(a).double() * np.log(2), -1).numpy(), tkl.f32)


def test_the_recording_shows_the_formula() -> None:
    k = explorer.compile(centred, {BLOCK_M: 2}, "gfx942", dynamic=[M, N])
    assert "workgroup_1" not in k.recording.ranges
    assert k.recording.options["dynamic"] == ["M", "N"]
    assert "size_N" in str(k.recording["expand"].after)


def _arrays(m: int, n: int) -> tuple[Array, Array]:
    a = random(np.random.default_rng(0), (m, n), tkl.f32)
    return a, np.full_like(a, np.nan)


# --- numbers --------------------------------------------------------------------------------------


def shifted(dtype: DType) -> Kernel:
    """``a + by`` elementwise."""

    @tkw.wave(rows())
    def shifted(
        a: tkl.Memory[M, N, SPACE, dtype], by: dtype, c: tkl.Memory[M, N, SPACE, dtype]
    ) -> None:
        tkw.write(tkw.read(a) + by, c)

    return shifted


@pytest.mark.parametrize("dtype", [d for d in NUMPY if d is not tkl.i1], ids=str)
@pytest.mark.parametrize(("target", "device"), DEVICES)
def test_numbers_of_every_type(dtype: DType, target: str, device: str) -> None:
    k = explorer.compile(shifted(dtype), {M: 3, N: 65, BLOCK_M: 2}, target)
    a = random(np.random.default_rng(0), (3, 65), dtype)
    value = -2.375 if dtype.is_float else -5
    for given in (value, NUMPY[dtype](value), np.array(value, NUMPY[dtype]), torch.tensor(value)):
        c = np.zeros_like(a)
        k.run(a, given, c, device=device)
        close(c, (a + NUMPY[dtype](value)).astype(np.float64), dtype)


def test_large_numbers_are_handed_over_whole() -> None:
    for dtype, value in ((tkl.i64, -(2**62) - 1), (tkl.f64, 1 + 2**-50)):
        for target, device in DEVICES:
            k = explorer.compile(shifted(dtype), {M: 1, N: 4, BLOCK_M: 1}, target)
            a, c = np.zeros((1, 4), NUMPY[dtype]), np.zeros((1, 4), NUMPY[dtype])
            k.run(a, value, c, device=device)
            assert (c == value).all(), (target, device)


@pytest.mark.parametrize("given", [1.5, 2**31, "3", None, np.zeros(2, np.int32), float("nan")])
def test_a_number_must_fit_its_type(given: Any) -> None:
    k = explorer.compile(shifted(tkl.i32), {M: 1, N: 4, BLOCK_M: 1})
    a = np.zeros((1, 4), np.int32)
    refused(errors.WrongArgument, lambda: k(a, given, a.copy()), name="by")


# --- refusals -------------------------------------------------------------------------------------


def test_dynamic_names_dims() -> None:
    error = refused(
        errors.UnknownDynamic, lambda: lowered(copied([HARDWARE]), {}, dynamic=["NN"]), name="NN"
    )
    assert "did you mean N?" in str(error)


def test_a_size_is_given_once() -> None:
    k = copied([HARDWARE])
    refused(errors.BoundAndDynamic, lambda: lowered(k, dynamic=[N]), name="N")


def test_dynamic_is_a_list() -> None:
    k = copied([HARDWARE])
    refused(errors.BadOption, lambda: lowered(k, dynamic="N"), name="dynamic")


@pytest.mark.parametrize(
    "constraint",
    [
        tkw.TilingConstraint(N, N / 4),
        tkw.WorkgroupConstraint(M, N, 0),
        tkw.WaveConstraint(N, 64),
    ],
    ids=["tile", "workgroup", "waves"],
)
def test_tiles_are_known(constraint: Constraint) -> None:
    k = looped([HARDWARE, constraint])
    refused(errors.NeedsSize, lambda: lowered(k, {M: 4}, dynamic=[N]), name="N")


def test_a_value_that_no_loop_can_walk() -> None:
    @tkw.wave([HARDWARE, tkw.TilingConstraint(M, 1)])
    def kernel(a: F32, c: F32) -> None:
        @tkw.iterate(M, init_args=[tkl.Register[N, tkl.f32](0.0)])
        def top(so_far: Any) -> Any:
            tile = tkw.read(a)
            return tkw.max(tile - tkw.max(tile, dim=N), so_far, dim=M)

        tkw.write(tkw.read(a) + top, c)

    error = refused(errors.NeedsLoop, lambda: lowered(kernel, {M: 4}, dynamic=[N]), dim="N")
    assert "known only when the kernel is called" in str(error)


def test_arrays_agree_on_a_size() -> None:
    k = explorer.compile(centred, {BLOCK_M: 2}, dynamic=[M, N])
    error = refused(
        errors.WrongArgument,
        lambda: k(np.zeros((3, 4), np.float32), np.zeros((3, 5), np.float32)),
        name="c",
    )
    assert "N from a" in str(error)


def test_an_empty_tensor_is_refused() -> None:
    k = explorer.compile(centred, {BLOCK_M: 2}, dynamic=[M, N])
    a = np.zeros((3, 0), np.float32)
    refused(errors.WrongArgument, lambda: k(a, a.copy()), name="a")


def test_a_grid_is_checked_at_the_call() -> None:
    k = explorer.compile(centred, {BLOCK_M: 1}, "gfx942", dynamic=[M, N])
    a = np.zeros((70_000, 1), np.float32)
    refused(errors.GridTooLarge, lambda: k.run(a, a.copy(), device="interpreter"), dim="M")


def test_a_call_has_a_tiling_of_its_own() -> None:
    shapes = [TensorShape(("M", "N"), 4)]
    tiling = resolve(centred.constraints, {"BLOCK_M": 2}, shapes, target_row("cpu"))
    assert tiling.dynamic == ("M", "N")
    assert tiling.at({"M": 5, "N": 7}).grid == (1, 3, 1)
    assert tiling["M"].split
