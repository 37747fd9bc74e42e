"""A kernel's arguments, checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from explorer.compiler.errors import ArgumentsOverlap, WrongArgument
from explorer.compiler.interpret.machine import Array, numpy_dtype
from explorer.compiler.ir.graph import TileGraph
from explorer.compiler.lang.tiling import LARGEST_SIZE, Tiling
from explorer.compiler.ops.memory import Parameter as MemoryParameter
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
    pairs = list(zip(kernel.parameters, arguments, strict=True))
    sizes = _Sizes(tiling)
    arrays = [_number(p, a) if not p.dims else _checked(p, a, sizes) for p, a in pairs]
    _check_writeable(kernel, arrays, written(graph))
    _check_overlap(kernel, arrays, written(graph))
    return arrays


def sized(tiling: Tiling, graph: TileGraph, arrays: Sequence[Array]) -> Tiling:
    """The tiling of a call with these arrays: all sizes known."""
    if not tiling.dynamic:
        return tiling
    sizes: dict[str, int] = {}
    for node in graph.root.nodes:
        if isinstance(node.op, MemoryParameter):
            sizes |= zip(node.op.memory.dims, arrays[node.op.position].shape, strict=True)
    return tiling.at(sizes)


class _Sizes:
    """Sizes of dims: those of the tiling, and those that the first tensor with the dim has."""

    def __init__(self, tiling: Tiling) -> None:
        self.known = {d.name: d.size for d in tiling.dims}
        self.source: dict[str, str] = {}

    def expected(self, parameter: Parameter) -> list[int | None]:
        return [self.known[d.name] for d in parameter.dims]

    def learn(self, parameter: Parameter, shape: Sequence[int]) -> None:
        for d, size in zip(parameter.dims, shape, strict=True):
            if self.known[d.name] is None:
                self.known[d.name] = size
                self.source[d.name] = parameter.name

    def advice(self, parameter: Parameter) -> str:
        dims = ", ".join(map(str, parameter.dims))
        given = [
            f"{d.name} from {self.source[d.name]}" for d in parameter.dims if d.name in self.source
        ]
        if given:
            return f"its dims are [{dims}], {' and '.join(given)}; pass arrays that agree"
        return f"its dims are [{dims}]; pass an array of that shape, or change the bindings"


def _checked(parameter: Parameter, argument: Any, sizes: _Sizes) -> Array:
    expected = sizes.expected(parameter)
    shown = ("any" if n is None else str(n) for n in expected)
    want = f"{parameter.dtype}[{', '.join(shown)}]"
    try:
        array = as_numpy(argument)
    except WrongArgument as error:
        raise WrongArgument(**{**error.facts, "name": parameter.name}) from None
    fits = len(array.shape) == len(expected) and all(
        n in (None, size) for n, size in zip(expected, array.shape, strict=True)
    )
    if not fits:
        raise WrongArgument(
            name=parameter.name,
            found=f"shape {array.shape}",
            want=want,
            advice=sizes.advice(parameter),
        )
    _check_open_sizes(parameter, array, expected)
    if array.dtype != numpy_dtype(parameter.dtype):
        raise WrongArgument(
            name=parameter.name,
            found=f"elements of type {array.dtype}",
            want=want,
            advice=f"convert it to {parameter.dtype}, or annotate the parameter with its type",
        )
    sizes.learn(parameter, array.shape)
    return array


def _check_open_sizes(parameter: Parameter, array: Array, expected: Sequence[int | None]) -> None:
    for d, n, size in zip(parameter.dims, expected, array.shape, strict=True):
        if n is None and not 1 <= size <= LARGEST_SIZE:
            raise WrongArgument(
                name=parameter.name,
                found=f"{size} elements along {d}",
                want=f"1 to {LARGEST_SIZE}",
                advice="leave the call out"
                if size == 0
                else "give that dim a number in the bindings",
            )


def _number(parameter: Parameter, argument: Any) -> Array:
    """A number as an array without dims, of the parameter's type.

    Raises:
        WrongArgument: it is no number, or the type cannot hold it.
    """
    dtype = parameter.dtype
    value: Any = argument
    if not isinstance(argument, int | float):
        found = (
            np.asarray(argument)
            if isinstance(argument, np.generic)
            else _zero_d(parameter, argument)
        )
        value = found.item() if found.dtype.kind in "biuf" else float(found)
    whole = dtype.is_float or value == int(value) if np.isfinite(value) else dtype.is_float
    if not whole or not dtype.holds(value):
        raise WrongArgument(
            name=parameter.name,
            found=f"the number {value}",
            want=f"one of type {dtype}",
            advice="give a number that the type holds, or annotate the parameter with a wider one",
        )
    return np.array(value, numpy_dtype(dtype))


def _zero_d(parameter: Parameter, argument: Any) -> Array:
    try:
        array = as_numpy(argument)
    except WrongArgument:
        array = None
    if array is None or array.ndim:
        raise WrongArgument(
            name=parameter.name,
            found=f"a {type(argument).__name__}",
            want=f"a number of type {parameter.dtype}",
            advice="give a Python number, or an array or tensor without dims",
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
