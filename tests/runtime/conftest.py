"""Code compiled once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from explorer.compiler.lang.targets import target
from explorer.compiler.runtime.compile import compile_mlir
from explorer.compiler.runtime.executable import Executable
from runtime.modules import accumulated, doubled

Compile = Callable[[str], Executable]


@cache
def compile_cpu(mlir: str) -> Executable:
    return compile_mlir(mlir, target("cpu"))


@pytest.fixture(scope="session")
def compiled() -> Compile:
    """Compiles a module for the processor, each module once."""
    return compile_cpu


@pytest.fixture(scope="session")
def doubling() -> bytes:
    """``c = 2 a`` on 16 numbers of f32."""
    return compile_cpu(doubled("f32")).vmfb


@pytest.fixture(scope="session")
def accumulating() -> bytes:
    """``c += a`` on 16 numbers of f32."""
    return compile_cpu(accumulated()).vmfb
