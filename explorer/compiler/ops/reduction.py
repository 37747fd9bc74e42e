"""Reductions along one dim."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from explorer.compiler.errors import AccumulatorDiffers, NoSuchDim, NotLowered
from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.op import Op, Value, op
from explorer.compiler.ir.types import TileType
from explorer.compiler.lang.dtypes import DType, Kind
from explorer.compiler.ops.elementwise import BINARY, NUMBERS, Binary
from explorer.compiler.ops.typing_rules import require_kind


@dataclass(frozen=True)
class Combiner:
    """How two elements become one. ``identity`` changes nothing when combined."""

    name: str
    binary: type[Binary]
    float_identity: float
    takes: tuple[Kind, ...] = NUMBERS

    def identity(self, dtype: DType) -> float:
        """The element ``i`` with ``combine(i, x) == x`` for all x of ``dtype``."""
        if dtype.is_float or math.isfinite(self.float_identity):
            return self.float_identity if dtype.is_float else int(self.float_identity)
        limit = 1 << (dtype.bits - 1)
        return -limit if self.float_identity < 0 else limit - 1

    def combine(self, lhs: Any, rhs: Any) -> Any:
        """The numpy meaning."""
        return self.binary.row.meaning(lhs, rhs)


class Reduce(Op):
    """Base: combine all elements along ``dim``, of all copies, lanes and waves, and ``init``."""

    combiner: ClassVar[Combiner]
    source: tuple[Value, ...]
    dim: str
    init: Value | None

    def result_type(self, node: Node) -> TileType:
        """The source's type without ``dim``.

        Raises:
            NoSuchDim: the source lacks it.
            AccumulatorDiffers: ``init`` is of another type than the result.
        """
        found = self.source[0].tile
        require_kind(node, self.source[0], self.combiner.takes)
        if self.dim not in found.dims:
            raise NoSuchDim(
                op=self.name,
                dim=self.dim,
                type=found,
                dims=", ".join(found.dims) or "none: it is a scalar",
                location=node.location,
            )
        made = found.without(self.dim)
        if self.init is not None and self.init.tile != made:
            raise AccumulatorDiffers(
                op=self.name,
                found=self.init.tile,
                dim=self.dim,
                want=made,
                location=node.location,
            )
        return made

    def gathers(self, operand: str) -> str | None:
        """All copies of the source along ``dim`` come together."""
        return self.dim if operand == "source" else None

    def interpret(self, machine: Any, node: Node) -> Any:
        """Reduce the valid elements, then combine with ``init``."""
        total = machine.reduce(self.combiner, self.source, self.dim, node)
        if self.init is None:
            return total
        return machine.rounded(self.combiner.combine(machine.value(self.init), total), node)

    def emit(self, e: Any, node: Node) -> Any:
        """None: it is taken apart before."""
        raise NotLowered(self.name, "decompose-reductions")


MAX = Combiner("max", BINARY["maximum"], -math.inf)
MIN = Combiner("min", BINARY["minimum"], math.inf)
SUM = Combiner("sum", BINARY["add"], 0.0)
PROD = Combiner("prod", BINARY["mul"], 1.0)
ANY = Combiner("any", BINARY["or"], 0.0, (Kind.BOOLEAN,))
ALL = Combiner("all", BINARY["and"], 1.0, (Kind.BOOLEAN,))


@op("max", family="reduction", symbol="max")
class Max(Reduce):
    """The largest element along ``dim``; NaN if one is NaN.

    Shapes: source [dims], init [dims without dim] -> [dims without dim]
    """

    combiner = MAX
    source: tuple[Value, ...]
    dim: str
    init: Value | None = None


@op("min", family="reduction", symbol="min")
class Min(Reduce):
    """The smallest element along ``dim``; NaN if one is NaN.

    Shapes: source [dims], init [dims without dim] -> [dims without dim]
    """

    combiner = MIN
    source: tuple[Value, ...]
    dim: str
    init: Value | None = None


@op("sum", family="reduction", symbol="Σ")
class Sum(Reduce):
    """The sum along ``dim``, in the element type of the source, in any order.

    Shapes: source [dims], init [dims without dim] -> [dims without dim]
    """

    combiner = SUM
    source: tuple[Value, ...]
    dim: str
    init: Value | None = None


@op("prod", family="reduction", symbol="Π")
class Prod(Reduce):
    """The product along ``dim``, in the element type of the source, in any order.

    Shapes: source [dims], init [dims without dim] -> [dims without dim]
    """

    combiner = PROD
    source: tuple[Value, ...]
    dim: str
    init: Value | None = None


@op("any", family="reduction", symbol="∃")
class AnyOf(Reduce):
    """Whether a condition holds anywhere along ``dim``.

    Shapes: source [dims], init [dims without dim] -> [dims without dim]
    """

    combiner = ANY
    source: tuple[Value, ...]
    dim: str
    init: Value | None = None


@op("all", family="reduction", symbol="∀")
class AllOf(Reduce):
    """Whether a condition holds everywhere along ``dim``.

    Shapes: source [dims], init [dims without dim] -> [dims without dim]
    """

    combiner = ALL
    source: tuple[Value, ...]
    dim: str
    init: Value | None = None


REDUCTIONS: dict[str, type[Reduce]] = {
    "max": Max,
    "min": Min,
    "sum": Sum,
    "prod": Prod,
    "any": AnyOf,
    "all": AllOf,
}
