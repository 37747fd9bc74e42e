"""Positions, and values with their dims changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from explorer.compiler.lang.dtypes import DType
from explorer.compiler.trace.tracer import tracer_for
from explorer.vocabulary.dims import one_dim


def broadcast(x: Any, target_shape: Sequence[sympy.Symbol]) -> Any:
    """Repeat ``x`` along the dims of ``target_shape`` that it lacks."""
    return tracer_for("broadcast").record(
        "broadcast", x, dims=tuple(one_dim("broadcast", d) for d in target_shape)
    )


def permute(x: Any, target_shape: Sequence[sympy.Symbol]) -> Any:
    """``x`` with its dims in the order of ``target_shape``."""
    return tracer_for("permute").record(
        "permute", x, dims=tuple(one_dim("permute", d) for d in target_shape)
    )


def self_index(dim: sympy.Symbol, dtype: DType = DType.I32) -> Any:
    """The position of each element along ``dim``, counted from the start of the tensor.

    Args:
        dim: a dim of the kernel's tensors.
        dtype: an integer type that holds every position.

    Returns:
        A value of shape [dim].
    """
    return tracer_for("self_index").record(
        "self-index", dim=one_dim("self_index", dim), dtype=dtype
    )
