"""Kernels that ask where an element stands, or put it elsewhere.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import torch

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_N, SPACE, Case, M, N, rows
from core.zoo import ANY, LOWEST, row_case, zoo
from explorer.compiler.lang.dtypes import DType


@zoo(ANY)
def row_argmax(dtype: DType, m: int, n: int) -> Case:
    """The position of each row's largest element."""

    @tkw.wave(rows(loop=False))
    def row_argmax(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, SPACE, tkl.i32]) -> None:
        tkw.write(tkw.argmax(tkw.read(a), dim=N), c)

    return row_case(row_argmax, lambda a: a.argmax(-1), m, n)


@zoo(ANY)
def argmin_of_columns(dtype: DType, m: int, n: int) -> Case:
    """A search along the slower dim."""

    @tkw.wave(
        [
            tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 4, N: 16}),
            tkw.WorkgroupConstraint(N, BLOCK_N, 0),
        ]
    )
    def argmin_of_columns(
        a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[N, SPACE, tkl.i32]
    ) -> None:
        tkw.write(tkw.argmin(tkw.read(a), dim=M), c)

    return Case(argmin_of_columns, lambda a: a.argmin(0), {M: m, N: n, BLOCK_N: 64})


@zoo(ANY)
def transpose(dtype: DType, m: int, n: int) -> Case:
    """Two-dimensional pieces, written the other way round."""

    @tkw.wave(
        [
            tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 8, N: 8}),
            tkw.WorkgroupConstraint(M, 8, 1),
            tkw.WorkgroupConstraint(N, BLOCK_N, 0),
        ]
    )
    def transpose(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[N, M, SPACE, dtype]) -> None:
        tkw.write(tkw.permute(tkw.read(a), [N, M]), c)

    return Case(transpose, lambda a: a.T, {M: m, N: n, BLOCK_N: 64})


@zoo(ANY)
def total(dtype: DType, m: int, n: int) -> Case:
    """A sum over both dims, broadcast back."""

    @tkw.wave([tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64})])
    def total(a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, N, SPACE, dtype]) -> None:
        x = tkw.read(a)
        tkw.write(x + tkw.sum(x * x, dim=[M, N]), c)

    return Case(total, lambda a: a + (a * a).sum(), {M: m, N: n})


@zoo(ANY)
def lower_triangle_max(dtype: DType, m: int, n: int) -> Case:
    """The running maximum of what a mask of positions leaves, in a loop."""

    @tkw.wave(rows())
    def lower_triangle_max(
        a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, SPACE, dtype]
    ) -> None:
        lowest = tkl.Register[M, dtype](LOWEST[dtype])

        @tkw.iterate(N, init_args=[lowest])
        def best(so_far: tkl.Register[M, dtype]) -> tkl.Register[M, dtype]:
            row = tkw.broadcast(tkw.self_index(M), [M, N])
            kept = tkw.select(tkw.self_index(N) <= row, tkw.read(a), LOWEST[dtype])
            return tkw.max(kept, so_far, dim=N)

        tkw.write(best, c)

    def reference(a: torch.Tensor) -> torch.Tensor:
        below = torch.ones_like(a).tril() > 0
        return torch.where(below, a, torch.full_like(a, LOWEST[dtype])).amax(-1)

    return row_case(lower_triangle_max, reference, m, n)


@zoo(ANY)
def rows_with_a_hit(dtype: DType, m: int, n: int) -> Case:
    """Conditions reduced: 1 where a row has an element above 1, 2 more where none is below -1."""

    @tkw.wave(rows(loop=False))
    def rows_with_a_hit(
        a: tkl.Memory[M, N, SPACE, dtype], c: tkl.Memory[M, SPACE, tkl.i32]
    ) -> None:
        x = tkw.read(a)
        high = tkw.cast(tkw.any(x > 1, dim=N), tkl.i32)
        low = tkw.cast(tkw.all(x >= -1, dim=N), tkl.i32)
        tkw.write(high + low * 2, c)

    def reference(a: torch.Tensor) -> torch.Tensor:
        return (a > 1).any(-1).int() + 2 * (a >= -1).all(-1).int()

    return row_case(rows_with_a_hit, reference, m, n)
