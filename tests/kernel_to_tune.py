"""A small kernel whose tile can be illegal. No postponed annotations: a kernel needs the types."""

import explorer.lang as tkl
import explorer.wave as tkw

M, N, BLOCK_N, V = tkl.sym.M, tkl.sym.N, tkl.sym.BLOCK_N, tkl.sym.V
bindings = {M: 4, N: 128, V: 32}


@tkw.wave(
    [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: V}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WorkgroupConstraint(N, N, 0),
        tkw.TilingConstraint(N, BLOCK_N),
    ]
)
def row_max(
    a: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
) -> None:
    start = tkl.Register[M, tkl.f32](-1e6)

    @tkw.iterate(N, init_args=[start])
    def largest(partial: tkl.Register[M, tkl.f32]) -> tkl.Register[M, tkl.f32]:
        return tkw.max(tkw.read(a), partial, dim=N)

    tkw.write(tkw.read(a) + largest, c)
