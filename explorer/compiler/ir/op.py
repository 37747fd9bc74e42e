"""How an operation is defined: one frozen dataclass that holds every rule about it."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

from explorer.compiler.ir.graph import Node, NodeType, Region

Value = Node
"""An operand."""


@dataclass(frozen=True)
class Glyph:
    """How a node is drawn: plain data; colours and shapes live with the viewers."""

    family: str
    symbol: str


@dataclass(frozen=True, eq=False)
class Op(ABC):
    """Base of all ops.

    Fields typed ``Value`` or ``tuple[Value, ...]`` are operands, in order. A field typed ``Region``
    is a loop's body. Everything else is a static attribute.
    """

    name: ClassVar[str]
    glyph: ClassVar[Glyph]
    pure: ClassVar[bool] = True
    """Whether computing it twice gives the same and disturbs nothing."""

    operand_fields: ClassVar[tuple[tuple[str, bool], ...]]
    """(name, whether it holds several) of each operand field, in order."""
    attribute_fields: ClassVar[tuple[str, ...]]
    """Names of the static attributes."""

    @abstractmethod
    def result_type(self, node: Node) -> NodeType:
        """The type of the result, from the operands' types.

        Raises:
            ExplorerError: the operands do not fit; the error names ``node``'s place.
        """

    @abstractmethod
    def interpret(self, machine: Any, node: Node) -> Any:
        """The meaning: compute the node's value on ``machine``."""

    @abstractmethod
    def emit(self, e: Any, node: Node) -> Any:
        """Emit MLIR through the emitter ``e`` and return the SSA value, if there is one.

        Raises:
            NotLowered: an earlier pass should have taken this op apart.
        """

    def gathers(self, operand: str) -> str | None:
        """The dim along which all copies of the operand field are gathered, if one is."""
        del operand
        return None

    def spread(self, node: Node) -> tuple[str, ...]:
        """Dims along which the node is copied: those of its value."""
        return getattr(node.type, "dims", ())

    @property
    def region(self) -> Region | None:
        """The body, for a loop."""
        return None

    @property
    def operands(self) -> tuple[Node, ...]:
        """Operands in field order, repeats kept."""
        found: list[Node] = []
        for field, many in self.operand_fields:
            value = getattr(self, field)
            if many:
                found.extend(value)
            elif value is not None:
                found.append(value)
        return tuple(found)

    def map_operands(self, new: Callable[[Node], Node]) -> Op:
        """The same op with every operand replaced by ``new(operand)``."""
        changes: dict[str, Any] = {}
        for field, many in self.operand_fields:
            value = getattr(self, field)
            if many:
                changes[field] = tuple(new(v) for v in value)
            elif value is not None:
                changes[field] = new(value)
        return self.replaced(changes)

    def replaced(self, changes: dict[str, Any]) -> Op:
        """The same op with some fields changed (``dataclasses.replace`` without its checks)."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), **changes)
        return made

    def attributes(self) -> dict[str, Any]:
        """Static attributes by name."""
        return {name: getattr(self, name) for name in self.attribute_fields}


OpT = TypeVar("OpT", bound=Op)
REGISTRY: dict[str, type[Op]] = {}
"""All ops by name."""


@dataclass_transform(frozen_default=True, eq_default=False)
def op(name: str, *, family: str, symbol: str = "") -> Callable[[type[OpT]], type[OpT]]:
    """Register an op class under ``name`` and make it a frozen dataclass.

    Raises:
        TypeError: a rule or the docstring's ``Shapes:`` line is missing.
        ValueError: the name is taken.
    """

    def register(cls: type[OpT]) -> type[OpT]:
        made = dataclass(frozen=True, eq=False)(cls)
        made.name = name
        made.glyph = Glyph(family, symbol or name)
        made.operand_fields = tuple(_operand_fields(made))
        operands = {field for field, _ in made.operand_fields}
        made.attribute_fields = tuple(
            f.name
            for f in dataclasses.fields(made)
            if f.name not in operands and f.type != "Region"
        )
        if missing := sorted(made.__abstractmethods__):
            msg = f"op {name!r} lacks rules: {', '.join(missing)}"
            raise TypeError(msg)
        if "Shapes:" not in (made.__doc__ or ""):
            msg = f"op {name!r} needs a docstring with a 'Shapes:' line"
            raise TypeError(msg)
        if name in REGISTRY:
            msg = f"two ops are called {name!r}"
            raise ValueError(msg)
        REGISTRY[name] = made
        return made

    return register


def _operand_fields(cls: type[Op]) -> Sequence[tuple[str, bool]]:
    kinds = {"Value": False, "Value | None": False, "tuple[Value, ...]": True}
    return [(f.name, kinds[str(f.type)]) for f in dataclasses.fields(cls) if f.type in kinds]
