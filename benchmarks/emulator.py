"""How fast the emulator runs AMD code: ``python -m benchmarks.emulator``.

Times are this machine's for emulating. They say nothing about a GPU.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping

import numpy as np
import sympy

import explorer
from benchmarks.kernels import BLOCK_M, BLOCK_N, BLOCK_P, VECTOR, M, N, online_softmax, softmax
from benchmarks.timing import machine
from explorer.compiler.emulator.report import EmulatorReport
from explorer.compiler.trace.kernel import Kernel

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
ROWS, COLUMNS, REPEATS = 64, 1024, 5

Bindings = Mapping[sympy.Symbol, int]

KERNELS: tuple[tuple[str, Kernel, Bindings], ...] = (
    ("online softmax", online_softmax, {BLOCK_M: 1, BLOCK_N: 256, VECTOR: 256}),
    ("softmax, three loops", softmax, {BLOCK_M: 1, BLOCK_P: 256, VECTOR: 256}),
)


def reports(kernel: Kernel, bindings: Bindings, target: str) -> list[EmulatorReport]:
    """Several runs of a kernel on 64 rows of 1024."""
    k = explorer.compile(kernel, {M: ROWS, N: COLUMNS, **bindings}, target=target)
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    return [k.emulate(x, np.empty_like(x)) for _ in range(REPEATS)]


def main() -> None:
    print(machine())
    print(f"{ROWS} x {COLUMNS}, float32; seconds of emulation, median of {REPEATS} runs")
    print("| kernel | target | seconds | wave instructions | a second | 64 B pieces used |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, kernel, bindings in KERNELS:
        for target in TARGETS:
            print(row(name, target, reports(kernel, bindings, target)))


def row(name: str, target: str, runs: list[EmulatorReport]) -> str:
    """One line of the table."""
    counts = runs[0].counts
    seconds = statistics.median(run.seconds for run in runs)
    moved = counts.loaded_bytes + counts.stored_bytes
    used = moved / (64 * counts.transactions[64])
    speed = counts.total / seconds / 1e6
    return f"| {name} | {target} | {seconds:.3f} | {counts.total:,} | {speed:.2f} M | {used:.0%} |"


if __name__ == "__main__":
    main()
