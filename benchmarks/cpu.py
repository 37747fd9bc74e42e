"""Softmax on the processor beside torch's, and what a call costs: ``python -m benchmarks.cpu``."""

from __future__ import annotations

import torch

import explorer
from benchmarks.kernels import (
    BLOCK_M,
    BLOCK_N,
    BLOCK_P,
    VECTOR,
    M,
    N,
    nearly_empty,
    online_softmax,
    softmax,
)
from benchmarks.timing import in_turn, machine, median

ROWS, COLUMNS, THREADS = 4096, 4096, 2

SETTINGS = [
    (softmax, {BLOCK_M: 1, BLOCK_P: 64, VECTOR: 64}),
    (softmax, {BLOCK_M: 1, BLOCK_P: 128, VECTOR: 64}),
    (softmax, {BLOCK_M: 1, BLOCK_P: 256, VECTOR: 64}),
    (softmax, {BLOCK_M: 1, BLOCK_P: 128, VECTOR: 128}),
    (softmax, {BLOCK_M: 1, BLOCK_P: 256, VECTOR: 256}),
    (softmax, {BLOCK_M: 1, BLOCK_P: 512, VECTOR: 128}),
    (online_softmax, {BLOCK_M: 1, BLOCK_N: 1024, VECTOR: 64}),
    (online_softmax, {BLOCK_M: 1, BLOCK_N: 4096, VECTOR: 256}),
]


def main() -> None:
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    a = torch.randn(ROWS, COLUMNS)
    c, out = torch.empty_like(a), torch.empty_like(a)
    want = torch.softmax(a, 1)
    print(f"{machine()}, {ROWS}x{COLUMNS} f32, {THREADS} threads, torch {torch.__version__}")
    print("| kernel | tiles | k(a, c), ms | torch.softmax(out=), ms | torch / ours | max error |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kernel, tiles in SETTINGS:
        k = explorer.compile(kernel, {M: ROWS, N: COLUMNS, **tiles})
        ours, theirs, ratio = in_turn(lambda k=k: k(a, c), lambda: torch.softmax(a, 1, out=out))
        named = ", ".join(f"{s}={v}" for s, v in tiles.items())
        error = float((c - want).abs().max())
        print(
            f"| {kernel.name} | {named} | {ours * 1e3:.1f} | {theirs * 1e3:.1f} | "
            f"{1 / ratio:.2f} | {error:.1e} |"
        )
    one, other = torch.ones(1), torch.zeros(1)
    empty = explorer.compile(nearly_empty, {N: 1})
    print(f"a call that copies one element: {median(lambda: empty(one, other), 200) * 1e6:.0f} us")


if __name__ == "__main__":
    main()
