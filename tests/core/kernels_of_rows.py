"""Kernels that use a row twice: softmax, normalisations.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import torch

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import SPACE, Case, M, N, rows
from core.zoo import ANY, FLOAT, LOG2E, LOWEST, highest, row_case, zoo
from explorer.compiler.lang.dtypes import DType


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
