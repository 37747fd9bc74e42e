"""How a kernel is spread over workgroups, waves and lanes, and walked in tiles.

Tiles and shapes are numbers, symbols, or sympy expressions of symbols. The order of the constraints
of a kernel never matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import sympy

from explorer.compiler.errors import NotADim

Size = int | sympy.Expr
"""A number of elements, perhaps not known yet."""


class Constraint:
    """Base of all constraints."""


@dataclass(frozen=True)
class DimConstraint(Constraint):
    """A constraint that gives ``dim`` a ``tile``, in elements."""

    dim: sympy.Symbol
    tile: Size

    def __post_init__(self) -> None:
        if not isinstance(self.dim, sympy.Symbol):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotADim(what=f"the dim of {type(self).__name__}", found=self.dim)


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
        dims: Iterable[object] = self.vector_shapes or {}
        for dim in dims:
            if not isinstance(dim, sympy.Symbol):
                raise NotADim(what="a key of vector_shapes", found=dim)


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
