"""Vector instructions that are a function of each lane's operands: one row each.

Sources: AMD's instruction set architecture guides CDNA2, CDNA3, CDNA4, RDNA3 and RDNA4, chapters on
vector ALU operations; a row holds for every guide that has the name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Function = Callable[..., Array]
Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]
Ternary = Callable[[Array, Array, Array], Array]
OfOperands = Unary | Binary | Ternary


@dataclass(frozen=True)
class Row:
    """What a vector instruction reads, computes and writes."""

    result: str
    """Kind of the result: ``f32``, ``u64``, ..."""
    sources: tuple[str, ...]
    """Kind of each operand."""
    function: Function
    accumulates: bool = False
    """Whether the old value of the destination is one more operand, the last."""


Table = dict[str, Row]


def add(table: Table, names: str, kinds: str, function: OfOperands) -> None:
    """Put one row under several names.

    Args:
        table: where to.
        names: instruction names without encoding, separated by spaces.
        kinds: ``f32 <- f32 f32``; a source of kind ``=`` is the destination's old value.
        function: takes and gives arrays of these kinds.
    """
    result, _, sources = kinds.partition(" <- ")
    given = tuple(kind for kind in sources.split() if kind != "=")
    row = Row(result, given, function, accumulates="=" in sources)
    table.update(dict.fromkeys(names.split(), row))
