"""Mistakes in types, and kernels that the compiler cannot do.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

from collections.abc import Callable
from typing import Any

import pytest

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import SPACE, M, N
from core.refusals import F32, HARDWARE, LOOPED, ROW, body_refused, lowered, refused
from explorer.compiler import errors
from explorer.compiler.trace.kernel import Kernel

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
