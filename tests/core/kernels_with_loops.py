"""Kernels with one loop or several, and reductions without.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import torch

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_K, BLOCK_M, BLOCK_N, SPACE, Case, K, M, N, rows
from core.zoo import ANY, LOWEST, highest, row_case, zoo
from explorer.compiler.lang.dtypes import DType

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
