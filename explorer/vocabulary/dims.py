"""Dims given to the functions of the language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from explorer.compiler.errors import NotADim
from explorer.compiler.trace.places import here


def one_dim(op: str, dim: Any) -> sympy.Symbol:
    """``dim`` if it is a symbol.

    Raises:
        NotADim: it is something else.
    """
    if isinstance(dim, sympy.Symbol):
        return dim
    raise NotADim(what=f"the dim of tkw.{op}", found=dim, location=here())


def some_dims(op: str, dims: Any) -> list[sympy.Symbol]:
    """``dims`` as a list of at least one symbol.

    Raises:
        NotADim: one of them is something else, or there is none.
    """
    listed: list[Any] = list(dims) if isinstance(dims, Sequence) and dims else [dims]  # pyright: ignore[reportUnknownArgumentType]
    return [one_dim(op, d) for d in listed]
