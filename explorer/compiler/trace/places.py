"""Where the person's code stands while it is traced."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import sympy
from torch import fx

from explorer.compiler.location import Location, caller

_LIBRARIES = tuple(
    f"{Path(file).parent}{os.sep}"
    for file in (np.__file__, sympy.__file__, str(Path(fx.__file__).parent))
)


def here() -> Location | None:
    """The innermost line of the person's own code."""
    return caller(ignore=_LIBRARIES)
