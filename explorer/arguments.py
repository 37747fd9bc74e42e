"""A kernel's arguments, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from explorer.compiler.errors import ArgumentsOverlap, WrongArgument
from explorer.compiler.interpret.machine import Array, numpy_dtype
from explorer.compiler.ir.graph import TileGraph
from explorer.compiler.lang.tiling import Tiling
from explorer.compiler.ops.memory import Write
from explorer.compiler.runtime.call import as_numpy
from explorer.compiler.trace.kernel import Kernel, Parameter


def written(graph: TileGraph) -> set[str]:
    """Names of the parameters that the kernel writes."""
    return {n.op.memory.name for n in graph.nodes if isinstance(n.op, Write)}


def check_arguments(
    kernel: Kernel, tiling: Tiling, graph: TileGraph, arguments: Sequence[Any]
) -> list[Array]:
    """Arrays over the arguments' memory.

    Raises:
        WrongArgument: another number of arguments, or one of another shape, element type or device.
        ArgumentsOverlap: a written argument shares memory with another.
    """
    if len(arguments) != len(kernel.parameters):
        raise WrongArgument(
            name="list",
            found=f"{len(arguments)} arguments",
            want=", ".join(p.name for p in kernel.parameters),
            advice="give one array for each parameter of the kernel",
        )
    arrays = [_checked(p, a, tiling) for p, a in zip(kernel.parameters, arguments, strict=True)]
    _check_writeable(kernel, arrays, written(graph))
    _check_overlap(kernel, arrays, written(graph))
    return arrays


def _checked(parameter: Parameter, argument: Any, tiling: Tiling) -> Array:
    memory = parameter.memory
    shape = tuple(tiling[d.name].size for d in memory.dims)
    want = f"{memory.dtype}[{', '.join(map(str, shape))}]"
    try:
        array = as_numpy(argument)
    except WrongArgument as error:
        raise WrongArgument(**{**error.facts, "name": parameter.name}) from None
    dims = ", ".join(map(str, memory.dims))
    if array.shape != shape:
        raise WrongArgument(
            name=parameter.name,
            found=f"shape {array.shape}",
            want=want,
            advice=f"its dims are [{dims}]; pass an array of that shape, or change the bindings",
        )
    if array.dtype != numpy_dtype(memory.dtype):
        raise WrongArgument(
            name=parameter.name,
            found=f"elements of type {array.dtype}",
            want=want,
            advice=f"convert it to {memory.dtype}, or annotate the parameter with its type",
        )
    return array


def _check_writeable(kernel: Kernel, arrays: Sequence[Array], outputs: set[str]) -> None:
    for parameter, array in zip(kernel.parameters, arrays, strict=True):
        if parameter.name not in outputs:
            continue
        shared = any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))
        if shared or not array.flags.writeable:
            raise WrongArgument(
                name=parameter.name,
                found="an array whose elements share memory" if shared else "a read-only array",
                want="one that it can write",
                advice="pass a copy: array.copy()",
            )


def _check_overlap(kernel: Kernel, arrays: Sequence[Array], outputs: set[str]) -> None:
    named = list(zip((p.name for p in kernel.parameters), arrays, strict=True))
    for (first, a), (second, b) in combinations(named, 2):
        hit = {first, second} & outputs
        if hit and np.may_share_memory(a, b):
            raise ArgumentsOverlap(first=first, second=second, written=" and ".join(sorted(hit)))
