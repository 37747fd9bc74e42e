"""Index formulas as SSA values."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from explorer.compiler.emit.mlir import Ssa, arith, ir
from explorer.compiler.expr import Add, Expr, FloorDiv, Int, Min, Mod, Mul, Sym
from explorer.compiler.ir.index import AxisIndex


class Positions:
    """Turns expressions into SSA values of type ``index``, each once in a block."""

    def __init__(self) -> None:
        self.symbols: dict[str, Ssa] = {}
        self._known: list[dict[Expr, Ssa]] = [{}]

    @contextmanager
    def block(self) -> Generator[None]:
        """What is computed inside is forgotten afterwards: it lies in an inner block."""
        self._known.append({})
        try:
            yield
        finally:
            self._known.pop()

    def index(self, e: Expr | int) -> Ssa:
        """The value of ``e``."""
        e = Int(e) if isinstance(e, int) else e
        if isinstance(e, Sym):
            return self.symbols[e.name]
        for known in self._known:
            if e in known:
                return known[e]
        made = self._compute(e)
        self._known[-1][e] = made
        return made

    def _compute(self, e: Expr) -> Ssa:
        match e:
            case Int(value):
                return arith.constant(ir.IndexType.get(), value)
            case Add(lhs, rhs):
                return arith.addi(self.index(lhs), self.index(rhs))
            case Mul(lhs, rhs):
                return arith.muli(self.index(lhs), self.index(rhs))
            case FloorDiv(lhs, rhs):
                return arith.divui(self.index(lhs), self.index(rhs))
            case Mod(lhs, rhs):
                return arith.remui(self.index(lhs), self.index(rhs))
            case Min(lhs, rhs):
                return arith.minsi(self.index(lhs), self.index(rhs))
            case _:
                raise TypeError(e)

    def remaining(self, axis: AxisIndex) -> Ssa | None:
        """Distance from the lane's first element to the first invalid one; None if all are valid.

        An element at offset ``o`` is valid when ``o < remaining``. It may be negative.
        """
        parts: list[Ssa] = []
        if axis.share.limit is not None:
            parts.append(arith.subi(self.index(axis.share.limit), self.index(axis.start)))
        if axis.spills_over:
            parts.append(arith.subi(self.index(axis.share.piece), self.index(axis.in_piece)))
        if len(parts) == 2:
            return arith.minsi(*parts)
        return parts[0] if parts else None
