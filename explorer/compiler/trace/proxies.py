"""What a kernel's variables are while it is traced: stand-ins that record what is done to them."""

from __future__ import annotations

from typing import Any, NoReturn

from torch import fx

from explorer.compiler.errors import NoAttribute, NotTraceable
from explorer.compiler.trace.places import here

_BRANCH = "if, and, or, not, max, min or a chained comparison"
_INSTEAD = {
    _BRANCH: "tkw.maximum, tkw.minimum or tkw.select(condition, a, b)",
    "float() or int()": "the value as it is; convert elements with tkw.cast",
    "len()": "the dim's symbol",
    "unpacking or a for loop": "@tkw.iterate(dim, init_args=[...]) (only its results unpack)",
}


def _refuse(what: str) -> NoReturn:
    raise NotTraceable(what=what, instead=_INSTEAD[what], location=here())


class Traced(fx.Proxy):
    """Base of stand-ins: no look into the value is possible."""

    _op_priority = 1e9
    """sympy leaves an operator to the operand with the higher one: ``N * value`` comes here."""

    def __bool__(self) -> bool:
        _refuse(_BRANCH)

    def __float__(self) -> float:
        _refuse("float() or int()")

    def __int__(self) -> int:
        _refuse("float() or int()")

    def __index__(self) -> int:
        _refuse("float() or int()")

    def __len__(self) -> int:
        _refuse("len()")

    def __iter__(self) -> Any:
        _refuse("unpacking or a for loop")

    def __contains__(self, item: object) -> bool:
        _refuse(_BRANCH)

    def __getitem__(self, item: object) -> Any:
        raise NoAttribute(what="items", location=here())

    def __setitem__(self, item: object, value: object) -> None:
        raise NotTraceable(
            what="assigning to items", instead="tkw.write(value, memory)", location=here()
        )

    def __getattr__(self, name: str) -> Any:
        # Python, notebooks and libraries probe for private names; those simply do not exist.
        if name.startswith("_"):
            raise AttributeError(name)
        raise NoAttribute(what=f"attribute {name!r}", location=here())


class TracedValue(Traced):
    """A value in registers."""

    def __abs__(self) -> TracedValue:
        tracer: Any = self.tracer
        return tracer.record("abs", self)

    __hash__ = fx.Proxy.__hash__


class TracedMemory(Traced):
    """A tensor in memory: only ``tkw.read`` and ``tkw.write`` take it."""

    __hash__ = fx.Proxy.__hash__
