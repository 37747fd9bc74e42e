"""Reductions along one dim or several."""

from __future__ import annotations

from typing import Any

from explorer.compiler.lang.dtypes import DType
from explorer.compiler.trace.tracer import tracer_for
from explorer.vocabulary.dims import one_dim, some_dims
from explorer.vocabulary.shapes import self_index

LAST = 2**31 - 1
"""A position beyond all others, in i32."""


def max(source: Any, init: Any = None, dim: Any = None, block: bool = False) -> Any:  # noqa: A001
    """The largest element of ``source`` along ``dim`` and of ``init``; NaN if one is NaN.

    Args:
        source: shape [dims].
        init: shape [dims without dim]; left out: nothing.
        dim: the dim to reduce, or a list of dims.
        block: accepted for Wave's sake; all lanes and waves always take part.

    Returns:
        A value of shape [dims without dim].
    """
    return _reduce("max", source, init, dim)


def min(source: Any, init: Any = None, dim: Any = None, block: bool = False) -> Any:  # noqa: A001
    """The smallest element of ``source`` along ``dim`` and of ``init``; see ``max``."""
    return _reduce("min", source, init, dim)


def sum(source: Any, init: Any = None, dim: Any = None, block: bool = False) -> Any:  # noqa: A001
    """The sum of ``source`` along ``dim`` and ``init``, in the element type of ``source``.

    Takes what ``max`` takes. Elements are added in any order.
    """
    return _reduce("sum", source, init, dim)


def prod(source: Any, init: Any = None, dim: Any = None, block: bool = False) -> Any:
    """The product of ``source`` along ``dim`` and ``init``, in the element type of ``source``.

    Takes what ``max`` takes. Elements are multiplied in any order.
    """
    return _reduce("prod", source, init, dim)


def any(source: Any, init: Any = None, dim: Any = None, block: bool = False) -> Any:  # noqa: A001
    """Whether the condition ``source`` holds anywhere along ``dim``, or in ``init``."""
    return _reduce("any", source, init, dim)


def all(source: Any, init: Any = None, dim: Any = None, block: bool = False) -> Any:  # noqa: A001
    """Whether the condition ``source`` holds everywhere along ``dim``, and in ``init``."""
    return _reduce("all", source, init, dim)


def argmax(source: Any, dim: Any) -> Any:
    """The position of the largest element along ``dim``; the first of equals, or the first NaN.

    It is recorded as what it is made of: a maximum, a comparison, and the smallest position.

    Args:
        source: shape [dims].
        dim: the dim to search, at most 2^31 elements long. Inside a loop over it, the tile at hand
            is searched and the position counts from the start of the dim.

    Returns:
        i32 positions, shape [dims without dim].
    """
    return _first_best("argmax", max, source, dim)


def argmin(source: Any, dim: Any) -> Any:
    """The position of the smallest element along ``dim``; see ``argmax``."""
    return _first_best("argmin", min, source, dim)


def _first_best(name: str, reduction: Any, source: Any, dim: Any) -> Any:
    one_dim(name, dim)
    record = tracer_for(name).record
    hit = record("eq", source, reduction(source, dim=dim))
    nan = record("ne", source, source)
    position = record("select", record("or", hit, nan), self_index(dim, DType.I32), LAST)
    return min(position, dim=dim)


def _reduce(name: str, source: Any, init: Any, dim: Any) -> Any:
    *first, last = reversed(some_dims(name, dim))
    tracer = tracer_for(name)
    for d in first:
        source = tracer.record(name, source, dim=d)
    operands = (source,) if init is None else (source, init)
    return tracer.record(name, *operands, dim=last)
