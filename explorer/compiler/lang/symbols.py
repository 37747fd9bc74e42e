"""Symbolic sizes."""

from __future__ import annotations

import sympy


class SymbolMaker:
    """``sym.NAME`` is the symbol ``NAME``: a positive integer, the same object at every use."""

    def __getattr__(self, name: str) -> sympy.Symbol:
        if name.startswith("_"):
            raise AttributeError(name)
        return symbol(name)

    def __repr__(self) -> str:
        return "tkl.sym"


def symbol(name: str) -> sympy.Symbol:
    """The symbol called ``name``: a positive integer."""
    return sympy.Symbol(name, integer=True, positive=True)


sym = SymbolMaker()
