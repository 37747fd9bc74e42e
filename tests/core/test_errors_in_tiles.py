"""Mistakes in bindings, constraints, waves and tiles.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

from collections.abc import Callable
from typing import Any

import pytest

import explorer
import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_M, BLOCK_N, SPACE, K, M, N
from core.kernels import case
from core.refusals import (
    F32,
    HARDWARE,
    LOOPED,
    ROW,
    SIZES,
    body_refused,
    copied,
    looped,
    lowered,
    refused,
)
from explorer.compiler import errors
from explorer.compiler.lang.constraints import Constraint

# --- bindings -------------------------------------------------------------------------------------


def test_a_missing_binding_lists_the_symbols() -> None:
    k = copied([HARDWARE, tkw.WorkgroupConstraint(M, BLOCK_M, 0)])
    error = refused(errors.MissingBinding, lambda: lowered(k), missing="BLOCK_M")
    assert error.facts["known"] == "BLOCK_M, M, N"


def test_an_unknown_binding_guesses_the_right_one() -> None:
    k = copied([HARDWARE, tkw.WorkgroupConstraint(M, BLOCK_M, 0)])
    bindings = {**SIZES, BLOCK_M: 1, "BLOCK_Q": 2}
    error = refused(errors.UnknownBinding, lambda: lowered(k, bindings), name="BLOCK_Q")
    assert "did you mean BLOCK_M?" in str(error)


@pytest.mark.parametrize("value", [0, -3, 2.5, "8", True, None, SPACE])
def test_sizes_are_positive_whole_numbers(value: Any) -> None:
    refused(errors.BadBinding, lambda: lowered(copied([HARDWARE]), {M: value, N: 4}), name="M")


def test_an_address_space_is_no_number() -> None:
    space = tkl.sym.ADDRESS_SPACE
    k = copied([HARDWARE], tkl.Memory[M, N, space, tkl.f32])
    refused(errors.BadBinding, lambda: lowered(k, {**SIZES, space: 1}), name="ADDRESS_SPACE")


def test_tiles_come_out_whole() -> None:
    k = copied([HARDWARE, tkw.WorkgroupConstraint(M, BLOCK_M / 2, 0)])
    error = refused(errors.NotWhole, lambda: lowered(k, {**SIZES, BLOCK_M: 5}))
    assert "BLOCK_M/2 = 5/2" in str(error)
    lowered(k, {**SIZES, BLOCK_M: 4})


@pytest.mark.parametrize("width", [0, -1, M - 4])
def test_widths_come_out_whole(width: Any) -> None:
    def body(a: Any, c: Any) -> None:
        tkw.write(tkw.read(a, elements_per_thread=width), c)

    body_refused(errors.NotWhole, body)


# --- constraints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tile", [4.0, "4", None, [4], True])
def test_tiles_are_numbers_or_expressions(tile: Any) -> None:
    refused(
        errors.BadConstraint,
        lambda: tkw.WorkgroupConstraint(M, tile, 0),  # the line shown
        at="tkw.WorkgroupConstraint(M, tile, 0)",
        kind="WorkgroupConstraint",
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"threads_per_wave": 0},
        {"threads_per_wave": "64"},
        {"threads_per_wave": 64, "waves_per_block": (1, 1)},
        {"threads_per_wave": 64, "waves_per_block": (0, 1, 1)},
        {"threads_per_wave": 64, "vector_shapes": {M: 1.5}},
        {"threads_per_wave": 64, "mma_type": "f32_16x16x16"},
    ],
)
def test_the_machine_is_described_by_whole_numbers(wrong: dict[str, Any]) -> None:
    refused(errors.BadConstraint, lambda: tkw.HardwareConstraint(**wrong), at="tkw.HardwareC")


@pytest.mark.parametrize("wrong", [3, HARDWARE, [HARDWARE, 3], "x"])
def test_a_kernel_takes_a_list_of_constraints(wrong: Any) -> None:
    refused(errors.BadConstraint, lambda: copied(wrong))


@pytest.mark.parametrize(
    "make",
    [
        lambda: tkw.TilingConstraint(64, N),
        lambda: tkw.TilingConstraint("N", 64),
        lambda: tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={"M": 1}),
    ],
)
def test_dims_are_symbols(make: Callable[[], Any]) -> None:
    refused(errors.NotADim, make, at="tkw.")


def test_two_constraints_of_a_kind_for_a_dim() -> None:
    k = looped([*LOOPED, tkw.TilingConstraint(N, 128)])
    refused(errors.DuplicateConstraint, lambda: lowered(k), dim="N", first=64, second=128)


def test_two_dims_on_one_workgroup_dim() -> None:
    k = copied([HARDWARE, tkw.WorkgroupConstraint(M, 1, 0), tkw.WorkgroupConstraint(N, 64, 0)])
    refused(errors.SharedWorkgroupDim, lambda: lowered(k), first="M", second="N", axis=0)


@pytest.mark.parametrize("axis", [3, -1])
def test_a_grid_has_three_dims(axis: int) -> None:
    k = copied([HARDWARE, tkw.WorkgroupConstraint(M, 1, axis)])
    refused(errors.BadWorkgroupDim, lambda: lowered(k), axis=axis)


@pytest.mark.parametrize(
    "extra",
    [
        tkw.WorkgroupConstraint(K, 1, 0),
        tkw.WaveConstraint(K, 1),
        tkw.TilingConstraint(K, 1),
        tkw.ParallelTilingConstraint(K, 1),
    ],
)
def test_a_constraint_on_a_dim_that_no_tensor_has(extra: Constraint) -> None:
    bindings = {**SIZES, K: 4}
    error = refused(
        errors.UnknownDim, lambda: lowered(copied([HARDWARE, extra]), bindings), dim="K"
    )
    assert error.facts["known"] == "M, N"


def test_a_vector_shape_for_a_dim_that_no_tensor_has() -> None:
    hardware = tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={K: 1})
    refused(errors.UnknownDim, lambda: lowered(copied([hardware]), {**SIZES, K: 4}), dim="K")


def test_an_operation_on_a_dim_that_no_tensor_has() -> None:
    def body(a: Any, c: Any) -> None:
        tkw.write(tkw.read(a) + tkl.Register[K, tkl.f32](0), c)

    body_refused(errors.UnknownDim, body, at="tkl.Register[K", dim="K")


@pytest.mark.parametrize("constraints", [[], [HARDWARE, HARDWARE]])
def test_one_machine(constraints: list[Constraint]) -> None:
    refused(errors.MissingHardware, lambda: lowered(copied(constraints)), count=len(constraints))


# --- waves ----------------------------------------------------------------------------------------


def waves(*given: int) -> Constraint:
    """A machine with waves along the grid's dims."""
    return tkw.HardwareConstraint(64, waves_per_block=given, vector_shapes={M: 1, N: 16})  # pyright: ignore


def test_waves_are_given_once() -> None:
    k = copied([waves(3, 1, 1), tkw.WorkgroupConstraint(N, 64, 0), tkw.WaveConstraint(N, 32)])
    refused(errors.WavesDisagree, lambda: lowered(k), given=3, derived=2, dim="N")


def test_waves_that_no_dim_uses() -> None:
    k = copied([waves(1, 4, 1), tkw.WorkgroupConstraint(N, 64, 0)])
    refused(errors.UnusedWaves, lambda: lowered(k), count=4, axis=1)


def test_waves_share_a_tile_evenly() -> None:
    k = copied([HARDWARE, tkw.WorkgroupConstraint(N, 192, 0), tkw.WaveConstraint(N, 80)])
    error = refused(errors.WavesDoNotDivide, lambda: lowered(k, {M: 4, N: 1000}), wave=80, tile=192)
    assert error.facts["nearest"] == "64 and 96"


def test_a_workgroup_has_room_for_its_waves() -> None:
    k = copied([waves(32, 1, 1), tkw.WorkgroupConstraint(N, 512, 0)])
    refused(errors.TooManyThreads, lambda: lowered(k, {M: 4, N: 1024}), threads=2048, limit=1024)


def test_a_grid_has_limits() -> None:
    k = copied([HARDWARE, tkw.WorkgroupConstraint(M, 1, 1)])
    error = refused(errors.GridTooLarge, lambda: lowered(k, {M: 70000, N: 64}), count=70000)
    assert "put M on workgroup dim 0" in str(error)


# --- tiles ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tile", "nearest"), [(80, "64 and 128"), (1, "64"), (63, "64"), (130, "128 and 192")]
)
def test_a_vector_shape_fits_the_loop_tile(tile: int, nearest: str) -> None:
    k = looped([HARDWARE, tkw.TilingConstraint(N, BLOCK_N)])
    bindings = {**SIZES, BLOCK_N: tile}
    error = refused(errors.TileNotMultiple, lambda: lowered(k, bindings), tile=tile, dim="N")
    assert error.facts["nearest"] == nearest


def test_a_workgroup_tile_is_a_multiple_of_waves_times_piece() -> None:
    k = copied([HARDWARE, tkw.WorkgroupConstraint(N, 96, 0)])
    refused(errors.TileNotMultiple, lambda: lowered(k, {M: 4, N: 1000}), nearest="64 and 128")


def test_a_workgroup_tile_is_a_multiple_of_the_loop_tile() -> None:
    k = looped([HARDWARE, tkw.TilingConstraint(N, 128), tkw.WorkgroupConstraint(N, 192, 0)])
    refused(errors.TileNotNested, lambda: lowered(k, {M: 4, N: 1000}), nearest="128 and 256")


def test_a_tile_larger_than_its_dim_is_masked() -> None:
    small = case("row_max_add", m=2, n=5)
    inputs, output = small.inputs(), small.output()
    explorer.interpret(small.kernel, small.bindings, *inputs, output)
    small.check(output, inputs)


def test_a_loop_needs_a_step() -> None:
    error = refused(errors.LoopWithoutTiling, lambda: lowered(looped([HARDWARE])), dim="N")
    assert "tkw.iterate(N" in str(error)


def test_a_step_needs_a_loop() -> None:
    refused(errors.UnusedTiling, lambda: lowered(copied(LOOPED)), dim="N", tile=64)


def test_waves_that_need_more_shared_memory_than_there_is() -> None:
    hardware = tkw.HardwareConstraint(64, vector_shapes={M: 128, N: 64})
    constraints = [
        hardware,
        tkw.WorkgroupConstraint(N, N, 0),
        tkw.TilingConstraint(N, 1024),
        tkw.WaveConstraint(N, 64),
    ]

    @tkw.wave(constraints)
    def kernel(a: F32, c: tkl.Memory[M, SPACE, tkl.f32]) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def top(partial: ROW) -> ROW:
            return tkw.max(tkw.read(a), partial, dim=N)

        tkw.write(top, c)

    error = refused(
        errors.SharedMemoryTooLarge,
        lambda: explorer.compile(kernel, {M: 128, N: 2048}, target="gfx942"),
        target="gfx942",
    )
    assert error.recording is not None
    assert error.recording.passes[-1].status == "failed"


def test_too_many_copies() -> None:
    small = case("nested_loops", m=2, n=100)
    refused(
        errors.TooManyCopies,
        lambda: lowered(small.kernel, small.bindings, unroll_limit=1),
        at="tkl.Register[M, K, dtype](0)",
        copies=2,
        limit=1,
    )
