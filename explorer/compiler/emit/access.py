"""Loads and stores: a lane's elements as runs of neighbours, masked at the edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import product

from explorer.compiler import expr
from explorer.compiler.emit.arithmetic import length, splat, vector_type
from explorer.compiler.emit.mlir import Ssa, arith, ir, memref, vector
from explorer.compiler.emit.positions import Positions
from explorer.compiler.ir.index import AxisIndex, Index
from explorer.compiler.lang.dtypes import DType


@dataclass(frozen=True)
class Run:
    """Neighbours in memory: ``width`` elements from flat element ``first`` of the lane's value."""

    first: int
    width: int
    indices: tuple[Ssa, ...]
    mask: Ssa | None


def load(positions: Positions, memory: Ssa, index: Index, dtype: DType, widest: int) -> Ssa:
    """The lane's elements of ``memory`` as one vector; invalid elements are 0."""
    total = _total(index)
    made = None
    for run in runs(positions, index, widest):
        kind = vector_type(dtype, run.width)
        if run.mask is None:
            part = vector.load(kind, memory, list(run.indices))
        else:
            nothing = splat(dtype, run.width, 0)
            part = vector.maskedload(kind, memory, list(run.indices), run.mask, nothing)
        if run.width == total:
            return part
        made = splat(dtype, total, 0) if made is None else made
        made = vector.insert_strided_slice(part, made, [run.first], [1])
    return made


def store(positions: Positions, memory: Ssa, index: Index, value: Ssa, widest: int) -> None:
    """Put the lane's valid elements in ``memory``."""
    for run in runs(positions, index, widest):
        part = _slice(value, run.first, run.width)
        if run.mask is None:
            vector.store(part, memory, list(run.indices))
        else:
            vector.maskedstore(memory, list(run.indices), run.mask, part)


def _slice(value: Ssa, first: int, width: int) -> Ssa:
    if width == length(value):
        return value
    kind = ir.VectorType.get([width], ir.VectorType(value.type).element_type)
    return vector.extract_strided_slice(kind, value, [first], [width], [1])


def _total(index: Index) -> int:
    return reduce(lambda a, b: a * b, index.elements, 1)


def runs(positions: Positions, index: Index, widest: int) -> Iterator[Run]:
    """The lane's elements as runs of at most ``widest`` neighbours, in flat order."""
    if not index.axes:
        yield Run(0, 1, (), None)
        return
    *outer, last = index.axes
    bounds = [positions.remaining(a) for a in index.axes]
    first = 0
    for elements in product(*(range(a.elements) for a in outer)):
        inside = [
            _below(positions, a, e, bound)
            for a, e, bound in zip(outer, elements, bounds, strict=False)
            if bound is not None
        ]
        for start, width in _chunks(last, widest):
            offset = last.dealt.offset(start)
            indices = [_at(positions, a, e) for a, e in zip(outer, elements, strict=True)]
            yield Run(
                first + start,
                width,
                (*indices, positions.index(expr.add(last.start, offset))),
                _mask(positions, width, offset, bounds[-1], inside),
            )
        first += last.elements


def _chunks(axis: AxisIndex, widest: int) -> Iterator[tuple[int, int]]:
    """(first element, count) of runs along the fastest dim."""
    width = axis.dealt.width
    for begin in range(0, axis.elements, width):
        for start in range(begin, begin + width, widest):
            yield start, min(widest, begin + width - start)


def _at(positions: Positions, axis: AxisIndex, element: int) -> Ssa:
    return positions.index(expr.add(axis.start, axis.dealt.offset(element)))


def _below(positions: Positions, axis: AxisIndex, element: int, bound: Ssa) -> Ssa:
    return arith.cmpi(2, positions.index(axis.dealt.offset(element)), bound)


def _mask(
    positions: Positions, width: int, offset: int, bound: Ssa | None, inside: list[Ssa]
) -> Ssa | None:
    """The mask of a run, or None when every element is valid."""
    if bound is None and not inside:
        return None
    count = positions.index(width)
    if bound is not None:
        count = arith.subi(bound, positions.index(offset)) if offset else bound
    if inside:
        count = arith.select(reduce(arith.andi, inside), count, positions.index(0))
    kind = ir.VectorType.get([width], ir.IntegerType.get_signless(1))
    return vector.create_mask(kind, [count])


def allocate(dtype: DType, elements: int) -> Ssa:
    """Shared memory for ``elements``."""
    space = ir.Attribute.parse("#gpu.address_space<workgroup>")
    kind = ir.MemRefType.get([elements], vector_type(dtype, 1).element_type, memory_space=space)
    return memref.alloc(kind, [], [])
