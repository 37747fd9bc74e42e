"""What a run did: instructions, bytes, transactions, conflicts, divergence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SEGMENTS = (64, 128)
"""Bytes of the pieces that global memory is fetched in. Source: CDNA3 and RDNA3 guides, cache lines
of the L1 and L2 caches."""


@dataclass
class Counts:
    """Sums over all waves of a run. An instruction counts once for each wave that executes it."""

    instructions: Counter[str] = field(default_factory=Counter[str])
    """By family: scalar, vector, matrix, global memory, shared memory, lanes, control."""
    active_lanes: int = 0
    """Lanes that took part in vector instructions, memory and matrix included."""
    idle_lanes: int = 0
    """Lanes that were masked off in them."""
    divergent: int = 0
    """Vector instructions with some but not all lanes."""
    loaded_bytes: int = 0
    stored_bytes: int = 0
    accesses: int = 0
    """Loads and stores of global memory."""
    transactions: dict[int, int] = field(default_factory=lambda: dict.fromkeys(SEGMENTS, 0))
    """Pieces of 64 and of 128 bytes that these touched: the fewer, the better they coalesce."""
    shared_loaded_bytes: int = 0
    shared_stored_bytes: int = 0
    shared_accesses: int = 0
    bank_conflicts: int = 0
    """Extra turns that shared memory took because lanes met in a bank."""
    barriers: int = 0
    """Barriers passed, once for each wave."""

    @property
    def total(self) -> int:
        """Wave instructions."""
        return self.instructions.total()

    def vector(self, active: Array) -> None:
        """Count who took part in a vector instruction.

        Args:
            active: bool [wave, lane].
        """
        lanes = active.sum(axis=1)
        taking_part = int(lanes.sum())
        self.active_lanes += taking_part
        self.idle_lanes += active.size - taking_part
        self.divergent += int(((lanes > 0) & (lanes < active.shape[1])).sum())

    def full_vector(self, waves: int, lanes: int) -> None:
        """Count a vector instruction in which every lane took part."""
        self.active_lanes += waves * lanes

    def global_access(self, address: Array, active: Array, size: int, *, store: bool) -> None:
        """Count a load or store.

        Args:
            address: int64 [wave, lane], in bytes.
            active: bool of the same shape.
            size: bytes that each lane accesses.
            store: whether it writes.
        """
        moved = int(active.sum()) * size
        if store:
            self.stored_bytes += moved
        else:
            self.loaded_bytes += moved
        self.accesses += int(active.any(axis=1).sum())
        for segment in SEGMENTS:
            self.transactions[segment] += segments_touched(address, active, size, segment)

    def shared_access(
        self, address: Array, active: Array, size: int, banks: int, *, store: bool
    ) -> None:
        """Count an access to shared memory; arguments as for ``global_access``."""
        moved = int(active.sum()) * size
        if store:
            self.shared_stored_bytes += moved
        else:
            self.shared_loaded_bytes += moved
        self.shared_accesses += int(active.any(axis=1).sum())
        self.bank_conflicts += bank_conflicts(address, active, size, banks)


def segments_touched(address: Array, active: Array, size: int, segment: int) -> int:
    """Different aligned pieces of ``segment`` bytes that each wave touches, summed over waves."""
    first = np.where(active, address // segment, -1)
    last = np.where(active, (address + size - 1) // segment, -1)
    touched = first if np.array_equal(first, last) else np.concatenate([first, last], axis=1)
    return distinct(touched)


def distinct(values: Array) -> int:
    """Different non-negative values of each row, summed over rows."""
    ordered = np.sort(values, axis=1)
    new = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return int(new.sum()) + int((ordered[:, 0] >= 0).sum())


def bank_conflicts(address: Array, active: Array, size: int, banks: int) -> int:
    """Turns beyond the first that an access to shared memory needs.

    In one turn each bank serves one dword, to all lanes that ask for it. Lanes are served in groups
    of neighbours that together ask for as many dwords as there are banks, but at most 32.

    Source: CDNA3 guide, "LDS"; which lanes form a group for wide accesses is our simplification.
    """
    words = max(1, size // 4)
    group = max(1, min(32, banks) // words)
    waves, lanes = address.shape
    groups = max(1, lanes // group)
    start = (address // 4).reshape(waves * groups, -1)
    dwords = (start[:, :, None] + np.arange(words)).reshape(len(start), -1)
    taking_part = np.repeat(active.reshape(waves * groups, -1), words, axis=1)
    dwords = np.sort(np.where(taking_part, dwords, -1), axis=1)
    new = dwords >= 0
    new[:, 1:] &= dwords[:, 1:] != dwords[:, :-1]
    rows, columns = np.nonzero(new)
    load = np.zeros((len(dwords), banks), np.int64)
    np.add.at(load, (rows, dwords[rows, columns] % banks), 1)
    return int(np.maximum(load.max(axis=1) - 1, 0).sum())
