"""How op families and differences look: shape, symbol and colour, told apart without colour too.

Colours are darker and lighter forms of the palette of Okabe and Ito (2008), which people with the
common kinds of colour blindness can tell apart. The widget, the HTML and Graphviz all read this.
"""

# ruff: noqa: RUF001 (the symbols are meant)
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """How one op family, or one kind of difference, is drawn.

    Args:
        symbol: one character that stands for it.
        shape: outline in the widget.
        dot: the nearest Graphviz shape.
        light: colour on a light background.
        dark: colour on a dark background.
        words: what a legend says.
    """

    symbol: str
    shape: str
    dot: str
    light: str
    dark: str
    words: str


FAMILIES: dict[str, Look] = {
    "parameter": Look("▤", "tab", "tab", "#4d5a66", "#aab6c2", "tensor argument"),
    "constant": Look("•", "pill", "oval", "#6b6b6b", "#b4b4b4", "constant"),
    "memory": Look("⇅", "slant", "parallelogram", "#0072b2", "#56b4e9", "read or write"),
    "elementwise": Look("ƒ", "round", "box", "#007d5c", "#3fc79a", "elementwise"),
    "reduction": Look("Σ", "funnel", "invtrapezium", "#b85000", "#f08a3c", "reduction"),
    "control": Look("↻", "hexagon", "hexagon", "#8a4f9e", "#cfa0df", "loop"),
    "movement": Look("⇄", "arrow", "cds", "#8a6d00", "#dcc04a", "moves between lanes"),
    "synchronisation": Look("‖", "bars", "component", "#a83262", "#e88fb4", "shared memory"),
}
UNKNOWN = Look("◇", "round", "box", "#555555", "#bbbbbb", "other")

DIFFERENCES: dict[str, Look] = {
    "added": Look("+", "solid", "solid", "#00735a", "#4fd1a5", "added"),
    "copied": Look("❐", "double", "bold", "#0067a3", "#6cc0f0", "copied"),
    "changed": Look("~", "dotted", "dotted", "#946200", "#edb844", "changed"),
    "removed": Look("−", "dashed", "dashed", "#b3440b", "#ff9257", "removed"),
}

SYMBOLS = {
    "add": "+", "sub": "−", "mul": "×", "div": "÷", "neg": "−x", "abs": "|x|", "exp": "eˣ",
    "exp2": "2ˣ", "sqrt": "√", "rsqrt": "1/√", "reciprocal": "1/x", "lt": "<", "le": "≤",
    "gt": ">", "ge": "≥", "eq": "=", "ne": "≠", "and": "∧", "or": "∨", "select": "?", "cast": "→",
    "read": "↓", "write": "↑", "sum": "Σ", "fold": "⊕", "mma": "⊗", "parallel-loop": "⇉",
    "carried": "↷", "result": "↴", "mask": "▚", "shared-store": "⇩", "shared-load": "⇧",
}  # fmt: skip
"""Op -> symbol where it says more than its family's."""


def look(family: str) -> Look:
    """The family's look, a neutral one for a family that is not known here."""
    return FAMILIES.get(family, UNKNOWN)


def symbol(op: str, family: str) -> str:
    """One or two characters for an op."""
    return SYMBOLS.get(op, look(family).symbol)


def variables(*, dark: bool) -> str:
    """CSS custom properties ``--kx-memory``, ``--kx-added``, ..., for one background."""
    looks = {**FAMILIES, "other": UNKNOWN, **DIFFERENCES}
    return "".join(f"--kx-{name}:{v.dark if dark else v.light};" for name, v in looks.items())
