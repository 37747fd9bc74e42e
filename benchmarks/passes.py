"""How long tracing, the passes and emission take: ``python -m benchmarks.passes``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

from benchmarks.kernels import BLOCK_M, BLOCK_N, VECTOR, M, N, online_softmax
from benchmarks.timing import machine
from explorer.compiler.driver import Options, lower
from explorer.compiler.lang.targets import target
from explorer.compiler.trace.kernel import Kernel
from explorer.compiling import emit

WIDTH = 64


def front(size: int, unroll_limit: int) -> tuple[float, int]:
    """Seconds from function to MLIR text, and nodes of the last graph."""
    options = Options(unroll_limit=unroll_limit)
    kernel = Kernel(online_softmax.function, online_softmax.constraints)  # nothing traced yet
    bindings = {M: 128, N: size, BLOCK_M: 1, BLOCK_N: WIDTH, VECTOR: WIDTH}
    start = time.perf_counter()
    lowered, _ = emit(lower(kernel, bindings, target("gfx942"), options), options)
    seconds = time.perf_counter() - start
    return seconds, len(lowered.recording.passes[-1].after.nodes)


def import_seconds() -> float:
    """``import explorer`` in a fresh process, without the interpreter's own start."""
    code = "import time; t = time.perf_counter(); import explorer; print(time.perf_counter() - t)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(5)
    ]
    return statistics.median(runs)


def main() -> None:
    print(machine())
    print(f"import explorer: {import_seconds() * 1e3:.0f} ms")
    front(WIDTH, 16)
    print("| copies after the loop | form | nodes | trace, passes and emission, ms |")
    print("| --- | --- | --- | --- |")
    for copies, limit in ((1, 16), (16, 16), (64, 256), (256, 256), (256, 16), (16384, 16)):
        runs = [front(copies * WIDTH, limit) for _ in range(7)]
        form = "unrolled" if copies <= limit else "generated loop"
        ms = statistics.median(seconds for seconds, _ in runs) * 1e3
        print(f"| {copies} | {form} | {runs[0][1]} | {ms:.0f} |")


if __name__ == "__main__":
    main()
