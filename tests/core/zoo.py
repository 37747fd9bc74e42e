"""Where the kernels of the zoo are kept, and what they share."""

import math
from collections.abc import Callable

import torch

import explorer.lang as tkl
from core.cases import BLOCK_M, BLOCK_N, Case, M, N
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.trace.kernel import Kernel

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
