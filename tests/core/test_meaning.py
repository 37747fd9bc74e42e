"""The meaning of a kernel is the same after every pass, for every target, size and tile."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_M, BLOCK_N, SPACE, Case, M, N, Reference, close
from core.kernels import ZOO, case
from core.meanings import meanings
from core.random_kernels import cases, whole_numbers
from core.zoo import ANY, FLOAT
from explorer.compiler.errors import (
    ExplorerError,
    NeededTwice,
    ReducesAcrossWorkgroups,
    TooManyCopies,
    TooManyThreads,
    ValueCrossesLoop,
)
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.passes.base import PassFailed

TARGETS = ("cpu", "gfx942", "gfx1100")


def check_every_pass(case: Case, target: str, limit: int = 16) -> None:
    """Assert that each pass keeps what the kernel computes, each element stored once."""
    inputs = case.inputs()
    for found in meanings(case, inputs, target, limit):
        close(found.output, case.expected(inputs), case.dtype)
        if found.stores is not None:
            assert (found.stores == 1).all(), f"after {found.after}: {found.stores}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ZOO)
def test_every_pass_keeps_the_meaning(name: str, target: str) -> None:
    check_every_pass(case(name), target)


@pytest.mark.parametrize("name", ANY)
def test_every_pass_keeps_the_meaning_of_integers(name: str) -> None:
    check_every_pass(case(name, tkl.i32, 2, 65), "gfx1100")


@pytest.mark.parametrize("dtype", [tkl.f16, tkl.bf16])
@pytest.mark.parametrize("name", sorted(FLOAT.keys() - {"through_f32"}))
def test_every_pass_keeps_the_meaning_of_other_floats(name: str, dtype: DType) -> None:
    check_every_pass(case(name, dtype, 2, 65), "gfx942")


@pytest.mark.parametrize("n", [1, 63, 128, 129])
@pytest.mark.parametrize("name", ["row_max_add", "online_softmax", "naive_softmax", "layer_norm"])
def test_any_length_of_the_row_will_do(name: str, n: int) -> None:
    check_every_pass(case(name, m=2, n=n), "gfx942")


@pytest.mark.parametrize("name", ["row_max_add", "online_softmax", "several_carried"])
@pytest.mark.parametrize(("block_m", "block_n"), [(2, 64), (4, 8), (8, 256), (3, 48)])
def test_tiles_never_change_the_meaning(name: str, block_m: int, block_n: int) -> None:
    tiles = {BLOCK_M: block_m, BLOCK_N: block_n}
    check_every_pass(case(name, m=5, n=100).bound(tiles), "gfx1100", limit=64)


@pytest.mark.parametrize("limit", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", sorted(ZOO.keys() - {"nested_loops"}))
def test_generated_loops_keep_the_meaning(name: str, limit: int) -> None:
    small = case(name, m=2, n=100)
    tiles = {BLOCK_N: 32} if BLOCK_N in small.bindings else {}
    check_every_pass(small.bound(tiles), "cpu", limit)


def test_a_generated_loop_around_nested_loops() -> None:
    check_every_pass(case("nested_loops", m=8, n=20).bound({BLOCK_M: 8, BLOCK_N: 8}), "cpu", 2)


# --- kernels that went wrong once -----------------------------------------------------------------


def loop_of_rows(body: Callable[[Any, Any], Any], reference: Reference) -> Case:
    """A loop over N that carries a value of M, while M has a parallel tile.

    Args:
        body: takes the tile that was read and the carried value.
        reference: the whole kernel's meaning.
    """
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 8}),
        tkw.TilingConstraint(N, BLOCK_N),
        tkw.ParallelTilingConstraint(M, BLOCK_M),
    ]

    @tkw.wave(constraints)
    def kernel(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, SPACE, tkl.f32]) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](-100)])
        def loop(x: Any) -> Any:
            return body(tkw.read(a), x)

        tkw.write(loop, c)

    return Case(kernel, reference, {M: 12, N: 20, BLOCK_M: 4, BLOCK_N: 8})


def test_a_reduction_over_a_dim_that_a_generated_loop_would_cut() -> None:
    case = loop_of_rows(
        lambda tile, x: tkw.max(tile - tkw.max(tile, dim=M), x, dim=N),
        lambda a: (a - a.amax(0)).amax(1),
    )
    check_or_refused(case)


def test_a_loop_that_gives_values_with_and_without_a_looped_dim() -> None:
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 8}),
        tkw.TilingConstraint(N, BLOCK_N),
        tkw.ParallelTilingConstraint(M, BLOCK_M),
    ]

    @tkw.wave(constraints)
    def kernel(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, SPACE, tkl.f32]) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](0), tkl.Register[tkl.f32](0)])
        def loop(x: Any, y: Any) -> Any:
            tile = tkw.read(a)
            highest = tkw.max(tkw.max(tile, dim=M), dim=N)
            return tkw.max(tile, x, dim=N), tkw.maximum(y, highest)

        each, every = loop
        tkw.write(each - every, c)

    def reference(a: torch.Tensor) -> torch.Tensor:
        return a.amax(1).clamp(min=0) - a.amax().clamp(min=0)

    check_or_refused(Case(kernel, reference, {M: 12, N: 20, BLOCK_M: 4, BLOCK_N: 8}))


def check_or_refused(case: Case) -> None:
    """Assert that each pass keeps the meaning, or that one says why it cannot."""
    try:
        check_every_pass(case, "gfx942")
    except PassFailed as failed:
        if not failed.error.advice:
            raise


# --- kernels nobody wrote -------------------------------------------------------------------------

REFUSALS = (NeededTwice, ReducesAcrossWorkgroups, TooManyCopies, TooManyThreads, ValueCrossesLoop)
"""What a kernel of the strategy may be refused for."""


def check_random(case: Case, target: str, limit: int, seed: int) -> None:
    """Assert that each pass keeps exactly what the typed graph means, or that it is refused."""
    inputs = whole_numbers(case, seed)
    try:
        first, *later = meanings(case, inputs, target, limit)
    except (PassFailed, ExplorerError) as refused:
        error = refused.error if isinstance(refused, PassFailed) else refused
        assert isinstance(error, REFUSALS), error
        assert error.summary
        assert error.advice
        event(f"refused: {type(error).__name__}")
        return
    event("legal")
    for found in later:
        np.testing.assert_array_equal(found.output, first.output, err_msg=f"after {found.after}")
        assert found.stores is None or (found.stores == 1).all(), f"after {found.after}"


RANDOM = given(
    case=cases(),
    target=st.sampled_from(TARGETS),
    limit=st.sampled_from([2, 4, 16, 64]),
    seed=st.integers(0, 99),
)
CALM = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


@settings(max_examples=40, deadline=None, suppress_health_check=CALM)
@RANDOM
def test_every_pass_keeps_the_meaning_of_random_kernels(
    case: Case, target: str, limit: int, seed: int
) -> None:
    check_random(case, target, limit, seed)


@pytest.mark.slow
@settings(max_examples=3000, deadline=None, suppress_health_check=CALM)
@RANDOM
def test_every_pass_keeps_the_meaning_of_very_many_kernels(
    case: Case, target: str, limit: int, seed: int
) -> None:
    check_random(case, target, limit, seed)
