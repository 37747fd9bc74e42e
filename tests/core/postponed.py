"""Kernels in a file that postpones its annotations."""

from __future__ import annotations

from collections.abc import Sequence

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import SPACE, M, N
from explorer.compiler.lang.constraints import Constraint
from explorer.compiler.trace.kernel import Kernel

GLOBAL = tkl.Memory[M, N, SPACE, tkl.f32]


def doubled(constraints: Sequence[Constraint]) -> Kernel:
    """Annotated with a name of the module and one of the function around it."""
    local = tkl.Memory[M, N, SPACE, tkl.f32]

    @tkw.wave(constraints)
    def kernel(a: GLOBAL, c: local) -> None:
        known = local  # a name of the function around is found only if the kernel uses it
        assert known is local
        tkw.write(tkw.read(a) * 2, c)

    return kernel


def spelled_out(constraints: Sequence[Constraint]) -> Kernel:
    """Annotated with an expression."""

    @tkw.wave(constraints)
    def kernel(a: tkl.Memory[M, N, SPACE, tkl.f32], c: GLOBAL) -> None:
        tkw.write(tkw.read(a) * 2, c)

    return kernel
