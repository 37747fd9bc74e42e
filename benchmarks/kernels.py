"""The kernels that are measured."""

from typing import Any

import explorer.lang as tkl
import explorer.wave as tkw

M, N = tkl.sym.M, tkl.sym.N
BLOCK_M, BLOCK_N, BLOCK_P, VECTOR = (
    tkl.sym.BLOCK_M,
    tkl.sym.BLOCK_N,
    tkl.sym.BLOCK_P,
    tkl.sym.VECTOR,
)
SPACE = tkl.GLOBAL_ADDRESS_SPACE
LOG2E = 1.4426950408889634
LOWEST = -3.4028234663852886e38

hardware = tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: VECTOR})
rows = tkw.WorkgroupConstraint(M, BLOCK_M, 0)


@tkw.wave([hardware, rows, tkw.TilingConstraint(N, BLOCK_N)])
def online_softmax(
    a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]
) -> None:
    """One pass for maximum and sum, a second for the division."""

    @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](LOWEST), tkl.Register[M, tkl.f32](0.0)])
    def row(m: Any, d: Any) -> Any:
        x = tkw.read(a)
        larger = tkw.max(x, m, dim=N)
        scaled = d * tkw.exp2((m - larger) * LOG2E)
        return larger, tkw.sum(tkw.exp2((x - larger) * LOG2E), scaled, dim=N)

    m, d = row
    tkw.write(tkw.exp2((tkw.read(a) - m) * LOG2E) / d, c)


@tkw.wave([hardware, rows, tkw.ParallelTilingConstraint(N, BLOCK_P)])
def softmax(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]) -> None:
    """Maximum, sum and division: three generated loops over the row."""
    x = tkw.read(a)
    e = tkw.exp2((x - tkw.max(x, dim=N)) * LOG2E)
    tkw.write(e * tkw.reciprocal(tkw.sum(e, dim=N)), c)


@tkw.wave([tkw.HardwareConstraint(threads_per_wave=64)])
def nearly_empty(a: tkl.Memory[N, SPACE, tkl.f32], c: tkl.Memory[N, SPACE, tkl.f32]) -> None:
    """Copies a single element: what a call costs."""
    tkw.write(tkw.read(a), c)
