"""Elementwise kernels: broadcasts, choices, conversions, tensors of one to three dims.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import torch

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_M, SPACE, Case, K, M, N, rows
from core.zoo import ANY, FLOAT, highest, row_case, zoo
from explorer.compiler.lang.dtypes import DType

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
