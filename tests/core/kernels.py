"""A zoo of small kernels: each a factory of (element type, rows, columns) with its reference.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import functools
import math
from collections.abc import Callable

import torch

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_K, BLOCK_M, BLOCK_N, SPACE, Case, K, M, N, rows
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.trace.kernel import Kernel

ELEMS_PER_THREAD, ADDRESS_SPACE = tkl.sym.ELEMS_PER_THREAD, tkl.sym.ADDRESS_SPACE
LOG2E = math.log2(math.e)

LOWEST = {
    tkl.f64: -1.7976931348623157e308,
    tkl.f32: -3.4028234663852886e38,
    tkl.f16: -65504.0,
    tkl.bf16: -3.3895313892515355e38,
    tkl.i32: -(2**31),
}
"""Lowest finite number of each type."""

Factory = Callable[[DType, int, int], Case]
ANY: dict[str, Factory] = {}
"""Kernels for floats and integers."""
FLOAT: dict[str, Factory] = {}
"""Kernels for floats alone."""


def zoo(family: dict[str, Factory]) -> Callable[[Factory], Factory]:
    """Put a factory in ``family`` under its name."""

    def keep(factory: Factory) -> Factory:
        family[factory.__name__] = factory
        return factory

    return keep


def row_case(kernel: Kernel, reference: Callable[..., torch.Tensor], m: int, n: int) -> Case:
    """A case for a kernel that uses ``rows()``."""
    return Case(kernel, reference, {M: m, N: n, BLOCK_M: 1, BLOCK_N: 128})


def highest(x: torch.Tensor) -> torch.Tensor:
    """Largest element of each row, shape [m, 1]."""
    return x.amax(-1, keepdim=True)


# --- the issue's kernel and softmax ---------------------------------------------------------------


def issue_kernel(constraints: list[tkw.Constraint], dtype: DType = tkl.f32) -> Kernel:
    """The kernel of the issue, line by line; ``explorer.lang`` in place of the original import."""

    @tkw.wave(constraints)
    def test(  # noqa: ANN202 (as it was written)
        a: tkl.Memory[M, N, ADDRESS_SPACE, dtype],
        c: tkl.Memory[M, N, ADDRESS_SPACE, dtype],
    ):
        init_max = tkl.Register[M, dtype](-1e6)

        @tkw.reduction(N, init_args=[init_max])
        def repeat(
            partial_max: tkl.Register[M, dtype],
        ) -> tkl.Register[M, dtype]:
            lhs = tkw.read(a, elements_per_thread=ELEMS_PER_THREAD)
            partial_max = tkw.max(lhs, partial_max, dim=N)
            return partial_max  # noqa: RET504

        lhs = tkw.read(a, elements_per_thread=ELEMS_PER_THREAD)
        result = lhs + repeat
        tkw.write(result, c, elements_per_thread=1)

    return test


@zoo(ANY)
def row_max_add(dtype: DType, m: int, n: int) -> Case:
    """The issue's kernel with the name and the form of the public documentation."""

    @tkw.wave(rows())
    def row_max_add(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]) -> None:
        start = tkl.Register[M, dtype](LOWEST[dtype])

        @tkw.iterate(N, init_args=[start])
        def row_max(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            return tkw.max(tkw.read(a), partial, dim=N)

        tkw.write(tkw.read(a) + row_max, c)

    return row_case(row_max_add, lambda a: a + highest(a), m, n)


@zoo(FLOAT)
def online_softmax(dtype: DType, m: int, n: int) -> Case:
    """One pass keeps maximum and sum, the second use of the row divides."""

    @tkw.wave(rows())
    def online_softmax(
        a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]
    ) -> None:
        lowest = tkl.Register[M, dtype](LOWEST[dtype])
        zero = tkl.Register[M, dtype](0.0)

        @tkw.iterate(N, init_args=[lowest, zero])
        def loop(
            m: tkl.Register[M, dtype], d: tkl.Register[M, dtype]
        ) -> tuple[tkl.Register[M, dtype], tkl.Register[M, dtype]]:
            x = tkw.read(a)
            top = tkw.max(x, m, dim=N)
            scaled = d * tkw.exp2((m - top) * LOG2E)
            return top, tkw.sum(tkw.exp2((x - top) * LOG2E), scaled, dim=N)

        top, total = loop
        tkw.write(tkw.exp2((tkw.read(a) - top) * LOG2E) / total, c)

    return row_case(online_softmax, lambda a: torch.softmax(a, -1), m, n)


@zoo(FLOAT)
def naive_softmax(dtype: DType, m: int, n: int) -> Case:
    """Softmax without a loop: the whole row at once."""

    @tkw.wave(rows(loop=False))
    def naive_softmax(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]) -> None:
        x = tkw.read(a)
        e = tkw.exp2((x - tkw.max(x, dim=N)) * LOG2E)
        tkw.write(e / tkw.sum(e, dim=N), c)

    return row_case(naive_softmax, lambda a: torch.softmax(a, -1), m, n)


# --- loops ----------------------------------------------------------------------------------------


@zoo(ANY)
def two_loops(dtype: DType, m: int, n: int) -> Case:
    """A second loop over N uses what the first gave."""

    @tkw.wave(rows())
    def two_loops(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, dtype](LOWEST[dtype])])
        def top(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            return tkw.max(tkw.read(a), partial, dim=N)

        @tkw.iterate(N, init_args=[tkl.Register[M, dtype](0)])
        def total(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            return tkw.sum(tkw.read(a) - top, partial, dim=N)

        tkw.write(tkw.read(a) + total, c)

    return row_case(two_loops, lambda a: a + (a - highest(a)).sum(-1, keepdim=True), m, n)


@zoo(ANY)
def result_used_twice(dtype: DType, m: int, n: int) -> Case:
    """A loop's result goes into an elementwise op and into another loop."""

    @tkw.wave(rows())
    def result_used_twice(
        a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]
    ) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, dtype](0)])
        def low(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            return tkw.min(tkw.read(a), partial, dim=N)

        doubled = low + low

        @tkw.iterate(N, init_args=[doubled])
        def high(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            return tkw.max(tkw.read(a) + low, partial, dim=N)

        tkw.write(tkw.read(a) * doubled - high, c)

    def reference(a: torch.Tensor) -> torch.Tensor:
        low = a.amin(-1, keepdim=True).clamp(max=0)
        return a * 2 * low - torch.maximum(highest(a) + low, 2 * low)

    return row_case(result_used_twice, reference, m, n)


@zoo(ANY)
def several_carried(dtype: DType, m: int, n: int) -> Case:
    """One loop carries a maximum, a minimum and a sum."""

    @tkw.wave(rows())
    def several_carried(
        a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]
    ) -> None:
        zero = tkl.Register[M, dtype](0)

        @tkw.iterate(N, init_args=[zero, zero, zero])
        def loop(
            high: tkl.Register[M, dtype],
            low: tkl.Register[M, dtype],
            total: tkl.Register[M, dtype],
        ) -> tuple[tkl.Register[M, dtype], ...]:
            x = tkw.read(a)
            return tkw.max(x, high, dim=N), tkw.min(x, low, dim=N), tkw.sum(x, total, dim=N)

        high, low, total = loop
        tkw.write(tkw.read(a) * (high - low) + total, c)

    def reference(a: torch.Tensor) -> torch.Tensor:
        high, low = highest(a).clamp(min=0), a.amin(-1, keepdim=True).clamp(max=0)
        return a * (high - low) + a.sum(-1, keepdim=True)

    return row_case(several_carried, reference, m, n)


@zoo(ANY)
def nested_loops(dtype: DType, m: int, n: int) -> Case:
    """A loop over N inside a loop over K: the maximum over K of sums over N."""

    @tkw.wave([*rows(), tkw.TilingConstraint(K, BLOCK_K)])
    def nested_loops(a: tkl.Memory[M, K, N, SPACE, dtype], c: tkl.Memory[M, SPACE, dtype]) -> None:
        @tkw.iterate(K, init_args=[tkl.Register[M, dtype](LOWEST[dtype])])
        def outer(top: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            @tkw.iterate(N, init_args=[tkl.Register[M, K, dtype](0)])
            def inner(total: tkl.Register[M, K, dtype]) -> tkl.Register[M, K, dtype]:
                return tkw.sum(tkw.read(a), total, dim=N)

            return tkw.max(inner, top, dim=K)

        tkw.write(outer, c)

    case = row_case(nested_loops, lambda a: a.sum(-1).amax(-1), m, n)
    return case.bound({K: 5, BLOCK_K: 2})


@zoo(ANY)
def rows_in_a_loop(dtype: DType, m: int, n: int) -> Case:
    """A loop over M that carries nothing, with a loop over N inside; it writes tile by tile."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: BLOCK_N}),
        tkw.TilingConstraint(M, BLOCK_M),
        tkw.TilingConstraint(N, BLOCK_N),
    ]

    @tkw.wave(constraints)
    def rows_in_a_loop(
        a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]
    ) -> None:
        @tkw.iterate(M)
        def outer() -> None:
            @tkw.iterate(N, init_args=[tkl.Register[M, dtype](LOWEST[dtype])])
            def top(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
                return tkw.max(tkw.read(a), partial, dim=N)

            tkw.write(tkw.read(a) - top, c)

    return row_case(rows_in_a_loop, lambda a: a - highest(a), m, n)


@zoo(ANY)
def matmul(dtype: DType, m: int, n: int) -> Case:
    """Products of a[M, K] and b[N, K] by broadcasting, added up over K in accumulators [M, N]."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 4, N: 16, K: BLOCK_K}),
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(N, BLOCK_N, 0),
        tkw.TilingConstraint(K, BLOCK_K),
    ]

    @tkw.wave(constraints)
    def matmul(
        a: tkl.Memory[M, K, SPACE, dtype],
        b: tkl.Memory[N, K, SPACE, dtype],
        c: tkl.Memory[M, N, SPACE, dtype],
    ) -> None:
        @tkw.iterate(K, init_args=[tkl.Register[M, N, dtype](0)])
        def product(partial: tkl.Register[M, N, dtype]) -> tkl.Register[M, N, dtype]:
            lhs = tkw.broadcast(tkw.read(a), [M, N, K])
            return tkw.sum(lhs * tkw.read(b), partial, dim=K)

        tkw.write(product, c)

    bindings = {M: m, N: n, K: 21, BLOCK_M: 8, BLOCK_N: 32, BLOCK_K: 4}
    return Case(matmul, lambda a, b: a @ b.T, bindings)


@zoo(ANY)
def row_sum(dtype: DType, m: int, n: int) -> Case:
    """Row sums, written to c[M]."""

    @tkw.wave(rows())
    def row_sum(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, SPACE, dtype]) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, dtype](0)])
        def total(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            return tkw.sum(tkw.read(a), partial, dim=N)

        tkw.write(total, c)

    return row_case(row_sum, lambda a: a.sum(-1), m, n)


@zoo(ANY)
def column_max(dtype: DType, m: int, n: int) -> Case:
    """The largest element of each column: a reduction over the slower dim, without a loop."""

    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 2, N: 32})])
    def column_max(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[N, SPACE, dtype]) -> None:
        tkw.write(tkw.max(tkw.read(a), dim=M, block=True), c)

    return Case(column_max, lambda a: a.amax(0), {M: m, N: n})


@zoo(ANY)
def minus_total(dtype: DType, m: int, n: int) -> Case:
    """A scalar, the sum over both dims, comes back to every element."""

    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 2, N: 32})])
    def minus_total(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]) -> None:
        x = tkw.read(a)
        total = tkw.sum(tkw.sum(x, dim=N), tkl.Register[dtype](3), dim=M)
        tkw.write(x - total, c)

    return Case(minus_total, lambda a: a - a.sum() - 3, {M: m, N: n})


# --- elementwise ----------------------------------------------------------------------------------


@zoo(ANY)
def polynomial(dtype: DType, m: int, n: int) -> Case:
    """A plain elementwise kernel of two operands."""

    @tkw.wave(rows(loop=False))
    def polynomial(
        a: tkl.Memory[M, N, SPACE, dtype],
        b: tkl.Memory[M, N, SPACE, dtype],
        c: tkl.Memory[M, N, SPACE, dtype],
    ) -> None:
        x = tkw.read(a)
        tkw.write(x * tkw.read(b) - x + 2, c)

    return row_case(polynomial, lambda a, b: a * b - a + 2, m, n)


@zoo(ANY)
def repeated_operands(dtype: DType, m: int, n: int) -> Case:
    """One operand twice: x + x and x * x."""

    @tkw.wave(rows(loop=False))
    def repeated_operands(
        a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]
    ) -> None:
        x = tkw.read(a)
        tkw.write((x + x) - tkw.maximum(x * x, x), c)

    def reference(a: torch.Tensor) -> torch.Tensor:
        return 2 * a - torch.maximum(a * a, a)

    return row_case(repeated_operands, reference, m, n)


@zoo(ANY)
def outer_sum(dtype: DType, m: int, n: int) -> Case:
    """a[M] repeated along N, and b[N] along M."""

    @tkw.wave(rows(loop=False))
    def outer_sum(
        a: tkl.Memory[M, SPACE, dtype],
        b: tkl.Memory[N, SPACE, dtype],
        c: tkl.Memory[M, N, SPACE, dtype],
    ) -> None:
        tkw.write(tkw.broadcast(tkw.read(a), [M, N]) + tkw.read(b), c)

    return row_case(outer_sum, lambda a, b: a[:, None] + b, m, n)


@zoo(ANY)
def repeated_rows(dtype: DType, m: int, n: int) -> Case:
    """Nothing but a broadcast of b[N] to every row."""

    @tkw.wave(rows(loop=False))
    def repeated_rows(b: tkl.Memory[N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]) -> None:
        tkw.write(tkw.broadcast(tkw.read(b), [M, N]), c)

    return row_case(repeated_rows, lambda b: b.expand(m, n), m, n)


@zoo(ANY)
def choices(dtype: DType, m: int, n: int) -> Case:
    """Selects under comparisons joined with ``&`` and ``|``."""

    @tkw.wave(rows(loop=False))
    def choices(
        a: tkl.Memory[M, N, SPACE, dtype],
        b: tkl.Memory[M, N, SPACE, dtype],
        c: tkl.Memory[M, N, SPACE, dtype],
    ) -> None:
        x, y = tkw.read(a), tkw.read(b)
        outside = (x > 1) | (x <= -1)
        tkw.write(tkw.select(outside & (x != y), -y, tkw.select(x >= y, x, 5)), c)

    def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        outside = ((a > 1) | (a <= -1)) & (a != b)
        return torch.where(outside, -b, torch.where(a >= b, a, 5))

    return row_case(choices, reference, m, n)


@zoo(FLOAT)
def through_f32(dtype: DType, m: int, n: int) -> Case:
    """Convert to f32, compute, convert back."""

    @tkw.wave(rows(loop=False))
    def through_f32(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]) -> None:
        x = tkw.cast(tkw.read(a), tkl.f32)
        tkw.write(tkw.cast(tkw.tanh(x) * x + 0.25, dtype), c)

    return row_case(through_f32, lambda a: torch.tanh(a) * a + 0.25, m, n)


@zoo(ANY)
def one_dim(dtype: DType, m: int, n: int) -> Case:
    """A 1-D tensor, without any constraint but the machine; rows and columns in a line."""

    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=64)])
    def one_dim(a: tkl.Memory[N, SPACE, dtype], c: tkl.Memory[N, SPACE, dtype]) -> None:
        tkw.write(tkw.read(a) * 2 + 1, c)

    return Case(one_dim, lambda a: a * 2 + 1, {N: m * n})


@zoo(ANY)
def three_dims(dtype: DType, m: int, n: int) -> Case:
    """A 3-D tensor, a row maximum subtracted."""
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={K: 0, M: 2, N: 16}),
        tkw.WorkgroupConstraint(K, 1, 2),
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
    ]

    @tkw.wave(constraints)
    def three_dims(
        a: tkl.Memory[K, M, N, SPACE, dtype], c: tkl.Memory[K, M, N, SPACE, dtype]
    ) -> None:
        x = tkw.read(a)
        tkw.write(x - tkw.max(x, dim=N), c)

    return Case(three_dims, lambda a: a - highest(a), {K: 3, M: m, N: n, BLOCK_M: 4})


# --- normalisations -------------------------------------------------------------------------------


@zoo(FLOAT)
def rms_norm(dtype: DType, m: int, n: int) -> Case:
    """Rows over the root of their mean square: x / sqrt(mean(x * x) + epsilon) * w."""

    @tkw.wave(rows())
    def rms_norm(
        a: tkl.Memory[M, N, SPACE, dtype],
        w: tkl.Memory[N, SPACE, dtype],
        c: tkl.Memory[M, N, SPACE, dtype],
    ) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, dtype](0)])
        def squares(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            x = tkw.read(a)
            return tkw.sum(x * x, partial, dim=N)

        scale = tkw.rsqrt(squares * (1 / n) + 1e-3)
        tkw.write(tkw.read(a) * scale * tkw.read(w), c)

    def reference(a: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return a * torch.rsqrt((a * a).mean(-1, keepdim=True) + 1e-3) * w

    return row_case(rms_norm, reference, m, n)


@zoo(FLOAT)
def layer_norm(dtype: DType, m: int, n: int) -> Case:
    """Two loops and a third use of the row: (x - mean) / sqrt(variance + epsilon) * w + b."""

    @tkw.wave(rows())
    def layer_norm(
        a: tkl.Memory[M, N, SPACE, dtype],
        w: tkl.Memory[N, SPACE, dtype],
        b: tkl.Memory[N, SPACE, dtype],
        c: tkl.Memory[M, N, SPACE, dtype],
    ) -> None:
        zero = tkl.Register[M, dtype](0)

        @tkw.iterate(N, init_args=[zero])
        def total(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            return tkw.sum(tkw.read(a), partial, dim=N)

        mean = total * (1 / n)

        @tkw.iterate(N, init_args=[zero])
        def squares(partial: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            x = tkw.read(a) - mean
            return tkw.sum(x * x, partial, dim=N)

        scale = tkw.rsqrt(squares * (1 / n) + 1e-3)
        tkw.write((tkw.read(a) - mean) * scale * tkw.read(w) + tkw.read(b), c)

    def reference(a: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(a, (n,), w, b, 1e-3)

    return row_case(layer_norm, reference, m, n)


ZOO = {**ANY, **FLOAT}


@functools.cache
def case(name: str, dtype: DType = tkl.f32, m: int = 3, n: int = 300) -> Case:
    """The case called ``name``; the same kernel object at every call."""
    return ZOO[name](dtype, m, n)
