"""All operations; importing this package registers every one of them."""

from explorer.compiler.ops import (
    control,
    elementwise,
    lanes,
    memory,
    positions,
    reduction,
    shaping,
)

__all__ = ["control", "elementwise", "lanes", "memory", "positions", "reduction", "shaping"]
