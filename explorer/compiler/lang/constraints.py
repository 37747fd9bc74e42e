"""How a kernel is spread over workgroups, waves and lanes, and walked in tiles.

Tiles and shapes are numbers, symbols, or sympy expressions of symbols. The order of the constraints
of a kernel never matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from explorer.compiler.errors import BadConstraint, NotADim
from explorer.compiler.location import caller

Size = int | sympy.Expr
"""A number of elements, perhaps not known yet."""


GRID_DIMS = 3
"""Dims of a grid of workgroups."""


class Constraint:
    """Base of all constraints."""


def _require(fits: bool, kind: str, what: str, want: str, found: object) -> None:
    if not fits:
        # The frames of a dataclass's own __init__ have the file name <string>.
        place = caller(ignore=("<string>",))
        raise BadConstraint(kind=kind, what=what, want=want, found=found, location=place)


def _require_size(kind: str, what: str, size: object) -> None:
    fits = isinstance(size, int | sympy.Expr) and not isinstance(size, bool | sympy.Float)
    _require(fits, kind, what, "a number or an expression of symbols", size)


def _require_dim(dim: object, what: str) -> None:
    if not isinstance(dim, sympy.Symbol):
        raise NotADim(what=what, found=dim, location=caller(ignore=("<string>",)))


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _are_three(values: Any) -> bool:
    parts: list[Any] = list(values) if isinstance(values, tuple | list) else []  # pyright: ignore[reportUnknownArgumentType]
    return len(parts) == GRID_DIMS and all(map(_is_count, parts))


@dataclass(frozen=True)
class DimConstraint(Constraint):
    """A constraint that gives ``dim`` a ``tile``, in elements."""

    dim: sympy.Symbol
    tile: Size

    def __post_init__(self) -> None:
        kind = type(self).__name__
        _require_dim(self.dim, f"the dim of {kind}")
        _require_size(kind, "the tile", self.tile)


@dataclass(frozen=True)
class HardwareConstraint(Constraint):
    """The machine asked for.

    Args:
        threads_per_wave: lanes of a wave; a target that lacks that width uses its own.
        waves_per_block: waves of a workgroup along the workgroup dims 0, 1, 2; left out, they
            follow from the wave tiles.
        vector_shapes: elements one wave handles at once along each dim (0 means 1).
        mma_type: a matrix instruction. None are available yet.
    """

    threads_per_wave: int
    waves_per_block: tuple[int, int, int] | None = None
    vector_shapes: Mapping[sympy.Symbol, Size] | None = field(default=None, hash=False)
    mma_type: None = None

    def __post_init__(self) -> None:
        kind = type(self).__name__
        count, three = "a positive whole number", "three positive whole numbers"
        lanes = self.threads_per_wave
        _require(_is_count(lanes), kind, "threads_per_wave", count, lanes)
        waves: Any = self.waves_per_block
        _require(waves is None or _are_three(waves), kind, "waves_per_block", three, waves)
        no_mma = "None (no matrix instructions yet)"
        _require(self.mma_type is None, kind, "mma_type", no_mma, self.mma_type)
        for dim, shape in (self.vector_shapes or {}).items():
            _require_dim(dim, "a key of vector_shapes")
            _require_size(kind, f"the vector shape of {dim}", shape)


@dataclass(frozen=True)
class WorkgroupConstraint(DimConstraint):
    """Each workgroup owns ``tile`` elements of ``dim``, counted along ``workgroup_dim``."""

    workgroup_dim: int


@dataclass(frozen=True)
class TilingConstraint(DimConstraint):
    """Loops over ``dim`` walk it in steps of ``tile``."""


@dataclass(frozen=True)
class ParallelTilingConstraint(DimConstraint):
    """Outside of loops over ``dim``, it is walked by a generated loop in steps of ``tile``."""


@dataclass(frozen=True)
class WaveConstraint(DimConstraint):
    """Each wave of a workgroup owns ``tile`` of the elements handled at a time along ``dim``."""
