"""Types of values in the graph. Dims are names here; their sizes are in the tiling."""

from __future__ import annotations

from dataclasses import dataclass, replace

from explorer.compiler.lang.dtypes import DType
from explorer.compiler.lang.types import AddressSpace


@dataclass(frozen=True)
class TileType:
    """A value in registers: elements of ``dtype`` along ``dims``, outermost first."""

    dims: tuple[str, ...]
    dtype: DType

    def without(self, dim: str) -> TileType:
        """The same with ``dim`` taken out."""
        return replace(self, dims=tuple(d for d in self.dims if d != dim))

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(self.dims)}]"


@dataclass(frozen=True)
class MemoryType:
    """A tensor in memory, row-major."""

    dims: tuple[str, ...]
    dtype: DType
    space: AddressSpace

    def __str__(self) -> str:
        return f"memory {self.dtype}[{', '.join(self.dims)}]"


def is_subsequence(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether ``part`` is ``whole`` with some entries left out."""
    rest = iter(whole)
    return all(d in rest for d in part)
