"""What ops ask for when they emit themselves."""

from __future__ import annotations

import math as pymath
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from explorer.compiler import expr
from explorer.compiler.emit.access import Access, allocate
from explorer.compiler.emit.arithmetic import (
    Arithmetic,
    compute,
    convert,
    element_type,
    halves,
    integers,
    length,
    shuffled,
    splat,
    vector_type,
)
from explorer.compiler.emit.mlir import Ssa, arith, gpu, ir, scf, vector
from explorer.compiler.emit.positions import Positions
from explorer.compiler.emit.shell import carrier
from explorer.compiler.expr import Sym
from explorer.compiler.ir.graph import Node, Region
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.lang.targets import Target
from explorer.compiler.lang.tiling import Tiling
from explorer.compiler.ops.control import Loop
from explorer.compiler.ops.elementwise import Binary

MOST = 1 << 30
"""Bounds are clamped to this before they are narrowed to 32 bits."""


class Emitter:
    """Emits a kernel's body. A value is one flat vector: a lane's elements, last dim fastest."""

    def __init__(self, tiling: Tiling, target: Target, *, fast_math: bool) -> None:
        self.tiling = tiling
        self.target = target
        self.arithmetic = Arithmetic(
            fast_math,
            contracts=target.family == "cpu",
            chooses=target.family == "cpu",
            loses_nan=target.family == "rocm",
        )
        self.positions = Positions()
        self.values: dict[Node, Any] = {}
        self.shared: dict[str, Ssa] = {}

    def region(self, region: Region) -> None:
        """Emit the nodes of a region, each at its place in the person's source."""
        for node in region.nodes:
            if node not in self.values:
                with location_of(node):
                    self.values[node] = node.op.emit(self, node)

    # --- values ---

    def value(self, node: Node) -> Any:
        """The SSA value of ``node``."""
        return self.values[node]

    def parameter(self, node: Node) -> Ssa:
        """The buffer or the number, bound before."""
        return self.values[node]

    def bind_scalar(self, node: Node, carried: Ssa) -> None:
        """Make a number of the function's entry the value of ``node``."""
        want = node.tile.dtype
        have = carrier(want)
        value = vector.broadcast(vector_type(have, 1), carried)
        if want is DType.F64:
            self.values[node] = vector.bitcast(vector_type(want, 1), value)
        else:
            self.values[node] = convert(value, have, want)

    def elements(self, node: Node) -> tuple[int, ...]:
        """Elements of one lane along each dim."""
        return node.placed.elements

    def aligned(self, operand: Node, node: Node) -> Ssa:
        """The operand's elements, repeated along dims that only ``node`` has."""
        if operand.dims == node.dims:
            return self.value(operand)
        have = dict(zip(operand.dims, self.elements(operand), strict=True))
        shape = [have.get(d, 1) for d in node.dims]
        grid = np.arange(pymath.prod(shape)).reshape(shape)
        return shuffled(self.value(operand), np.broadcast_to(grid, self.elements(node)).ravel())

    def permuted(self, operand: Node, node: Node) -> Ssa:
        """The operand's elements in the order of the dims of ``node``."""
        shape = self.elements(operand)
        grid = np.arange(pymath.prod(shape)).reshape(shape)
        order = [operand.dims.index(d) for d in node.dims]
        return shuffled(self.value(operand), grid.transpose(order).ravel())

    def positions_of(self, node: Node) -> Ssa:
        """Positions along the one dim of ``node``."""
        axis, dtype = node.placed.axes[0], node.tile.dtype
        first = arith.index_cast(element_type(dtype), self.positions.index(axis.start))
        starts = vector.broadcast(vector_type(dtype, axis.elements), first)
        offsets = integers([axis.dealt.offset(e) for e in range(axis.elements)], dtype)
        return arith.addi(starts, offsets)

    def full(self, node: Node, value: float) -> Ssa:
        """A constant."""
        return splat(node.tile.dtype, pymath.prod(self.elements(node)), value)

    def elementwise(self, code: str, operands: Sequence[Ssa], dtype: DType, node: Node) -> Ssa:
        """One op of the elementwise table."""
        del node
        return compute(code, operands, dtype, self.arithmetic)

    def select(self, condition: Ssa, if_true: Ssa, if_false: Ssa) -> Ssa:
        """Choose element by element."""
        return arith.select(condition, if_true, if_false)

    def cast(self, value: Ssa, have: DType, want: DType) -> Ssa:
        """Convert elements."""
        return convert(value, have, want)

    # --- memory ---

    def _access(self, memory: Node, node: Node, width: int | None) -> Access:
        """Access of a node; on the CPU a vector is as wide as the piece, whatever was asked."""
        cpu = self.target.family == "cpu"
        run = node.placed.axes[-1].dealt.width if node.dims else 1
        widest = run if width is None or cpu else min(width, run)
        return Access(self.positions, self.value(memory), node.placed, widest, whole=not cpu)

    def load(self, memory: Node, node: Node, width: int | None) -> Ssa:
        """The lane's elements of a tensor."""
        return self._access(memory, node, width).load(node.tile.dtype)

    def store(self, memory: Node, node: Node, value: Ssa, width: int | None) -> None:
        """The lane's elements into a tensor, if this lane is the one to write them."""
        access = self._access(memory, node, width)
        if not node.placed.writers:
            access.store(value)
            return
        zero = self.positions.index(0)
        ours = [arith.cmpi(0, self.positions.index(e), zero) for e in node.placed.writers]
        branch = scf.IfOp(reduce(arith.andi, ours))
        with ir.InsertionPoint(branch.then_block), self.positions.block():
            access.store(value)
            scf.YieldOp([])

    # --- loops ---

    def loop(self, node: Node, op: Loop) -> list[Ssa]:
        """``scf.for`` over the loop's steps."""
        assert op.steps is not None
        index = self.positions.index
        inits = [self.value(i) for i in op.inits]
        made = scf.ForOp(index(0), index(op.steps), index(1), inits)
        with ir.InsertionPoint(made.body), self.positions.block():
            self.positions.symbols[f"step_{node.name}"] = made.induction_variable
            for argument, carried in zip(op.body.arguments, made.inner_iter_args, strict=True):
                self.values[argument] = carried
            self.region(op.body)
            scf.YieldOp([self.value(y) for y in op.body.yields])
        return list(made.results)

    # --- what reductions are made of ---

    def mask(self, source: Node, dim: str, fill: float) -> Ssa:
        """``fill`` in place of elements outside along ``dim``."""
        axis = source.placed[dim]
        bound = self.positions.remaining(axis)
        value = self.value(source)
        if bound is None:
            return value
        index = self.positions.index
        clamped = arith.minsi(arith.maxsi(bound, index(0)), index(MOST))
        narrow = arith.index_cast(ir.IntegerType.get_signless(32), clamped)
        bounds = vector.broadcast(vector_type(DType.I32, length(value)), narrow)
        inside = arith.cmpi(2, integers(self._offsets(source, dim)), bounds)
        return arith.select(inside, value, splat(source.tile.dtype, length(value), fill))

    def _offsets(self, source: Node, dim: str) -> list[int]:
        """Offset along ``dim`` of each of the lane's elements."""
        shape = self.elements(source)
        which = np.indices(shape)[source.dims.index(dim)].ravel()
        return [source.placed[dim].dealt.offset(int(e)) for e in which]

    def fold(self, binary: type[Binary], source: Node, dim: str, node: Node) -> Ssa:
        """Combine the lane's elements along ``dim``, halves at a time."""
        del node
        shape, axis = list(self.elements(source)), source.dims.index(dim)
        value, dtype = self.value(source), source.tile.dtype
        code = binary.row.float_code if dtype.is_float else binary.row.int_code
        while shape[axis] > 1:
            low, high, half = halves(tuple(shape), axis)
            middle = low.take(range(high.shape[axis]), axis)
            rest = low.take(range(high.shape[axis], half), axis)
            both = [shuffled(value, part.ravel()) for part in (middle, high)]
            joined = compute(code, both, dtype, self.arithmetic)
            if rest.size:
                joined = _appended(
                    joined, shuffled(value, rest.ravel()), middle.shape, rest.shape, axis
                )
            value = joined
            shape[axis] = half
        return value

    def shuffle(self, source: Node, offset: int) -> Ssa:
        """Every element from lane ``lane ^ offset``, as 32-bit words."""
        value, dtype = self.value(source), source.tile.dtype
        words = _as_words(value, dtype)
        made = splat(DType.I32, length(words), 0)
        i32 = ir.IntegerType.get_signless(32)
        distance, width = (arith.constant(i32, n) for n in (offset, self.tiling.lanes))
        for i in range(length(words)):
            word = vector.extract(words, [], [i])
            moved = gpu.ShuffleOp(word, distance, width, gpu.ShuffleMode.XOR).results[0]
            made = vector.insert(moved, made, [], [i])
        return _from_words(made, dtype)

    def allocate(self, buffer: str, dtype: DType, elements: int) -> None:
        """Shared memory for a buffer in which every lane has ``elements`` places."""
        total = self.tiling.waves * self.tiling.lanes * elements
        self.shared[buffer] = allocate(_stored(dtype), total)

    def _place(self, wave: expr.Expr, elements: int) -> Ssa:
        lane = expr.add(expr.mul(wave, self.tiling.lanes), Sym("lane"))
        return self.positions.index(expr.mul(lane, elements))

    def _own_wave(self) -> expr.Expr:
        terms = [
            expr.mul(Sym(f"wave_{d.name}"), self.tiling.wave_stride(d.name))
            for d in self.tiling.dims
            if d.waves > 1
        ]
        total = expr.of(0)
        for term in terms:
            total = expr.add(total, term)
        return total

    def shared_store(self, buffer: str, source: Node) -> None:
        """The lane's elements into its own place."""
        have = source.tile.dtype
        value = convert(self.value(source), have, _stored(have))
        vector.store(value, self.shared[buffer], [self._place(self._own_wave(), length(value))])

    def shared_load(self, buffer: str, dim: str, wave: int, node: Node) -> Ssa:
        """The elements of the same lane of wave ``wave`` along ``dim``."""
        elements = pymath.prod(self.elements(node))
        other = expr.substitute(self._own_wave(), {f"wave_{dim}": wave})
        want = node.tile.dtype
        kind = vector_type(_stored(want), elements)
        made = vector.load(kind, self.shared[buffer], [self._place(other, elements)])
        return convert(made, _stored(want), want)

    def barrier(self) -> None:
        """All waves wait for each other."""
        gpu.barrier()


def _stored(dtype: DType) -> DType:
    """Booleans take a byte each in memory."""
    return DType.I8 if dtype is DType.I1 else dtype


def _appended(
    value: Ssa, more: Ssa, shape: tuple[int, ...], more_shape: tuple[int, ...], axis: int
) -> Ssa:
    """Two grids of elements joined along ``axis``, as one flat vector."""
    first = np.arange(pymath.prod(shape)).reshape(shape)
    second = np.arange(pymath.prod(more_shape)).reshape(more_shape) + first.size
    order = np.concatenate([first, second], axis).ravel()
    if length(more) < length(value):
        padding = np.minimum(np.arange(length(value)), length(more) - 1)
        return vector.shuffle(value, shuffled(more, padding), [int(p) for p in order])
    return vector.shuffle(value, more, [int(p) for p in order])


def _as_words(value: Ssa, dtype: DType) -> Ssa:
    """The elements as 32-bit integers, two for a 64-bit element."""
    if dtype.bits < 32:
        if not dtype.is_float:
            return convert(value, dtype, DType.I32)
        value, dtype = convert(value, dtype, DType.F32), DType.F32
    return vector.bitcast(vector_type(DType.I32, length(value) * dtype.bits // 32), value)


def _from_words(words: Ssa, dtype: DType) -> Ssa:
    if dtype.bits < 32:
        if not dtype.is_float:
            return convert(words, DType.I32, dtype)
        return convert(_from_words(words, DType.F32), DType.F32, dtype)
    return vector.bitcast(vector_type(dtype, length(words) * 32 // dtype.bits), words)


def location_of(node: Node) -> Any:
    """The MLIR location of a node: its name, and its place in the person's source."""
    at = node.location
    place = None if at is None else ir.Location.file(at.file, at.line, at.column + 1)
    return ir.Location.name(node.name, place)
