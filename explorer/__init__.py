"""A kernel explorer for Jupyter: write a tile kernel, see every pass, move its tiles, run it.

Everything is imported when it is first used: ``import explorer`` itself loads neither torch nor
sympy nor IREE.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.checking import check as check
    from explorer.compiler.errors import ExplorerError as ExplorerError
    from explorer.compiler.record import Recording as Recording
    from explorer.compiler.record import load as load
    from explorer.compiler.runtime.cache import CodeCache
    from explorer.compiler.runtime.devices import devices as devices
    from explorer.compiling import compile as compile  # noqa: A004 (the name people know)
    from explorer.exploring import explore as explore
    from explorer.interpreting import interpret as interpret
    from explorer.tuning import tune as tune
    from explorer.viz.html import export_html as export_html

_HOME = {
    "ExplorerError": "explorer.compiler.errors",
    "Recording": "explorer.compiler.record",
    "check": "explorer.checking",
    "compile": "explorer.compiling",
    "devices": "explorer.compiler.runtime.devices",
    "explore": "explorer.exploring",
    "export_html": "explorer.viz.html",
    "interpret": "explorer.interpreting",
    "load": "explorer.compiler.record",
    "tune": "explorer.tuning",
}

__all__ = [
    *_HOME,
    "cache",
]

if TYPE_CHECKING:
    cache: CodeCache


def __getattr__(name: str) -> Any:
    if name == "cache":
        return importlib.import_module("explorer.compiler.runtime.cache").shared_cache()
    if name not in _HOME:
        msg = f"module 'explorer' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
