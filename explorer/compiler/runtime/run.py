"""Run compiled code once or many times: a pure function over bytes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree import runtime as iree

from explorer.compiler.runtime.buffers import Array, download, number, upload
from explorer.compiler.runtime.program import Program


@dataclass(frozen=True)
class RunResult:
    """What a run gave."""

    outputs: tuple[Array, ...]
    """The function's results, after its first call: what it wrote, in the order of its results."""
    seconds: tuple[float, ...]
    """Time of each timed call: launch and wait, without copies to and from the device."""


def run(
    vmfb: bytes,
    entry: str,
    arrays: Sequence[Array],
    *,
    device: str = "local-task",
    repeats: int = 1,
    warmup: int = 0,
) -> RunResult:
    """Call a compiled function on copies of the arrays.

    Args:
        vmfb: the module, compiled for the device.
        entry: name of the function.
        arrays: its arguments, in order; those without dims are numbers. They are not changed.
        device: IREE's name of the device: ``local-task``, ``hip``, ``cuda``, ``hip://1``.
        repeats: timed calls.
        warmup: calls before the timed ones.

    Raises:
        RunFailed: shapes or element types do not fit, or the device failed.
        MissingDevice: there is no such device.
    """
    program = Program(vmfb, entry, device)
    views = [upload(program.device, a) if a.ndim else number(a) for a in arrays]
    first, results = _timed(program, views)
    outputs = _outputs(program.device, results, arrays)
    rest = [_timed(program, views)[0] for _ in range(warmup + repeats - 1)]
    return RunResult(outputs, tuple([first, *rest][warmup:]))


def _timed(program: Program, views: Sequence[Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    results = program(views)
    return time.perf_counter() - start, results


def _outputs(device: Any, results: Any, arrays: Sequence[Array]) -> tuple[Array, ...]:
    views = [results.get_as_object(i, iree.HalBufferView) for i in range(results.size)]
    bytes_are_booleans = {np.dtype(np.bool_)} == {a.dtype for a in arrays if a.itemsize == 1}
    return tuple(_as_boolean(download(device, v), bytes_are_booleans) for v in views)


def _as_boolean(array: Array, wanted: bool) -> Array:
    """IREE has no boolean tensors: it hands out their bytes."""
    return array.view(np.bool_) if wanted and array.dtype == np.int8 else array
