"""From a slider's release to new graphs and to a new result: ``python -m benchmarks.latency``."""

from __future__ import annotations

import statistics
import time

import torch

import explorer
from benchmarks.kernels import BLOCK_M, BLOCK_N, VECTOR, M, N, online_softmax
from benchmarks.timing import machine

BINDINGS = {M: 128, N: 2048, BLOCK_M: 1, BLOCK_N: 128, VECTOR: 64}


def move(exploration: explorer.exploring.Exploration, tile: int) -> tuple[float, float]:
    """Seconds until the new graphs are set, and until the result is."""
    before = exploration.recording
    start = time.perf_counter()
    exploration.set(BLOCK_N=tile)
    while exploration.recording is before:
        time.sleep(0.001)
    graphs = time.perf_counter() - start
    result = exploration.wait(60)
    assert result is not None
    assert result.ok, result.message
    return graphs, time.perf_counter() - start


def main() -> None:
    a = torch.randn(BINDINGS[M], BINDINGS[N])
    tiles = [64, 128, 256, 512, 1024]
    exploration = explorer.explore(
        online_softmax, BINDINGS, inputs=(a, torch.empty_like(a)), sliders={BLOCK_N: tiles}
    )
    exploration.wait(120)
    explorer.cache.clear()
    new = [move(exploration, tile) for tile in tiles]
    seen = [move(exploration, tile) for tile in tiles]
    exploration.close()
    print(machine())
    print("| | new graphs, s | new result, s |")
    print("| --- | --- | --- |")
    for name, runs in (("tile never seen", new), ("tile seen before", seen)):
        graphs, results = (statistics.median(column) for column in zip(*runs, strict=True))
        print(f"| {name} | {graphs:.2f} | {results:.2f} |")


if __name__ == "__main__":
    main()
