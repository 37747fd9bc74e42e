"""The kernel language's operations and constraints, used as ``tkw``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy

from explorer.compiler.errors import NotAValue
from explorer.compiler.lang.constraints import (
    Constraint,
    HardwareConstraint,
    ParallelTilingConstraint,
    Size,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.ops.memory import Read, Write
from explorer.compiler.trace.kernel import Kernel
from explorer.compiler.trace.places import here
from explorer.compiler.trace.tracer import tracer_for
from explorer.vocabulary.reductions import all as all  # noqa: A004 (Wave's names)
from explorer.vocabulary.reductions import any as any  # noqa: A004
from explorer.vocabulary.reductions import argmax, argmin, prod
from explorer.vocabulary.reductions import max as max  # noqa: A004
from explorer.vocabulary.reductions import min as min  # noqa: A004
from explorer.vocabulary.reductions import sum as sum  # noqa: A004
from explorer.vocabulary.shapes import broadcast, permute, self_index

__all__ = [
    "Constraint",
    "HardwareConstraint",
    "ParallelTilingConstraint",
    "TilingConstraint",
    "WaveConstraint",
    "WorkgroupConstraint",
    "abs",
    "all",
    "any",
    "argmax",
    "argmin",
    "broadcast",
    "cast",
    "exp",
    "exp2",
    "iterate",
    "log",
    "log2",
    "max",
    "maximum",
    "min",
    "minimum",
    "permute",
    "prod",
    "read",
    "reciprocal",
    "reduction",
    "rsqrt",
    "select",
    "self_index",
    "sqrt",
    "sum",
    "tanh",
    "wave",
    "write",
]


def wave(constraints: Sequence[Constraint] = ()) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function whose parameters are annotated with ``tkl.Memory[...]``.

    Args:
        constraints: how the kernel is spread and walked, in any order.

    Raises:
        BadParameter: a parameter without such an annotation.
    """
    return lambda function: Kernel(function, constraints)


def iterate(
    axis: sympy.Symbol, init_args: Sequence[Any] = ()
) -> Callable[[Callable[..., Any]], Any]:
    """Loop over the tiles of ``axis``; decorates the body, and the name becomes the result.

    Args:
        axis: the dim to walk, in steps of its ``TilingConstraint``.
        init_args: initial values of what the loop carries; the body takes as many values and
            returns as many, none of which has the dim ``axis``.

    Returns:
        A decorator that gives one value, a tuple of several, or None for none.
    """
    return lambda body: tracer_for("iterate").iterate(axis, init_args, body)


reduction = iterate


def read(memory: Any, elements_per_thread: Size | None = None) -> Any:
    """Load a tile of ``memory``.

    Args:
        memory: a parameter of the kernel, shape [dims].
        elements_per_thread: neighbours one lane loads at once; it never changes the meaning.

    Returns:
        A value of shape [dims].
    """
    tracer = tracer_for("read")
    return tracer.create_proxy(
        "call_function",
        Read,
        (tracer.memory("read", memory),),
        {"width": elements_per_thread},
        "read",
    )


def write(value: Any, memory: Any, elements_per_thread: Size | None = None) -> None:
    """Store ``value`` of shape [dims] in ``memory`` of the same shape and element type.

    Args:
        value: what to store.
        memory: a parameter of the kernel.
        elements_per_thread: neighbours one lane stores at once; it never changes the meaning.
    """
    tracer = tracer_for("write")
    if isinstance(value, int | float):
        raise NotAValue(
            op="write",
            what="the value",
            want="a value in registers",
            found=f"the number {value}",
            advice="write tkl.Register[dims, dtype](number)",
            location=here(),
        )
    operands = (tracer.value("write", value, "the value"), tracer.memory("write", memory))
    tracer.create_proxy("call_function", Write, operands, {"width": elements_per_thread}, "write")


def exp(x: Any) -> Any:
    """E to the power of x, element by element."""
    return tracer_for("exp").record("exp", x)


def exp2(x: Any) -> Any:
    """2 to the power of x, element by element."""
    return tracer_for("exp2").record("exp2", x)


def log(x: Any) -> Any:
    """Natural logarithm, element by element."""
    return tracer_for("log").record("log", x)


def log2(x: Any) -> Any:
    """Logarithm to base 2, element by element."""
    return tracer_for("log2").record("log2", x)


def sqrt(x: Any) -> Any:
    """Square root, element by element."""
    return tracer_for("sqrt").record("sqrt", x)


def rsqrt(x: Any) -> Any:
    """1 over the square root, element by element."""
    return tracer_for("rsqrt").record("rsqrt", x)


def reciprocal(x: Any) -> Any:
    """1 over x, element by element."""
    return tracer_for("reciprocal").record("reciprocal", x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent, element by element."""
    return tracer_for("tanh").record("tanh", x)


def abs(x: Any) -> Any:  # noqa: A001
    """Absolute value, element by element."""
    return tracer_for("abs").record("abs", x)


def maximum(lhs: Any, rhs: Any) -> Any:
    """The larger of two, element by element; NaN if either is NaN."""
    return tracer_for("maximum").record("maximum", lhs, rhs)


def minimum(lhs: Any, rhs: Any) -> Any:
    """The smaller of two, element by element; NaN if either is NaN."""
    return tracer_for("minimum").record("minimum", lhs, rhs)


def select(condition: Any, if_true: Any, if_false: Any) -> Any:
    """``if_true`` where ``condition`` holds, else ``if_false``, element by element."""
    return tracer_for("select").record("select", condition, if_true, if_false)


def cast(x: Any, dtype: DType) -> Any:
    """``x`` with elements of type ``dtype``."""
    if not isinstance(dtype, DType):
        raise NotAValue(
            op="cast",
            what="the element type",
            want="one of tkl.f32, tkl.f16, ...",
            found=repr(dtype),
            advice="write tkw.cast(x, tkl.f32)",
            location=here(),
        )
    return tracer_for("cast").record("cast", x, dtype=dtype)
