"""Mistakes that show while a kernel is traced: Python on values, signatures.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import explorer
import explorer.lang as tkl
import explorer.wave as tkw
from core import postponed
from core.cases import SPACE, M, N
from core.refusals import (
    F32,
    HARDWARE,
    LOOPED,
    ROW,
    body_refused,
    copied,
    lowered,
    refused,
)
from explorer.compiler import errors

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
