"""The meaning of a kernel is the same after every pass, for every target, size and tile."""

from __future__ import annotations

import pytest

import explorer.lang as tkl
from core.cases import BLOCK_M, BLOCK_N, Case, close
from core.kernels import ANY, FLOAT, ZOO, case
from core.meanings import meanings
from explorer.compiler.lang.dtypes import DType

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


@pytest.mark.parametrize("dtype", [tkl.f16, tkl.bf16, tkl.f64])
@pytest.mark.parametrize("name", sorted(FLOAT.keys() - {"through_f32"}))
def test_every_pass_keeps_the_meaning_of_other_floats(name: str, dtype: DType) -> None:
    check_every_pass(case(name, dtype, 2, 65), "gfx942")


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 127, 128, 129, 500])
@pytest.mark.parametrize("name", ["row_max_add", "online_softmax", "naive_softmax", "layer_norm"])
def test_any_length_of_the_row_will_do(name: str, n: int) -> None:
    check_every_pass(case(name, m=2, n=n), "gfx942")


@pytest.mark.parametrize("name", ["row_max_add", "online_softmax", "several_carried"])
@pytest.mark.parametrize(("block_m", "block_n"), [(2, 64), (4, 8), (8, 256), (3, 48)])
def test_tiles_never_change_the_meaning(name: str, block_m: int, block_n: int) -> None:
    tiles = {BLOCK_M: block_m, BLOCK_N: block_n}
    check_every_pass(case(name, m=5, n=100).bound(tiles), "gfx1100", limit=64)


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("name", sorted(ZOO.keys() - {"nested_loops"}))
def test_generated_loops_keep_the_meaning(name: str, limit: int) -> None:
    small = case(name, m=2, n=100)
    tiles = {BLOCK_N: 32} if BLOCK_N in small.bindings else {}
    check_every_pass(small.bound(tiles), "cpu", limit)


def test_a_generated_loop_around_nested_loops() -> None:
    check_every_pass(case("nested_loops", m=8, n=20).bound({BLOCK_M: 8, BLOCK_N: 8}), "cpu", 2)
