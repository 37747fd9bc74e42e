"""IREE's MLIR bindings carry no types; this is the one module of ``emit`` that imports them."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir as _ir
from iree.compiler.dialects import arith as _arith
from iree.compiler.dialects import gpu as _gpu
from iree.compiler.dialects import llvm as _llvm
from iree.compiler.dialects import math as _math
from iree.compiler.dialects import memref as _memref
from iree.compiler.dialects import scf as _scf
from iree.compiler.dialects import vector as _vector

ir: Any = _ir
arith: Any = _arith
gpu: Any = _gpu
llvm: Any = _llvm
math: Any = _math
memref: Any = _memref
scf: Any = _scf
vector: Any = _vector

Ssa = Any
"""An SSA value."""
