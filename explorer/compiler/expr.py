"""Index arithmetic: a small integer expression tree, with no library behind it.

An index formula is built once by the passes and read by everyone: the interpreter evaluates it on
numpy arrays, the emitter turns it into MLIR, a saved recording carries it as JSON, a viewer
evaluates it for a chosen lane or loop step. The constructors (``add``, ``mul``, ...) fold constants
and drop what changes nothing; they do not try to be a computer algebra system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Expr:
    """An integer-valued expression."""

    def __add__(self, other: Expr | int) -> Expr:
        return add(self, other)

    def __mul__(self, other: Expr | int) -> Expr:
        return mul(self, other)

    def __floordiv__(self, other: int) -> Expr:
        return floordiv(self, other)

    def __mod__(self, other: int) -> Expr:
        return mod(self, other)


@dataclass(frozen=True)
class Int(Expr):
    """A constant."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Sym(Expr):
    """A value known later: ``lane``, ``wave_N``, ``workgroup_0``, ``step_row_max``, ..."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Binary(Expr):
    """``lhs`` and ``rhs`` under one of ``+ * // % min`` (the subclass says which)."""

    lhs: Expr
    rhs: Expr


class Add(Binary):
    """Sum."""

    def __str__(self) -> str:
        return f"{self.lhs} + {self.rhs}"


class Mul(Binary):
    """Product."""

    def __str__(self) -> str:
        return f"{_factor(self.lhs)}*{_factor(self.rhs)}"


class FloorDiv(Binary):
    """Quotient rounded down; the right side is positive."""

    def __str__(self) -> str:
        return f"{_factor(self.lhs)}//{_factor(self.rhs)}"


class Mod(Binary):
    """Remainder, never negative; the right side is positive."""

    def __str__(self) -> str:
        return f"{_factor(self.lhs)} % {_factor(self.rhs)}"


class Min(Binary):
    """The smaller of the two."""

    def __str__(self) -> str:
        return f"min({self.lhs}, {self.rhs})"


def _factor(e: Expr) -> str:
    return str(e) if isinstance(e, Int | Sym | Min) else f"({e})"


def of(value: Expr | int) -> Expr:
    """``value`` as an expression."""
    return value if isinstance(value, Expr) else Int(value)


def add(lhs: Expr | int, rhs: Expr | int) -> Expr:
    """``lhs + rhs``; constants gather on the right."""
    match of(lhs), of(rhs):
        case Int(a), Int(b):
            return Int(a + b)
        case (Int(0), e) | (e, Int(0)):
            return e
        case Int(a), e:
            return add(e, Int(a))
        case Add(e, Int(a)), Int(b):
            return add(e, Int(a + b))
        case Add(e, Int(a)), f:
            return add(add(e, f), Int(a))
        case e, f:
            return Add(e, f)


def mul(lhs: Expr | int, rhs: Expr | int) -> Expr:
    """``lhs * rhs``; constants stand on the right."""
    match of(lhs), of(rhs):
        case Int(a), Int(b):
            return Int(a * b)
        case (Int(0), _) | (_, Int(0)):
            return Int(0)
        case (Int(1), e) | (e, Int(1)):
            return e
        case Int(a), e:
            return mul(e, Int(a))
        case Mul(e, Int(a)), Int(b):
            return mul(e, Int(a * b))
        case e, f:
            return Mul(e, f)


def floordiv(lhs: Expr | int, rhs: int) -> Expr:
    """``lhs // rhs`` for a positive constant ``rhs``."""
    match of(lhs):
        case Int(a):
            return Int(a // rhs)
        case e if rhs == 1:
            return e
        case e:
            return FloorDiv(e, Int(rhs))


def ceil_div(lhs: Expr | int, rhs: int) -> Expr:
    """``lhs / rhs`` rounded up, for a positive constant ``rhs``."""
    return floordiv(add(lhs, rhs - 1), rhs)


def mod(lhs: Expr | int, rhs: int) -> Expr:
    """``lhs % rhs`` for a positive constant ``rhs``."""
    match of(lhs):
        case Int(a):
            return Int(a % rhs)
        case _ if rhs == 1:
            return Int(0)
        case e:
            return Mod(e, Int(rhs))


def minimum(lhs: Expr | int, rhs: Expr | int) -> Expr:
    """The smaller of two."""
    match of(lhs), of(rhs):
        case Int(a), Int(b):
            return Int(min(a, b))
        case e, f if e == f:
            return e
        case e, f:
            return Min(e, f)


def symbols(e: Expr) -> Iterator[str]:
    """Names of the symbols in ``e``, repeats kept."""
    match e:
        case Sym(name):
            yield name
        case Binary(lhs, rhs):
            yield from symbols(lhs)
            yield from symbols(rhs)
        case _:
            pass


_MEANING: dict[type[Binary], Callable[[Any, Any], Any]] = {
    Add: lambda a, b: a + b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    Mod: lambda a, b: a % b,
}


def evaluate(e: Expr, env: Mapping[str, Any], minimum: Callable[[Any, Any], Any] = min) -> Any:
    """Value of ``e`` where every symbol has its value in ``env``.

    Args:
        e: the expression.
        env: symbol name to an integer, or to anything with ``+ * // %`` (a numpy array).
        minimum: what ``min`` means for those values (``numpy.minimum`` for arrays).

    Raises:
        KeyError: a symbol of ``e`` is not in ``env``.
    """
    match e:
        case Int(value):
            return value
        case Sym(name):
            return env[name]
        case Min(lhs, rhs):
            return minimum(evaluate(lhs, env, minimum), evaluate(rhs, env, minimum))
        case Binary(lhs, rhs):
            return _MEANING[type(e)](evaluate(lhs, env, minimum), evaluate(rhs, env, minimum))
        case _:
            raise TypeError(e)


def substitute(e: Expr, env: Mapping[str, Expr | int]) -> Expr:
    """``e`` with the symbols named in ``env`` replaced, folded again."""
    match e:
        case Sym(name):
            return of(env[name]) if name in env else e
        case Add(lhs, rhs):
            return add(substitute(lhs, env), substitute(rhs, env))
        case Mul(lhs, rhs):
            return mul(substitute(lhs, env), substitute(rhs, env))
        case Min(lhs, rhs):
            return minimum(substitute(lhs, env), substitute(rhs, env))
        case FloorDiv(lhs, Int(by)):
            return floordiv(substitute(lhs, env), by)
        case Mod(lhs, Int(by)):
            return mod(substitute(lhs, env), by)
        case _:
            return e


_TAGS: dict[str, type[Binary]] = {"+": Add, "*": Mul, "//": FloorDiv, "%": Mod, "min": Min}
_TAG_OF = {cls: tag for tag, cls in _TAGS.items()}


def to_json(e: Expr) -> Any:
    """``e`` as an integer, a string (symbol) or a list ``[operator, lhs, rhs]``."""
    match e:
        case Int(value):
            return value
        case Sym(name):
            return name
        case Binary(lhs, rhs):
            return [_TAG_OF[type(e)], to_json(lhs), to_json(rhs)]
        case _:
            raise TypeError(e)


def from_json(data: Any) -> Expr:
    """What ``to_json`` wrote.

    Raises:
        ValueError: ``data`` is not of that form.
    """
    match data:
        case bool():
            pass
        case int():
            return Int(data)
        case str():
            return Sym(data)
        case [str(tag), lhs, rhs] if tag in _TAGS:
            return _TAGS[tag](from_json(lhs), from_json(rhs))
        case _:
            pass
    msg = f"not an index expression: {data!r}"
    raise ValueError(msg)
