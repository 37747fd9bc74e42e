"""Numbers for symbols: what a person binds, checked, and expressions of them evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sympy

from explorer.compiler.errors import (
    BadBinding,
    BoundAndDynamic,
    MissingBinding,
    NeedsSize,
    NotWhole,
    UnknownBinding,
    did_you_mean,
)
from explorer.compiler.lang.constraints import Size
from explorer.compiler.lang.types import AddressSpace

Bindings = Mapping[Any, int | AddressSpace]
"""What a person gives: a symbol or its name to a number."""

Bound = dict[str, int | AddressSpace]
"""Bindings after checking, by symbol name, sorted."""


def check_bindings(
    given: Bindings, sizes: Iterable[str], spaces: Iterable[str], dynamic: Sequence[str] = ()
) -> Bound:
    """Check that ``given`` binds exactly the kernel's symbols.

    Args:
        given: what the person wrote.
        sizes: names of the symbols that stand for numbers.
        spaces: names of the symbols that stand for address spaces.
        dynamic: those of ``sizes`` whose numbers come when the kernel is called.

    Raises:
        BoundAndDynamic: a binding for a symbol whose number comes then.
        UnknownBinding: a symbol that the kernel does not have.
        MissingBinding: a symbol of the kernel without a value.
        BadBinding: a value of the wrong kind, or not positive.
    """
    sizes, spaces = sorted(set(sizes) - set(dynamic)), sorted(set(spaces))
    known = [*sizes, *spaces]
    named = {str(symbol): value for symbol, value in given.items()}
    if twice := [name for name in dynamic if name in named]:
        raise BoundAndDynamic(name=twice[0], value=named[twice[0]])
    for name in named:
        if name not in known:
            raise UnknownBinding(name=name, guess=did_you_mean(name, known), known=", ".join(known))
    if missing := [name for name in known if name not in named]:
        raise MissingBinding(missing=", ".join(missing), known=", ".join(known))
    return {n: _number(n, named[n]) for n in sizes} | {n: _space(n, named[n]) for n in spaces}


def _number(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | sympy.Integer) or value <= 0:
        raise BadBinding(name=name, value=value, want="it must be a positive whole number")
    return int(value)


def _space(name: str, value: object) -> AddressSpace:
    if not isinstance(value, AddressSpace):
        raise BadBinding(
            name=name, value=value, want="it must be an address space (tkl.GLOBAL_ADDRESS_SPACE)"
        )
    return value


def number_of(size: Size, bound: Bound, what: str) -> int:
    """The value of ``size`` under ``bound``.

    Args:
        size: a number or an expression of symbols.
        bound: checked bindings.
        what: how a message names the size, such as ``the tile of TilingConstraint for N``.

    Raises:
        NeedsSize: it takes a size that is known when the kernel is called.
        NotWhole: the value is no positive whole number.
    """
    expression: Any = sympy.Integer(size) if isinstance(size, int) else size
    if open_ones := sorted(names_in(size) - bound.keys()):
        raise NeedsSize(what=what, expression=size, name=open_ones[0])
    value: Any = expression.subs({s: bound[str(s)] for s in expression.free_symbols})
    if isinstance(value, sympy.Integer) and value > 0:
        return int(value)
    raise NotWhole(what=what, expression=size, value=value)


def names_in(size: Size) -> set[str]:
    """Names of the symbols in ``size``."""
    return set() if isinstance(size, int) else {str(s) for s in size.free_symbols}
