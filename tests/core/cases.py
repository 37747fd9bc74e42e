"""A kernel with the numbers it runs under, its arguments, and what it should give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np
import sympy
import torch
from numpy.typing import NDArray

import explorer.lang as tkl
import explorer.wave as tkw
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.trace.kernel import Kernel

Array = NDArray[Any]
Reference = Callable[..., torch.Tensor]
"""Takes the inputs as float64 or int64 tensors and gives the output in the same type."""

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
SPACE = tkl.GLOBAL_ADDRESS_SPACE

NUMPY: dict[DType, Any] = {
    tkl.f64: np.float64,
    tkl.f32: np.float32,
    tkl.f16: np.float16,
    tkl.bf16: ml_dtypes.bfloat16,
    tkl.i64: np.int64,
    tkl.i32: np.int32,
    tkl.i16: np.int16,
    tkl.i8: np.int8,
    tkl.i1: np.bool_,
}

TOLERANCE = {tkl.f64: 1e-12, tkl.f32: 2e-5, tkl.f16: 1e-2, tkl.bf16: 8e-2}
"""Relative and absolute; sums of tens of rounded numbers in any order."""


@dataclass(frozen=True)
class Case:
    """A kernel whose last parameter is its only output."""

    kernel: Kernel
    reference: Reference
    bindings: Mapping[sympy.Symbol, int]

    @property
    def dtype(self) -> DType:
        """Element type of the output."""
        return self.kernel.parameters[-1].dtype

    def bound(self, changes: Mapping[sympy.Symbol, int]) -> Case:
        """The same kernel under other numbers."""
        return replace(self, bindings={**self.bindings, **changes})

    def shape(self, position: int) -> tuple[int, ...]:
        """Shape of the argument at ``position``."""
        return tuple(self.bindings[d] for d in self.kernel.parameters[position].dims)

    def inputs(self, seed: int = 0) -> list[Array]:
        """Random inputs, all parameters but the last."""
        rng = np.random.default_rng(seed)
        inputs = self.kernel.parameters[:-1]
        return [random(rng, self.shape(i), p.dtype) for i, p in enumerate(inputs)]

    def output(self) -> Array:
        """An output that no kernel leaves as it is."""
        return nothing(self.shape(len(self.kernel.parameters) - 1), self.dtype)

    def expected(self, inputs: Sequence[Array]) -> Array:
        """What the kernel should write, in float64 or int64."""
        return self.reference(*map(precise, inputs)).numpy()

    def check(self, output: Array, inputs: Sequence[Array]) -> None:
        """Assert that ``output`` is what the kernel should write for ``inputs``."""
        close(output, self.expected(inputs), self.dtype)


def random(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> Array:
    """Small random elements."""
    if dtype.is_float:
        return rng.standard_normal(shape).astype(NUMPY[dtype])
    return rng.integers(-9, 10, shape).astype(NUMPY[dtype])


def nothing(shape: tuple[int, ...], dtype: DType) -> Array:
    """An array that shows where nothing was written: NaN, or a number nobody expects."""
    return np.full(shape, np.nan if dtype.is_float else 77, NUMPY[dtype])


def precise(array: Array) -> torch.Tensor:
    """``array`` in the widest type of its kind."""
    wide = np.int64 if array.dtype.kind in "iu" else np.float64
    return torch.from_numpy(array.astype(wide))


def close(found: Array, want: Array, dtype: DType) -> None:
    """Assert equality, for floats up to the type's rounding."""
    if not dtype.is_float:
        np.testing.assert_array_equal(found, want)
        return
    bound = TOLERANCE[dtype]
    np.testing.assert_allclose(found.astype(np.float64), want, rtol=bound, atol=bound)


def rows(*, loop: bool = True) -> list[tkw.Constraint]:
    """The constraints of the issue: a workgroup owns BLOCK_M rows, loops walk them by BLOCK_N.

    Args:
        loop: whether the kernel has a loop over N; without, N has no tiles.
    """
    tiled = [tkw.TilingConstraint(N, BLOCK_N), tkw.WaveConstraint(N, BLOCK_N)]
    return [
        tkw.HardwareConstraint(
            threads_per_wave=64, waves_per_block=(1, 1, 1), vector_shapes={M: 1, N: BLOCK_N}
        ),
        tkw.WorkgroupConstraint(M, BLOCK_M, 1),
        tkw.WorkgroupConstraint(N, N, 0),
        tkw.WaveConstraint(M, BLOCK_M),
        *(tiled if loop else []),
    ]
