"""Loads and stores: a lane's elements as runs of neighbours, guarded at the edges.

On the CPU a run is as wide as a piece, and its elements are masked one by one. On GPUs a masked
load would become a branch and a wait for each element. There a run lies wholly inside or wholly
outside, which is one condition: a load outside goes to the tensor's first element instead, and a
store outside is branched around.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from explorer.compiler import expr
from explorer.compiler.emit.arithmetic import length, splat, vector_type
from explorer.compiler.emit.mlir import Ssa, arith, ir, memref, scf, vector
from explorer.compiler.emit.positions import Positions
from explorer.compiler.ir.index import AxisIndex, Index
from explorer.compiler.lang.dtypes import DType

_LESS, _BELOW = 2, 6
"""Predicates of ``arith.cmpi``: signed and unsigned less than."""


@dataclass(frozen=True)
class Run:
    """Neighbours in memory.

    Args:
        first: flat number of the run's first element in the lane's value.
        width: how many there are.
        elements: the first one's number along each dim.
    """

    first: int
    width: int
    elements: tuple[int, ...]


@dataclass(frozen=True)
class Access:
    """Access to one tensor at one index.

    Args:
        positions: where formulas become SSA values.
        memory: the buffer.
        index: which elements.
        widest: most neighbours in one access.
        whole: whether a run must lie wholly inside or outside (GPUs).
    """

    positions: Positions
    memory: Ssa
    index: Index
    widest: int
    whole: bool

    def load(self, dtype: DType) -> Ssa:
        """The lane's elements as one vector; what is invalid holds anything."""
        total = reduce(lambda a, b: a * b, self.index.elements, 1)
        made = None
        for run in self._runs():
            part = self._load_run(run, vector_type(dtype, run.width), dtype)
            if run.width == total:
                return part
            made = splat(dtype, total, 0) if made is None else made
            made = vector.insert_strided_slice(part, made, [run.first], [1])
        return made

    def _load_run(self, run: Run, kind: Ssa, dtype: DType) -> Ssa:
        at = self._at(run)
        if self.whole:
            if (inside := self._inside(run)) is not None:
                at = [arith.select(inside, i, self.positions.index(0)) for i in at]
            return vector.load(kind, self.memory, at)
        if (mask := self._mask(run)) is None:
            return vector.load(kind, self.memory, at)
        return vector.maskedload(kind, self.memory, at, mask, splat(dtype, run.width, 0))

    def store(self, value: Ssa) -> None:
        """Put the lane's valid elements in memory."""
        for run in self._runs():
            part = _slice(value, run.first, run.width)
            if not self.whole:
                self._store_masked(run, part)
            elif (inside := self._inside(run)) is None:
                vector.store(part, self.memory, self._at(run))
            else:
                branch = scf.IfOp(inside)
                with ir.InsertionPoint(branch.then_block), self.positions.block():
                    vector.store(part, self.memory, self._at(run))
                    scf.YieldOp([])

    def _store_masked(self, run: Run, part: Ssa) -> None:
        if (mask := self._mask(run)) is None:
            vector.store(part, self.memory, self._at(run))
        else:
            vector.maskedstore(self.memory, self._at(run), mask, part)

    # --- runs ---

    def _runs(self) -> Iterator[Run]:
        """The lane's elements in flat order."""
        if not self.index.axes:
            yield Run(0, 1, ())
            return
        *outer, last = self.index.axes
        widest = self._widest(last)
        first = 0
        for elements in product(*(range(a.elements) for a in outer)):
            for start, width in _chunks(last, widest):
                yield Run(first + start, width, (*elements, start))
            first += last.elements

    def _widest(self, last: AxisIndex) -> int:
        """The width of runs: 1 where a wider one could lie across an edge that it must not."""
        if not self.whole or not last.masked:
            return self.widest
        edges = (last.share.piece, last.dealt.width, _edge(last))
        return self.widest if all(e % self.widest == 0 for e in edges) else 1

    def _at(self, run: Run) -> list[Ssa]:
        pairs = zip(self.index.axes, run.elements, strict=True)
        return [self._position(axis, element) for axis, element in pairs]

    def _position(self, axis: AxisIndex, element: int) -> Ssa:
        return self.positions.index(expr.add(axis.start, axis.dealt.offset(element)))

    # --- edges ---

    def _inside(self, run: Run) -> Ssa | None:
        """Whether the run lies inside, by its first element; None if it always does."""
        conditions: list[Ssa] = []
        index = self.positions.index
        for axis, element in zip(self.index.axes, run.elements, strict=True):
            if axis.share.limit is not None:
                limit = index(axis.share.limit)
                conditions.append(arith.cmpi(_BELOW, self._position(axis, element), limit))
            if axis.spills_over:
                offset = expr.add(axis.in_piece, axis.dealt.offset(element))
                conditions.append(arith.cmpi(_BELOW, index(offset), index(axis.share.piece)))
        return _all(conditions)

    def _mask(self, run: Run) -> Ssa | None:
        """The mask of a run, or None when every element is valid."""
        if not self.index.axes:
            return None
        *outer, last = self.index.axes
        index = self.positions.index
        bounds = [
            (self.positions.remaining(a), a.dealt.offset(e))
            for a, e in zip(outer, run.elements, strict=False)
        ]
        inside = _all([arith.cmpi(_LESS, index(o), b) for b, o in bounds if b is not None])
        bound = self.positions.remaining(last)
        if bound is None and inside is None:
            return None
        offset = last.dealt.offset(run.elements[-1])
        count = index(run.width)
        if bound is not None:
            count = arith.subi(bound, index(offset)) if offset else bound
        if inside is not None:
            count = arith.select(inside, count, index(0))
        kind = ir.VectorType.get([run.width], ir.IntegerType.get_signless(1))
        return vector.create_mask(kind, [count])


def _edge(axis: AxisIndex) -> int:
    """A number that every edge of the valid part is a multiple of, apart from pieces."""
    match axis.share.limit:
        case None:
            return 0
        case expr.Int(limit) | expr.Min(lhs=expr.Int(limit)):
            return limit
        case _:
            return 1


def _chunks(axis: AxisIndex, widest: int) -> Iterator[tuple[int, int]]:
    """(first element, count) of runs along the fastest dim."""
    width = axis.dealt.width
    for begin in range(0, axis.elements, width):
        for start in range(begin, begin + width, widest):
            yield start, min(widest, begin + width - start)


def _all(conditions: Sequence[Ssa]) -> Ssa | None:
    return reduce(arith.andi, conditions) if conditions else None


def _slice(value: Ssa, first: int, width: int) -> Ssa:
    if width == length(value):
        return value
    kind = ir.VectorType.get([width], ir.VectorType(value.type).element_type)
    return vector.extract_strided_slice(kind, value, [first], [width], [1])


def allocate(dtype: DType, elements: int) -> Ssa:
    """Shared memory for ``elements``."""
    space = ir.Attribute.parse("#gpu.address_space<workgroup>")
    kind = ir.MemRefType.get([elements], vector_type(dtype, 1).element_type, memory_space=space)
    return memref.alloc(kind, [], [])
