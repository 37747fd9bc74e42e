"""Every mistake a person can make is named, placed at its line, and told how to mend.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
import torch

import explorer
import explorer.lang as tkl
import explorer.wave as tkw
from core import postponed
from core.cases import BLOCK_M, BLOCK_N, SPACE, K, M, N
from core.kernels import case
from explorer.compiler import errors
from explorer.compiler.driver import Options, lower
from explorer.compiler.errors import ExplorerError, InternalError, MissingFact
from explorer.compiler.ir.graph import Node
from explorer.compiler.lang.constraints import Constraint
from explorer.compiler.lang.targets import UnknownTarget, target
from explorer.compiler.ops.control import Carried
from explorer.compiler.trace.kernel import Kernel

F32 = tkl.Memory[M, N, SPACE, tkl.f32]
ROW = tkl.Register[M, tkl.f32]
SIZES = {M: 4, N: 100}
HARDWARE = tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64})
LOOPED = [HARDWARE, tkw.TilingConstraint(N, 64)]


def lowered(kernel: Kernel, bindings: Any = SIZES, to: str = "gfx942", **options: Any) -> None:
    """All passes over the kernel."""
    lower(kernel, bindings, target(to), Options.of(options))


def refused(
    kind: type[ExplorerError], action: Callable[[], Any], /, at: str | None = None, **facts: object
) -> ExplorerError:
    """Assert that ``action`` raises ``kind`` with ``facts``, a hint, and a caret under ``at``."""
    with pytest.raises(ExplorerError) as found:
        action()
    error = found.value
    assert type(error) is kind, error
    assert error.advice
    assert error.advice in str(error)
    assert {n: str(error.facts[n]) for n in facts} == {n: str(v) for n, v in facts.items()}
    if at is not None:
        assert error.location is not None
        *_, line, caret, _ = str(error).splitlines()
        assert line[caret.index("^") :].startswith(at), str(error)
    return error


def body_refused(
    kind: type[ExplorerError],
    body: Callable[[Any, Any], Any],
    at: str | None = None,
    constraints: Sequence[Constraint] = (HARDWARE,),
    bindings: Any = SIZES,
    **facts: object,
) -> ExplorerError:
    """Assert that a kernel of a[M, N] and c[M, N] with this body is refused."""

    @tkw.wave(constraints)
    def kernel(a: F32, c: F32) -> Any:
        return body(a, c)

    return refused(kind, lambda: lowered(kernel, bindings), at, **facts)


def copied(constraints: Sequence[Constraint], memory: Any = F32) -> Kernel:
    """A copy."""

    @tkw.wave(constraints)
    def kernel(a: memory, c: memory) -> None:
        tkw.write(tkw.read(a), c)

    return kernel


def looped(constraints: Sequence[Constraint]) -> Kernel:
    """A row maximum in a loop, added to the row."""

    @tkw.wave(constraints)
    def kernel(a: F32, c: F32) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def top(partial: ROW) -> ROW:
            return tkw.max(tkw.read(a), partial, dim=N)

        tkw.write(tkw.read(a) + top, c)

    return kernel


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


# --- tracing --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "look",
    [
        lambda p: max(p, p),
        lambda p: p and p,
        lambda p: not p,
        lambda p: 0 < p < 1,
        lambda p: p or p,
        lambda p: float(p),
        lambda p: int(p),
        lambda p: [0, 1][p],
        lambda p: len(p),
        lambda p: list(p),
        lambda p: sum(p),
        lambda p: 1 in p,
    ],
)
def test_python_cannot_look_into_a_value(look: Callable[[Any], Any]) -> None:
    error = body_refused(errors.NotTraceable, lambda a, _: look(tkw.read(a)))
    assert error.location is not None
    assert "lambda p" in error.location.text


def test_a_branch_on_a_value_points_at_the_branch() -> None:
    def body(a: Any, c: Any) -> None:
        x = tkw.read(a)
        if x > 0:
            tkw.write(x, c)

    error = body_refused(errors.NotTraceable, body)
    assert error.location is not None
    assert error.location.text.strip() == "if x > 0:"
    assert "tkw.select" in str(error)


def test_unpacking_a_single_value() -> None:
    def body(a: Any, c: Any) -> None:
        x, y = tkw.read(a)
        tkw.write(x + y, c)

    body_refused(errors.NotTraceable, body, at="x, y = ")


@pytest.mark.parametrize("look", [lambda p: p.foo, lambda p: p.shape, lambda p: p[0]])
def test_values_have_no_attributes_and_items(look: Callable[[Any], Any]) -> None:
    body_refused(errors.NoAttribute, lambda a, _: look(tkw.read(a)), at="p")


def test_memory_is_not_assigned_to() -> None:
    def body(a: Any, c: Any) -> None:
        c[0] = tkw.read(a)

    error = body_refused(errors.NotTraceable, body, at="c[0]")
    assert "tkw.write(value, memory)" in str(error)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda a, c: tkw.write(a, c),
        lambda a, c: tkw.write(3, c),
        lambda a, c: tkw.write(tkw.read(a) + a, c),
        lambda a, c: tkw.write(tkw.read(a) + "x", c),
        lambda a, c: tkw.write(tkw.read(a) + True, c),
        lambda a, c: tkw.write(tkw.read(a) ** 2, c),
        lambda a, c: tkw.write(tkw.read(tkw.read(a)), c),
        lambda a, c: tkw.write(tkw.read(a), tkw.read(a)),
        lambda a, c: tkw.write(tkw.cast(tkw.read(a), "f16"), c),
        lambda a, c: tkw.write(torch.exp(tkw.read(a)), c),
        lambda a, c: tkw.write(tkw.read(a) * N, c),
        lambda a, c: tkw.write(tkl.Register[M, N, tkl.f32](tkw.read(a)), c),
        lambda a, c: tkw.write(tkl.Register[M, N, tkl.f32]("0"), c),
    ],
)
def test_what_is_no_value(wrong: Callable[[Any, Any], None]) -> None:
    error = body_refused(errors.NotAValue, wrong)
    assert error.location is not None
    assert error.location.text.strip().startswith("lambda a, c:")


def test_a_symbol_is_no_value_on_the_left_either() -> None:
    def body(a: Any, c: Any) -> None:
        tkw.write(N * tkw.read(a), c)

    body_refused(errors.NotAValue, body, at="N * tkw.read(a)")


def test_a_number_is_no_loop_result() -> None:
    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def loop(x: Any) -> Any:
            return 0

        tkw.write(tkw.read(a) + loop, c)

    body_refused(errors.NotAValue, body, constraints=LOOPED)


def test_a_dim_of_an_operation_is_a_symbol() -> None:
    body_refused(errors.NotADim, lambda a, _: tkw.max(tkw.read(a), dim=1), at="tkw.max(")
    body_refused(errors.NotADim, lambda a, _: tkw.max(tkw.read(a)), at="tkw.max(")
    body_refused(errors.NotADim, lambda *_: tkw.iterate("N")(lambda: None), at='tkw.iterate("N")')


def test_a_value_stays_in_its_loop() -> None:
    kept: list[Any] = []

    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def loop(x: Any) -> Any:
            kept.append(tkw.max(tkw.read(a), x, dim=N))
            return kept[0]

        tkw.write(tkw.read(a) + kept[0], c)

    body_refused(errors.ValueLeftLoop, body, "tkw.read(a) + kept[0]", LOOPED)


def test_a_value_stays_in_its_kernel() -> None:
    kept: list[Any] = []

    def first(a: Any, c: Any) -> None:
        kept.append(tkw.read(a))
        tkw.write(kept[0], c)

    def second(a: Any, c: Any) -> None:
        tkw.write(tkw.read(a) + kept[0], c)

    @tkw.wave([HARDWARE])
    def kernel(a: F32, c: F32) -> None:
        first(a, c)

    lowered(kernel)
    body_refused(errors.ValueLeftLoop, second, at="tkw.read(a) + kept[0]")


@pytest.mark.parametrize(
    "outside",
    [
        lambda: tkw.read(None),
        lambda: tkw.exp2(1.0),
        lambda: tkw.iterate(N)(lambda: None),
        lambda: tkl.Register[M, tkl.f32](0),
        lambda: copied([HARDWARE])(1, 2),
    ],
)
def test_operations_need_a_kernel_around(outside: Callable[[], Any]) -> None:
    refused(errors.OutsideKernel, outside)


# --- signatures -----------------------------------------------------------------------------------


def test_parameters_are_annotated_with_memory() -> None:
    def bare(a, c) -> None: ...  # noqa: ANN001

    def register(a: ROW) -> None: ...

    def several(*a: F32) -> None: ...

    def named(a: F32, *, c: F32) -> None: ...

    for function in (bare, register, several, named):
        error = refused(errors.BadParameter, lambda f=function: tkw.wave([HARDWARE])(f))
        assert error.facts["kernel"] == function.__name__


def test_postponed_annotations_are_looked_up_by_name() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    output = np.zeros_like(x)
    explorer.interpret(postponed.doubled([HARDWARE]), {M: 3, N: 4}, x, output)
    np.testing.assert_array_equal(output, x * 2)


def test_postponed_annotations_are_never_evaluated() -> None:
    error = refused(errors.BadParameter, lambda: postponed.spelled_out([HARDWARE]), name="a")
    assert "from __future__ import annotations" in str(error)


@pytest.mark.parametrize(
    "spell",
    [
        lambda: tkl.Memory[M, N],
        lambda: tkl.Memory[M, N, tkl.f32, SPACE],
        lambda: tkl.Memory[4, SPACE, tkl.f32],
        lambda: tkl.Memory[SPACE, tkl.f32],
        lambda: tkl.Memory[M, M, SPACE, tkl.f32],
        lambda: tkl.Register[M],
        lambda: tkl.Register[M, "f32"],
        lambda: tkl.Register["M", tkl.f32],
    ],
)
def test_types_are_spelled_with_all_parts(spell: Callable[[], Any]) -> None:
    refused(errors.BadTypeSpelling, spell)


def test_parameters_live_in_global_memory() -> None:
    k = copied([HARDWARE], tkl.Memory[M, N, tkl.SHARED_ADDRESS_SPACE, tkl.f32])
    refused(errors.SharedParameter, lambda: lowered(k), name="a")


def test_a_kernel_returns_nothing() -> None:
    body_refused(errors.KernelReturns, lambda a, _: tkw.read(a), kernel="kernel")


def test_a_kernel_writes_something() -> None:
    def body(a: Any, c: Any) -> None:
        tkw.read(a)

    body_refused(errors.NoWrite, body, kernel="kernel")


def test_a_loop_returns_what_it_carries() -> None:
    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def loop(x: Any) -> Any:
            return x, x

        tkw.write(tkw.read(a) + loop, c)

    body_refused(errors.WrongYield, body, constraints=LOOPED, want=1, loop="loop")


def test_a_loop_takes_what_it_carries() -> None:
    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def loop(x: Any, y: Any) -> Any:
            return x

        tkw.write(tkw.read(a) + loop, c)

    body_refused(errors.BodySignature, body, constraints=LOOPED, want=1, found=2)


# --- types ----------------------------------------------------------------------------------------


def kernel_of(body: Callable[..., None], *memories: Any, looped: bool = False) -> Kernel:
    """A kernel of two inputs and an output of these types."""
    first, second, output = memories

    @tkw.wave(LOOPED if looped else [HARDWARE])
    def kernel(a: first, b: second, c: output) -> None:
        body(a, b, c)

    return kernel


MEMORY_M, MEMORY_N = tkl.Memory[M, SPACE, tkl.f32], tkl.Memory[N, SPACE, tkl.f32]
HALF, WHOLE = tkl.Memory[M, N, SPACE, tkl.f16], tkl.Memory[M, N, SPACE, tkl.i32]
TRANSPOSED = tkl.Memory[N, M, SPACE, tkl.f32]


@pytest.mark.parametrize(("first", "second"), [(MEMORY_M, MEMORY_N), (F32, TRANSPOSED)])
def test_dims_fit_together(first: Any, second: Any) -> None:
    def body(a: Any, b: Any, c: Any) -> None:
        tkw.write(tkw.read(a) + tkw.read(b), c)

    k = kernel_of(body, first, second, F32)
    error = refused(errors.DimsDiffer, lambda: lowered(k), at="tkw.read(a) + tkw.read(b)")
    assert "tkw.broadcast" in str(error)
    assert "tkw.permute" in str(error)


def test_element_types_fit_together() -> None:
    def body(a: Any, b: Any, c: Any) -> None:
        tkw.write(tkw.read(a) * tkw.read(b), c)

    k = kernel_of(body, F32, HALF, F32)
    error = refused(errors.DTypesDiffer, lambda: lowered(k), at="tkw.read(a) * tkw.read(b)")
    assert "tkw.cast(value, tkl.f32)" in str(error)


@pytest.mark.parametrize(
    ("body", "op"),
    [
        (lambda a, b, c: tkw.write(tkw.exp2(tkw.read(a)), c), "exp2"),
        (lambda a, b, c: tkw.write(tkw.read(a) / tkw.read(b), c), "div"),
        (lambda a, b, c: tkw.write(tkw.select(tkw.read(a), 1, tkw.read(b)), c), "select"),
        (lambda a, b, c: tkw.write(-(tkw.read(a) > 0), c), "neg"),
        (lambda a, b, c: tkw.write(tkw.max(tkw.read(a) > 0, dim=N), c), "max"),
    ],
)
def test_an_op_on_elements_it_is_not_for(body: Callable[..., None], op: str) -> None:
    k = kernel_of(body, WHOLE, WHOLE, WHOLE)
    refused(errors.WrongDType, lambda: lowered(k), op=op)


def test_booleans_are_not_kept_in_memory() -> None:
    flags = tkl.Memory[M, N, SPACE, tkl.i1]
    k = kernel_of(lambda a, _, c: tkw.write(tkw.read(a) > 0, c), F32, F32, flags)
    refused(errors.UnsupportedElements, lambda: lowered(k))


@pytest.mark.parametrize("number", [0.5, 2**40, -(2**40), float("inf"), float("nan"), 1e30])
def test_integers_hold_whole_numbers_of_their_size(number: float) -> None:
    def plus(a: Any, b: Any, c: Any) -> None:
        tkw.write(tkw.read(a) + number, c)

    def filled(a: Any, b: Any, c: Any) -> None:
        tkw.write(tkw.read(a) + tkl.Register[M, N, tkl.i32](number), c)

    for body in (plus, filled):
        k = kernel_of(body, WHOLE, WHOLE, WHOLE)
        error = refused(errors.LiteralDoesNotFit, lambda k=k: lowered(k), dtype="i32")
        assert error.location is not None


def test_a_reduction_over_a_dim_that_is_not_there() -> None:
    def body(a: Any, c: Any) -> None:
        tkw.write(tkw.read(a) + tkw.max(tkw.max(tkw.read(a), dim=N), dim=N), c)

    body_refused(errors.NoSuchDim, body, at="tkw.max(tkw.max(", dim="N", dims="M")


def test_a_reduction_starts_from_its_own_type() -> None:
    def body(a: Any, c: Any) -> None:
        x = tkw.read(a)
        tkw.write(x + tkw.max(x, x, dim=N), c)

    body_refused(errors.AccumulatorDiffers, body, at="tkw.max(x, x, dim=N)", want="f32[M]")


@pytest.mark.parametrize(
    ("memory", "advice"), [(HALF, "tkw.cast"), (MEMORY_M, ""), (TRANSPOSED, "order")]
)
def test_a_value_is_written_to_memory_of_its_type(memory: Any, advice: str) -> None:
    k = kernel_of(lambda a, _, c: tkw.write(tkw.read(a), c), F32, F32, memory)
    error = refused(errors.WriteDiffers, lambda: lowered(k), at="tkw.write(", value="f32[M, N]")
    assert advice in error.advice


def test_a_row_is_broadcast_before_it_is_written() -> None:
    k = kernel_of(lambda a, _, c: tkw.write(tkw.read(a), c), MEMORY_M, F32, F32)
    error = refused(errors.WriteDiffers, lambda: lowered(k))
    assert "tkw.broadcast(value, [M, N])" in str(error)


def test_a_loop_does_not_yield_its_own_dim() -> None:
    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def loop(x: Any) -> Any:
            return tkw.read(a) + x

        tkw.write(tkw.read(a) + loop, c)

    error = body_refused(errors.YieldKeepsAxis, body, "tkw.read(a) + x", LOOPED, dim="N")
    assert "reduce it over N" in str(error)


def test_a_loop_yields_the_type_it_carries() -> None:
    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[tkl.f32](0)])
        def loop(x: Any) -> Any:
            return tkw.max(tkw.read(a), dim=N)

        tkw.write(tkw.read(a) + loop, c)

    body_refused(errors.YieldDiffers, body, "tkw.max(", LOOPED, want="f32[]", found="f32[M]")


def test_a_broadcast_keeps_all_dims_in_order() -> None:
    for dims in ([N], [N, M]):

        def body(a: Any, c: Any, dims: Any = dims) -> None:
            tkw.write(tkw.broadcast(tkw.read(a), dims), c)

        body_refused(errors.BroadcastDims, body, at="tkw.broadcast(", dims="M, N")


def test_a_dim_is_walked_once_at_a_time() -> None:
    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def outer(x: Any) -> Any:
            @tkw.iterate(N, init_args=[x])
            def inner(y: Any) -> Any:
                return tkw.max(tkw.read(a), y, dim=N)

            return inner

        tkw.write(tkw.read(a) + outer, c)

    body_refused(errors.NestedSameAxis, body, constraints=LOOPED, inner="inner", outer="outer")


# --- what the compiler cannot do ------------------------------------------------------------------


def test_a_loop_result_with_another_loops_dim() -> None:
    constraints = [HARDWARE, tkw.TilingConstraint(N, 64), tkw.TilingConstraint(M, 2)]

    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def row(x: Any) -> Any:
            return tkw.max(tkw.read(a), x, dim=N)

        @tkw.iterate(M, init_args=[tkl.Register[tkl.f32](0)])
        def total(x: Any) -> Any:
            return tkw.sum(row, x, dim=M)

        tkw.write(tkw.read(a) + total, c)

    body_refused(errors.ValueCrossesLoop, body, constraints=constraints, dim="M", loop="total")


def test_a_loop_that_two_generated_loops_need() -> None:
    constraints = [*LOOPED, tkw.ParallelTilingConstraint(M, 2)]

    @tkw.wave(constraints)
    def kernel(a: F32, c: tkl.Memory[M, SPACE, tkl.f32]) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def row(x: Any) -> Any:
            return tkw.max(tkw.read(a), x, dim=N)

        tkw.write(row - tkw.sum(row, dim=M), c)

    refused(errors.NeededTwice, lambda: lowered(kernel), dim="M")


def test_a_reduction_over_a_dim_in_several_workgroups() -> None:
    constraints = [HARDWARE, tkw.WorkgroupConstraint(N, 64, 0)]

    def body(a: Any, c: Any) -> None:
        x = tkw.read(a)
        tkw.write(x + tkw.max(x, dim=N), c)

    error = body_refused(
        errors.ReducesAcrossWorkgroups, body, "tkw.max(x, dim=N)", constraints, tile=64, size=100
    )
    assert "@tkw.iterate(N" in str(error)


def test_a_write_in_a_loop_that_several_workgroups_repeat() -> None:
    constraints = [*LOOPED, tkw.WorkgroupConstraint(N, 64, 0)]

    def body(a: Any, c: Any) -> None:
        @tkw.iterate(N)
        def loop() -> None:
            tkw.write(tkw.read(a), c)

    body_refused(errors.WriteInLoopAcrossWorkgroups, body, "tkw.write(", constraints, count=2)


def test_a_tensor_both_read_and_written() -> None:
    def body(a: Any, c: Any) -> None:
        tkw.write(tkw.read(a) + tkw.read(c), c)

    body_refused(errors.ReadAndWritten, body, memory="c")


def test_a_tensor_written_twice() -> None:
    def body(a: Any, c: Any) -> None:
        tkw.write(tkw.read(a), c)
        tkw.write(tkw.read(a) * 2, c)

    body_refused(errors.WrittenTwice, body, at="tkw.write(tkw.read(a) * 2, c)", memory="c")


# --- calling --------------------------------------------------------------------------------------


def test_an_unknown_option() -> None:
    k = copied([HARDWARE])
    error = refused(
        errors.UnknownOption, lambda: explorer.compile(k, SIZES, unrol_limit=3), name="unrol_limit"
    )
    assert "did you mean unroll_limit?" in str(error)


def test_an_unknown_pass() -> None:
    k = copied([HARDWARE])
    x = np.zeros((4, 100), np.float32)
    error = refused(
        errors.UnknownPass, lambda: explorer.interpret(k, SIZES, x, x.copy(), after="expnd")
    )
    assert "did you mean expand?" in str(error)


def test_an_unknown_target() -> None:
    k = copied([HARDWARE])
    error = refused(UnknownTarget, lambda: explorer.compile(k, SIZES, target="gfx943"))
    assert "gfx942" in str(error)


GOOD = np.zeros((4, 100), np.float32)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ((GOOD,), "list"),
        ((GOOD, GOOD.copy(), GOOD.copy()), "list"),
        ((GOOD, np.zeros((4, 99), np.float32)), "c"),
        ((np.zeros(400, np.float32), GOOD), "a"),
        ((GOOD.T, GOOD), "a"),
        ((GOOD.astype(np.float64), GOOD), "a"),
        ((torch.zeros(4, 100, dtype=torch.float16), GOOD), "a"),
        ((torch.zeros(4, 100, device="meta"), GOOD), "a"),
        ((GOOD.tolist(), GOOD), "a"),
        ((GOOD, None), "c"),
        ((GOOD, 3), "c"),
    ],
)
def test_arguments_of_the_wrong_kind(wrong: tuple[Any, ...], name: str) -> None:
    k = copied([HARDWARE])
    refused(errors.WrongArgument, lambda: explorer.interpret(k, SIZES, *wrong), name=name)


def test_an_output_that_cannot_be_written() -> None:
    frozen = GOOD.copy()
    frozen.flags.writeable = False
    k = copied([HARDWARE])
    refused(errors.WrongArgument, lambda: explorer.interpret(k, SIZES, GOOD, frozen))


@pytest.mark.parametrize("second", [GOOD, GOOD[:], GOOD.reshape(-1).reshape(4, 100)])
def test_arguments_that_overlap(second: Any) -> None:
    k = copied([HARDWARE])
    refused(
        errors.ArgumentsOverlap, lambda: explorer.interpret(k, SIZES, GOOD, second), written="c"
    )


# --- what all errors share ------------------------------------------------------------------------


def test_settings_are_checked_without_compiling() -> None:
    k = looped([HARDWARE, tkw.TilingConstraint(N, BLOCK_N)])
    assert explorer.check(k, {**SIZES, BLOCK_N: 128}) == ()
    (problem,) = explorer.check(k, {**SIZES, BLOCK_N: 80}, "gfx942")
    assert problem.kind == "TileNotMultiple"
    assert problem.advice == "the nearest legal values are 64 and 128"
    assert str(problem).endswith(problem.advice)


def test_a_kernel_without_source_shows_its_place_alone() -> None:
    made: dict[str, Any] = {"tkw": tkw, "F32": F32, "HARDWARE": HARDWARE}
    text = (
        "@tkw.wave([HARDWARE])\ndef kernel(a: F32, c: F32):\n    tkw.write(tkw.read(a) + 'x', c)\n"
    )
    exec(compile(text, "<no text>", "exec"), made)
    assert made["kernel"].source is None
    error = refused(errors.NotAValue, lambda: lowered(made["kernel"]))
    assert error.location is not None
    assert (error.location.file, error.location.line) == ("<no text>", 3)
    assert "<no text>:3:" in str(error)
    assert "^" not in str(error)


def test_asking_too_early_names_the_pass_to_run() -> None:
    node = Node("read_1", Carried())
    with pytest.raises(MissingFact, match="read_1 has no index yet; run infer-indices first"):
        _ = node.placed
    with pytest.raises(InternalError, match="run infer-types first"):
        _ = node.tile


def test_symbols_carry_their_assumptions() -> None:
    assert M is tkl.sym.M
    assert M.is_positive
    assert M.is_integer
    assert sympy.Symbol("M") != M
    assert not hasattr(tkl.sym, "__wrapped__")


def person_errors() -> set[type[ExplorerError]]:
    """All classes of mistakes in the module of errors."""
    found = vars(errors).values()
    return {c for c in found if inspect.isclass(c) and issubclass(c, ExplorerError)} - {
        ExplorerError
    }


@pytest.mark.parametrize("kind", sorted(person_errors(), key=lambda c: c.__name__))
def test_a_mistake_is_described(kind: type[ExplorerError]) -> None:
    assert kind.__doc__
    assert kind.template != ExplorerError.template
    assert kind.hint


def test_every_mistake_is_made_in_this_file() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    missing = {c.__name__ for c in person_errors() if f"errors.{c.__name__}" not in source}
    assert missing == set()
