"""What a worker process can do: pure functions from data and arrays to data and arrays."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence

import numpy as np

from explorer.compiler.lang.targets import target
from explorer.compiler.runtime.compile import compile_mlir
from explorer.compiler.runtime.errors import UnknownTask
from explorer.compiler.runtime.run import run
from explorer.compiler.runtime.wire import Array, Data

Progress = Callable[[str, Data], None]
"""``progress(name, data)`` tells the caller of a task how far it is, as often as it likes."""

Outcome = tuple[Data, list[Array]]
Task = Callable[[Data, list[Array], Progress], Outcome]


def ping(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    """Give back what came, to see that the worker lives."""
    del progress
    return payload, arrays


def compile_task(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    """``{mlir, target, flags?}`` -> ``{isa, resources, seconds}`` and [module, as bytes]."""
    del arrays, progress
    flags = payload.get("flags", ())
    done = compile_mlir(payload["mlir"], target(payload["target"]), flags=flags)
    data = {"isa": done.isa, "resources": done.resources, "seconds": done.seconds}
    return data, [np.frombuffer(done.vmfb, np.uint8)]


def run_task(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    """``{entry, device, repeats?, warmup?}``, [module, *arguments] -> ``{seconds}``, outputs."""
    del progress
    module, *arguments = arrays
    result = run(
        module.tobytes(),
        payload["entry"],
        arguments,
        device=payload["device"],
        repeats=payload.get("repeats", 1),
        warmup=payload.get("warmup", 0),
    )
    return {"seconds": list(result.seconds)}, list(result.outputs)


TASKS: dict[str, Task] = {"ping": ping, "compile": compile_task, "run": run_task}
"""The tasks that have short names. Any other is named ``package.module:function``."""

_DOTTED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")


def find_task(name: str, allowed: Sequence[str] = ("explorer.",)) -> Task:
    """The task of a name.

    Args:
        name: a key of ``TASKS``, or ``package.module:function``.
        allowed: what the module of a dotted name may begin with.

    Raises:
        UnknownTask: there is no such task, or its module is not allowed.
    """
    if name in TASKS:
        return TASKS[name]
    dotted = _DOTTED.fullmatch(name)
    if dotted is None or not dotted[1].startswith(tuple(allowed)):
        raise UnknownTask(name=name, known=", ".join(TASKS), allowed=", ".join(allowed))
    return getattr(importlib.import_module(dotted[1]), dotted[2])
