"""Medians of repeated runs, two things in turn so that a drifting machine hits both alike."""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable

Run = Callable[[], object]


def seconds(run: Run) -> float:
    """Time of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def median(run: Run, repeats: int = 15) -> float:
    """Median time after two runs that warm up."""
    run()
    run()
    return statistics.median(seconds(run) for _ in range(repeats))


def in_turn(first: Run, second: Run, repeats: int = 25) -> tuple[float, float, float]:
    """Medians of both and the median of their ratio (first / second), run by run."""
    for run in (first, second) * 2:
        run()
    pairs = [(seconds(first), seconds(second)) for _ in range(repeats)]
    one, two = zip(*pairs, strict=True)
    return (
        statistics.median(one),
        statistics.median(two),
        statistics.median(a / b for a, b in pairs),
    )


def machine() -> str:
    """One line about where this ran."""
    return f"{platform.machine()}, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
