"""A card against the emulator and the interpreter: ``python -m benchmarks.rocm_card gfx1100``.

See docs/rocm_hardware.md. The exit status is 1 when something differs or fails.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np

import explorer
from benchmarks.emulator import KERNELS, Bindings
from benchmarks.kernels import BLOCK_M, M, N
from benchmarks.timing import machine
from explorer.compiler.errors import ExplorerError
from explorer.compiler.trace.kernel import Kernel

SIZES = ((1, 1), (3, 200), (64, 1024), (5, 4099))
ALLOWED = 1e-5


def cases() -> Iterator[tuple[str, Kernel, Bindings]]:
    """Kernels with whole and ragged rows."""
    for name, kernel, tiles in KERNELS:
        for rows, columns in SIZES:
            yield f"{name} {rows} x {columns}", kernel, {M: rows, N: columns, **tiles, BLOCK_M: 1}


def compare(kernel: Kernel, bindings: Bindings, target: str) -> tuple[float, float]:
    """Largest difference of the card from emulator and interpreter, and the card's seconds."""
    k = explorer.compile(kernel, bindings, target=target)
    shape = (bindings[M], bindings[N])
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32) * 10
    results = {device: np.full_like(x, np.nan) for device in ("hip", "emulator", "interpreter")}
    for device, result in results.items():
        k.run(x, result, device=device)
    card = results.pop("hip")
    differences = [float(np.abs(card - other).max()) for other in results.values()]
    return float(np.max(differences)), k.benchmark(x, card, device="hip").median


def line(name: str, kernel: Kernel, bindings: Bindings, target: str) -> tuple[bool, str]:
    """Whether a case agrees, and what to print."""
    try:
        difference, seconds = compare(kernel, bindings, target)
    except ExplorerError as error:
        return False, f"{name}: failed: {error}"
    agrees = difference <= ALLOWED  # NaN does not
    verdict = "agrees" if agrees else "DIFFERS"
    return agrees, f"{name}: {difference:.1e}, {seconds * 1e6:.0f} us on the card: {verdict}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", help="the card's name, such as gfx1100")
    target = parser.parse_args().target
    print(machine())
    print(explorer.devices())
    results = [line(name, kernel, bindings, target) for name, kernel, bindings in cases()]
    print("\n".join(text for _, text in results))
    return 0 if all(agrees for agrees, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
