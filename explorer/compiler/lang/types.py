"""Types of kernel parameters and of values, written with symbols: ``Memory[M, N, SPACE, f32]``."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any

import sympy

from explorer.compiler.errors import BadTypeSpelling, OutsideKernel
from explorer.compiler.lang.dtypes import DType


class AddressSpace(Enum):
    """Where a tensor lives."""

    GLOBAL = "global"
    SHARED = "shared"

    def __repr__(self) -> str:
        return f"{self.name}_ADDRESS_SPACE"


Space = AddressSpace | sympy.Symbol

make_register: ContextVar[Callable[[Register, float], Any]] = ContextVar("make_register")
"""What ``Register[...](value)`` does; set while a kernel is traced."""


@dataclass(frozen=True)
class Memory:
    """A tensor in memory: a kernel's parameter. Shape: one element a combination of its dims."""

    dims: tuple[sympy.Symbol, ...]
    space: Space
    dtype: DType

    def __class_getitem__(cls, items: Any) -> Memory:
        """``Memory[M, N, ADDRESS_SPACE, f32]``.

        Raises:
            BadTypeSpelling: dims are no symbols, or the space or the element type is missing.
        """
        match _parts(items):
            case [*dims, AddressSpace() | sympy.Symbol() as space, DType() as dtype] if dims:
                return cls(_dims("Memory", items, dims), space, dtype)
            case _:
                raise BadTypeSpelling(
                    kind="Memory",
                    items=_spell(items),
                    want="dims, then an address space, then an element type",
                    example="tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32]",
                )


@dataclass(frozen=True)
class Scalar:
    """A number that a kernel is called with: what a parameter annotated ``tkl.f32`` takes."""

    dtype: DType

    @property
    def dims(self) -> tuple[sympy.Symbol, ...]:
        """None."""
        return ()


@dataclass(frozen=True)
class Register:
    """A value in registers. Calling it with a number makes a value filled with that number."""

    dims: tuple[sympy.Symbol, ...]
    dtype: DType

    def __class_getitem__(cls, items: Any) -> Register:
        """``Register[M, f32]``; ``Register[f32]`` is a scalar.

        Raises:
            BadTypeSpelling: dims are no symbols, or the element type is missing.
        """
        match _parts(items):
            case [*dims, DType() as dtype]:
                return cls(_dims("Register", items, dims), dtype)
            case _:
                raise BadTypeSpelling(
                    kind="Register",
                    items=_spell(items),
                    want="dims, then an element type",
                    example="tkl.Register[M, tkl.f32]",
                )

    def __call__(self, value: float) -> Any:
        """A value of this type with every element equal to ``value``; only inside a kernel."""
        make = make_register.get(None)
        if make is None:
            raise OutsideKernel(op=f"tkl.Register[...]({value})")
        return make(self, value)


def _dims(kind: str, items: Any, dims: list[Any]) -> tuple[sympy.Symbol, ...]:
    if all(isinstance(d, sympy.Symbol) for d in dims) and len(set(dims)) == len(dims):
        return tuple(dims)
    raise BadTypeSpelling(
        kind=kind,
        items=_spell(items),
        want="dims must be different symbols",
        example=f"tkl.{kind}[M, N, "
        + ("ADDRESS_SPACE, tkl.f32]" if kind == "Memory" else "tkl.f32]"),
    )


def _parts(items: Any) -> list[Any]:
    return list(items) if isinstance(items, tuple) else [items]  # pyright: ignore[reportUnknownArgumentType]


def _spell(items: Any) -> str:
    return ", ".join(map(str, _parts(items)))
