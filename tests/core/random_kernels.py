"""Random legal kernels: dims, tiles, waves, pieces, loops and operations drawn by hypothesis.

Elements are small whole numbers, cut to -4..4 before every sum, so that all arithmetic is exact and
results can be compared with ``==`` whatever the order of operations.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from hypothesis import strategies as st

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import NUMPY, SPACE, Array, Case, K, M, N
from explorer.compiler.lang.constraints import Constraint
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.lang.tiling import ceil_div
from explorer.compiler.trace.kernel import Kernel

Dims = tuple[sympy.Symbol, ...]
ORDER: Dims = (K, M, N)
"""Dims of tensors and values always stand in this order."""

BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    tkw.maximum,
    tkw.minimum,
    lambda x, y: tkw.select(x < y, x, -y),
    lambda x, y: tkw.select((x == y) | (x >= 2), y, x),
)
UNARY: tuple[Callable[[Any], Any], ...] = (
    tkw.abs,
    lambda x: -x,
    lambda x: x + x,
    lambda x: x * x,
    lambda x: 2 - x,
)
REDUCTIONS = (tkw.max, tkw.min, tkw.sum)


@dataclass(frozen=True)
class Traced:
    """A value of the kernel being traced, with its dims."""

    value: Any
    dims: Dims


@dataclass(frozen=True)
class Axis:
    """What was drawn for one dim."""

    dim: sympy.Symbol
    size: int
    piece: int | None
    constraints: tuple[Constraint, ...]
    looped: bool


@st.composite
def axes(draw: st.DrawFn, dim: sympy.Symbol, place: int, looped: bool) -> Axis:
    """A size and tiles that fit together for one dim."""
    size = draw(st.integers(1, 24))
    waves = draw(st.sampled_from([1, 1, 2, 3]))
    waves = ceil_div(size, ceil_div(size, waves))  # no wave without an element
    piece = draw(st.sampled_from([None, 1, 2, 3, 4, 8, 16, 32]))
    quantum = waves * (piece or 1)
    several = st.integers(1, 3)
    made: list[Constraint] = []
    inner = shared = None
    if looped:
        inner = shared = quantum * draw(several)
        made.append(tkw.TilingConstraint(dim, shared))
    if draw(st.integers(0, 3)) == 0:
        inner = quantum * draw(several)
        made.append(tkw.ParallelTilingConstraint(dim, inner))
    if draw(st.integers(0, 2)) == 0:
        owned = (inner or quantum) * draw(several)
        made.append(tkw.WorkgroupConstraint(dim, owned, place))
        shared = shared or (owned if owned < size else None)
    if waves > 1:
        made.append(tkw.WaveConstraint(dim, ceil_div(shared or size, waves)))
    return Axis(dim, size, piece, tuple(made), looped)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random kernel with its numbers; its reference is what its own first graph computes."""
    dims = draw(st.sampled_from([(N,), (M, N), (M, N), (K, M, N)]))
    drawn = [draw(axes(d, i, draw(st.booleans()))) for i, d in enumerate(dims)]
    dtype = draw(st.sampled_from([tkl.f32, tkl.f16, tkl.i32]))
    shapes = {a.dim: a.piece for a in drawn if a.piece is not None}
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes=shapes),
        *(c for a in drawn for c in a.constraints),
    ]
    kernel = _kernel(draw, drawn, dtype, draw(st.permutations(constraints)))
    assert kernel.graph is not None  # all drawing happens while it is traced
    return Case(kernel, _no_reference, {a.dim: a.size for a in drawn})


def _no_reference(*_: Any) -> Any:
    raise AssertionError


def whole_numbers(case: Case, seed: int) -> list[Array]:
    """Inputs of whole numbers from -3 to 3."""
    rng = np.random.default_rng(seed)
    return [
        rng.integers(-3, 4, case.shape(i)).astype(NUMPY[p.dtype])
        for i, p in enumerate(case.kernel.parameters[:-1])
    ]


def _kernel(
    draw: st.DrawFn, drawn: Sequence[Axis], dtype: DType, order: list[Constraint]
) -> Kernel:
    dims = tuple(a.dim for a in drawn)
    part = draw(_parts(dims, least=1))
    written = draw(_parts(dims, least=1))
    looped = [a.dim for a in drawn if a.looped]

    @tkw.wave(order)
    def kernel(
        a: tkl.Memory[(*dims, SPACE, dtype)],
        b: tkl.Memory[(*part, SPACE, dtype)],
        c: tkl.Memory[(*written, SPACE, dtype)],
    ) -> None:
        body = _Body(draw, dtype, [(a, dims), (b, part)])
        waiting = list(looped)
        while waiting:
            body.loop(waiting)
        body.fill(draw(st.integers(0, 2)))
        tkw.write(body.fitted(body.pick(), written), c, elements_per_thread=draw(_WIDTHS))

    return kernel


_WIDTHS = st.sampled_from([None, None, 1, 2, 4])


def _parts(dims: Dims, least: int = 0) -> st.SearchStrategy[Dims]:
    """Some of ``dims``, in their order."""
    chosen = st.sets(st.sampled_from(dims), min_size=least) if dims else st.just(set())
    return chosen.map(lambda some: tuple(d for d in dims if d in some))


class _Body:
    """Draws the operations of one region."""

    def __init__(
        self,
        draw: st.DrawFn,
        dtype: DType,
        tensors: list[tuple[Any, Dims]],
        known: Sequence[Traced] = (),
    ) -> None:
        self.draw = draw
        self.dtype = dtype
        self.tensors = tensors
        self.known = list(known)

    def fill(self, count: int) -> None:
        """Add ``count`` values."""
        for _ in range(count):
            self.known.append(self.combined(self.pick(), self.pick()))

    def pick(self) -> Traced:
        """A known value, or a new one."""
        choice = self.draw(st.integers(0, len(self.known) + 1))
        if choice < len(self.known):
            return self.known[choice]
        return self.read() if choice == len(self.known) else self.unary(self.read())

    def read(self) -> Traced:
        """A read of one of the tensors."""
        memory, dims = self.draw(st.sampled_from(self.tensors))
        return Traced(tkw.read(memory, elements_per_thread=self.draw(_WIDTHS)), dims)

    def register(self, dims: Dims) -> Traced:
        """A constant."""
        number = self.draw(st.integers(-4, 4))
        return Traced(tkl.Register[(*dims, self.dtype)](number), dims)

    def unary(self, x: Traced) -> Traced:
        """One operation on ``x``."""
        return Traced(self.draw(st.sampled_from(UNARY))(x.value), x.dims)

    def combined(self, x: Traced, y: Traced) -> Traced:
        """One operation on both, repeated along the dims they lack where they must be."""
        dims = tuple(d for d in ORDER if d in x.dims or d in y.dims)
        if dims not in (x.dims, y.dims):
            x, y = self.spread(x, dims), self.spread(y, dims)
        operation = self.draw(st.sampled_from(BINARY))
        return self.small(Traced(operation(x.value, y.value), dims))

    def spread(self, x: Traced, dims: Dims) -> Traced:
        """The value repeated to ``dims``."""
        return x if x.dims == dims else Traced(tkw.broadcast(x.value, dims), dims)

    def small(self, x: Traced) -> Traced:
        """The value cut to -4..4."""
        return Traced(tkw.minimum(tkw.maximum(x.value, -4), 4), x.dims)

    def reduced(self, x: Traced, dim: sympy.Symbol, init: Any = None) -> Traced:
        """The value reduced over ``dim``."""
        reduction = self.draw(st.sampled_from(REDUCTIONS))
        left = tuple(d for d in x.dims if d is not dim)
        return self.small(Traced(reduction(self.small(x).value, init, dim=dim), left))

    def fitted(self, x: Traced, dims: Dims) -> Traced | Any:
        """The value brought to ``dims``: reduced over others, repeated along missing ones."""
        for d in x.dims:
            if d not in dims:
                x = self.reduced(x, d)
        return self.spread(x, dims).value

    def loop(self, waiting: list[sympy.Symbol]) -> None:
        """A loop over the first dim of ``waiting``, perhaps with loops over others inside."""
        axis = waiting.pop(0)
        others = tuple(d for d in ORDER if d is not axis and any(d in t for _, t in self.tensors))
        shapes = self.draw(st.lists(_parts(others), min_size=1, max_size=2))
        inits = [self.register(dims) for dims in shapes]

        def run(carried: list[Any]) -> list[Any]:
            now = [Traced(v, d) for v, d in zip(carried, shapes, strict=True)]
            inside = _Body(self.draw, self.dtype, self.tensors, [*self.known, *now])
            if waiting and self.draw(st.booleans()):
                inside.loop(waiting)
            inside.fill(self.draw(st.integers(0, 2)))
            return [inside.step(axis, c) for c in now]

        results = _iterate(axis, [i.value for i in inits], run)
        self.known += [Traced(v, d) for v, d in zip(results, shapes, strict=True)]

    def step(self, axis: sympy.Symbol, carried: Traced) -> Any:
        """What a loop over ``axis`` makes of a carried value."""
        x = self.pick()
        if axis not in x.dims:
            x = self.combined(x, Traced(tkw.read(self.tensors[0][0]), self.tensors[0][1]))
        for d in x.dims:
            if d is not axis and d not in carried.dims:
                x = self.reduced(x, d)
        x = self.spread(x, tuple(d for d in ORDER if d in carried.dims or d is axis))
        if self.draw(st.booleans()):
            return self.reduced(x, axis, carried.value).value
        return self.combined(self.reduced(x, axis), carried).value


def _iterate(
    axis: sympy.Symbol, inits: list[Any], body: Callable[[list[Any]], list[Any]]
) -> tuple[Any, ...]:
    """A loop whose body takes one value or two."""
    if len(inits) == 1:

        @tkw.iterate(axis, init_args=inits)
        def one(x: Any) -> Any:
            return body([x])

        return (one,)

    @tkw.iterate(axis, init_args=inits)
    def two(x: Any, y: Any) -> Any:
        return body([x, y])

    return two
