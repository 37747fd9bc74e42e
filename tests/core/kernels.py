"""A zoo of small kernels: each a factory of (element type, rows, columns) with its reference.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import functools

import explorer.lang as tkl
import explorer.wave as tkw
from core import (
    kernels_by_element,
    kernels_of_positions,
    kernels_of_rows,
    kernels_with_loops,
)
from core.cases import Case, M, N
from core.zoo import ANY, FLOAT
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.trace.kernel import Kernel

ELEMS_PER_THREAD, ADDRESS_SPACE = tkl.sym.ELEMS_PER_THREAD, tkl.sym.ADDRESS_SPACE


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


FAMILIES = (kernels_of_rows, kernels_with_loops, kernels_by_element, kernels_of_positions)
"""Importing them fills the zoo."""

ZOO = {**ANY, **FLOAT}


@functools.cache
def case(name: str, dtype: DType = tkl.f32, m: int = 3, n: int = 300) -> Case:
    """The case called ``name``; the same kernel object at every call."""
    return ZOO[name](dtype, m, n)
