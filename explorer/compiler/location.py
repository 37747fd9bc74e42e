"""Where in a person's source an operation was written."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_OURS = (str(Path(__file__).parents[1]) + os.sep, sysconfig.get_path("stdlib") + os.sep)
"""Folders of this package and of Python's own library, where no person's kernel lies."""


@dataclass(frozen=True)
class Location:
    """A place in source text. ``line`` counts from 1, ``column`` from 0.

    ``text`` is the line itself, kept so that a message can show it anywhere, also in another
    process; empty when there is no source text (code made by ``exec``).
    """

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"

    def show(self) -> str:
        """The place, the line and a caret under the column."""
        if not self.text.strip():
            return f"  {self}"
        line = self.text.rstrip()
        caret = "".join("\t" if c == "\t" else " " for c in line[: self.column]) + "^"
        return f"  {self}\n    {line}\n    {caret}"


def caller(ignore: tuple[str, ...] = ()) -> Location | None:
    """The innermost place on the stack outside this package.

    Args:
        ignore: further prefixes of file names to look past (folders of a tracing library).
    """
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] (what tracebacks use too)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((*_OURS, *ignore)):
            return at(frame.f_code, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return None


def at(code: CodeType, instruction: int, line: int) -> Location:
    """The place of one bytecode instruction (offset in bytes) of ``code``."""
    positions = list(code.co_positions())
    found = positions[instruction // 2] if instruction // 2 < len(positions) else (line, 0, 0, 0)
    first = found[0] or line
    text = linecache.getline(code.co_filename, first)
    # co_positions counts bytes of UTF-8, people count characters.
    column = len(text.encode()[: found[2] or 0].decode(errors="ignore")) if text else found[2] or 0
    return Location(shown_file(code.co_filename), first, column, text.rstrip("\n"))


def shown_file(file: str) -> str:
    """The name people know a file by: ``Cell In[3]`` for a notebook's cell, else the file's own.

    A notebook's cells are compiled from temporary files; IPython knows which cell each one is.
    """
    get_ipython: Any = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    named = shell.compile.format_code_name(file) if shell is not None else None
    return " ".join(named) if named else file
