"""Where the person's code stands while it is traced."""

from __future__ import annotations

from pathlib import Path

from torch import fx

from explorer.compiler.location import Location, caller

_TORCH = str(Path(fx.__file__).parents[1])


def here() -> Location | None:
    """The innermost line of the person's own code."""
    return caller(ignore=(_TORCH,))
