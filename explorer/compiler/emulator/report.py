"""What an emulated run tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from explorer.compiler.emulator.counts import Counts

Grid = tuple[int, int, int]


@dataclass(frozen=True)
class EmulatorReport:
    """Counts of one run. Its time is this machine's for emulating, never a GPU's."""

    arch: str
    grid: Grid
    waves: int
    seconds: float
    counts: Counts

    @property
    def speed(self) -> float:
        """Wave instructions emulated a second."""
        return self.counts.total / self.seconds

    def rows(self) -> Iterator[tuple[str, str]]:
        """Names and figures, for a table."""
        counts = self.counts
        yield "workgroups", " x ".join(map(str, self.grid))
        yield "waves", f"{self.waves:,}"
        yield "wave instructions", f"{counts.total:,}"
        for family, number in sorted(counts.instructions.items()):
            yield f"  {family}", f"{number:,}"
        yield "lanes idle", _share(counts.idle_lanes, counts.active_lanes + counts.idle_lanes)
        yield "divergent vector instructions", f"{counts.divergent:,}"
        yield "global memory", f"{counts.loaded_bytes:,} B loaded, {counts.stored_bytes:,} B stored"
        for segment, number in counts.transactions.items():
            moved = counts.loaded_bytes + counts.stored_bytes
            yield (
                f"  transactions of {segment} B",
                f"{number:,}, {_share(moved, number * segment)} used",
            )
        shared = (counts.shared_loaded_bytes, counts.shared_stored_bytes)
        yield "shared memory", f"{shared[0]:,} B loaded, {shared[1]:,} B stored"
        yield "  bank conflicts", f"{counts.bank_conflicts:,} extra turns"
        yield "barriers", f"{counts.barriers:,}"
        yield "emulated in", f"{self.seconds:.3g} s (this machine's time, not a GPU's)"

    def __str__(self) -> str:
        """One line a figure."""
        rows = list(self.rows())
        width = max(len(name) for name, _ in rows)
        lines = (f"{name:{width}}  {figure}" for name, figure in rows)
        return "\n".join([f"emulated {self.arch}", *lines])


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "none"
