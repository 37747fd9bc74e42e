"""Global memory: the kernel's arguments, and nothing around them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BASE = 0x7F40_0000_0000
"""Address of the first byte: large, so that a lost upper half shows."""

_ALIGNMENT = 256
_GUARD = 4096


@dataclass(frozen=True)
class Region:
    """One argument in global memory."""

    name: str
    offset: int
    size: int
    writable: bool

    @property
    def end(self) -> int:
        """Offset of the first byte after it."""
        return self.offset + self.size


class GlobalMemory:
    """Bytes of which only some regions may be touched."""

    def __init__(self, data: Array, regions: Sequence[Region]) -> None:
        """Take them as they are.

        Args:
            data: uint8; the first has the address ``BASE``.
            regions: what may be touched, in order of their offsets.
        """
        self.bytes = data
        self.words = data[: len(data) & ~3].view(np.uint32)
        self.regions = tuple(regions)
        self._starts = [region.offset for region in self.regions]

    @classmethod
    def holding(
        cls, arrays: Sequence[Array], written: Sequence[bool], names: Sequence[str]
    ) -> GlobalMemory:
        """A copy of the arguments, each between stretches that nothing may touch.

        Args:
            arrays: the arguments.
            written: for each whether the kernel may write it.
            names: what errors call them.
        """
        regions: list[Region] = []
        top = _GUARD
        for array, writable, name in zip(arrays, written, names, strict=True):
            start = -(-top // _ALIGNMENT) * _ALIGNMENT
            regions.append(Region(name, start, array.nbytes, writable))
            top = start + array.nbytes + _GUARD
        memory = cls(np.zeros(-(-top // 16) * 16, np.uint8), regions)
        for region, array in zip(regions, arrays, strict=True):
            raw = np.ascontiguousarray(array).view(np.uint8).ravel()
            memory.bytes[region.offset : region.end] = raw
        return memory

    def pointer(self, index: int) -> int:
        """Address of a region's first byte."""
        return BASE + self.regions[index].offset

    def copy_back(self, arrays: Sequence[Array]) -> None:
        """Put what the kernel wrote into the caller's arrays."""
        for region, array in zip(self.regions, arrays, strict=True):
            if region.writable:
                raw = self.bytes[region.offset : region.end]
                array[...] = raw.view(array.dtype).reshape(array.shape)

    def bad(self, offset: Array, size: int, *, store: bool) -> tuple[int, Region | None] | None:
        """The first access that is not allowed.

        Args:
            offset: int64 [access], bytes from ``BASE``.
            size: bytes of each access.
            store: whether it writes.

        Returns:
            Its position, and the read-only argument that it would write, if it hits one.
        """
        if not offset.size or self._within_one(offset, size, store=store):
            return None
        found = np.searchsorted(self._starts, offset, side="right") - 1
        ends = np.array([region.end for region in self.regions] or [0])
        inside = (found >= 0) & (offset + size <= ends[found])
        allowed = np.array([region.writable or not store for region in self.regions] or [True])
        wrong = ~(inside & allowed[found])
        if not wrong.any():
            return None
        first = int(wrong.argmax())
        return first, self.regions[int(found[first])] if inside[first] else None

    def _within_one(self, offset: Array, size: int, *, store: bool) -> bool:
        low, high = int(offset.min()), int(offset.max()) + size
        index = bisect_right(self._starts, low) - 1
        if index < 0:
            return False
        region = self.regions[index]
        return high <= region.end and (region.writable or not store)

    def nearest(self, offset: int) -> str:
        """Words for where an address lies, such as ``4 bytes after argument c``."""
        if not self.regions:
            return "and the kernel has no arguments"
        region = min(self.regions, key=lambda r: max(r.offset - offset, offset - r.end, 0))
        if offset < region.offset:
            return f"{region.offset - offset} bytes before argument {region.name}"
        past = offset - region.end
        if past < 0:
            return f"across the end of argument {region.name}"
        return f"{past} bytes after the end of argument {region.name}"


def gather(data: Array, words: Array, offset: Array, size: int) -> list[Array]:
    """Load ``size`` bytes at each offset, as uint32 values of up to four bytes.

    Args:
        data: uint8 memory.
        words: the same memory as uint32.
        offset: int64 of any shape.
        size: 1, 2 or a multiple of 4.
    """
    if size >= 4 and not (offset & 3).any():
        first = offset >> 2
        return [words[first + i] for i in range(size // 4)]
    step = min(size, 4)
    return [_join_bytes(data, offset + i, step) for i in range(0, size, step)]


def _join_bytes(data: Array, offset: Array, count: int) -> Array:
    value = data[offset].astype(np.uint32)
    for i in range(1, count):
        value |= data[offset + i].astype(np.uint32) << np.uint32(8 * i)
    return value


def scatter(data: Array, words: Array, offset: Array, values: Sequence[Array], size: int) -> None:
    """Store ``size`` bytes at each offset: the reverse of ``gather``."""
    if size >= 4 and not (offset & 3).any():
        first = offset >> 2
        for i, value in enumerate(values):
            words[first + i] = value
        return
    step = min(size, 4)
    for i, value in enumerate(values):
        for byte in range(step):
            part = (value >> np.uint32(8 * byte)).astype(np.uint8)
            data[offset + step * i + byte] = part
