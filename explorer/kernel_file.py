"""A kernel out of a person's file, as the command line names it: ``FILE.py:KERNEL``."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.compiler.errors import ExplorerError, did_you_mean

if TYPE_CHECKING:
    from explorer.compiler.trace.kernel import Kernel


class UsageError(Exception):
    """The command line names something that is not there."""


class BrokenFile(ExplorerError):
    """A person's file that raises when it is loaded."""

    template = "{path}{line}: {error}"
    hint = "the file is run from top to bottom to find the kernel in it; mend that line"


def load_kernel(where: str, settings: Sequence[str]) -> tuple[Kernel, dict[Any, Any]]:
    """The kernel in a file, and its bindings: the file's own, then ``settings``.

    Args:
        where: ``FILE.py:KERNEL``. The file is run, as ``python FILE.py`` would.
        settings: ``NAME=NUMBER`` or ``NAME=global``, stronger than the file's ``bindings``.

    Raises:
        UsageError: no such file or kernel, or a setting of another form.
        ExplorerError: running the file raises.
    """
    path, colon, name = where.rpartition(":")
    if not (colon and path and name):
        raise UsageError(f"{where!r} should be FILE.py:KERNEL")
    found = _namespace(Path(path))
    kernel = _kernel(found, name, path)
    bindings = _file_bindings(found, kernel)
    return kernel, bindings | dict(_binding(text) for text in settings)


def _namespace(path: Path) -> dict[str, Any]:
    """What running the person's file defines, with the file's folder importable, as for a script.

    Raises:
        BrokenFile: the file raises.
    """
    if not path.is_file():
        raise UsageError(f"no file {path}")
    spec = importlib.util.spec_from_file_location(f"kernels_of_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except ExplorerError:
        raise
    except Exception as e:
        error = "".join(traceback.format_exception_only(e)).strip()
        raise BrokenFile(path=path, line=_line_in(path, e), error=error) from e
    return vars(module)


def _line_in(path: Path, error: Exception) -> str:
    """``:LINE`` of the innermost frame of ``path`` that ``error`` passed through, if any."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if Path(f.filename) == path]
    return f":{lines[-1]}" if lines else ""


def _kernel(found: dict[str, Any], name: str, path: str) -> Kernel:
    from explorer.compiler.trace.kernel import Kernel

    kernels = {n: value for n, value in found.items() if isinstance(value, Kernel)}
    if name not in kernels:
        known = ", ".join(kernels) or "none"
        guess = did_you_mean(name, kernels)
        raise UsageError(f"no kernel {name} in {path}{guess}; its kernels: {known}")
    return kernels[name]


def _file_bindings(found: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """The file's ``bindings`` by symbol name, as far as the kernel has the symbols."""
    from explorer.compiler.lang.types import AddressSpace

    given = found.get("bindings")
    named = {str(k): v for k, v in given.items()} if isinstance(given, dict) else {}
    known = kernel.size_symbols | kernel.space_symbols
    spaces = dict.fromkeys(kernel.space_symbols, AddressSpace.GLOBAL)
    return spaces | {name: value for name, value in named.items() if name in known}


def _binding(text: str) -> tuple[str, Any]:
    """``N=512`` or ``SPACE=global`` as a name and a value."""
    from explorer.compiler.lang.types import AddressSpace

    name, _, value = text.partition("=")
    spaces = {space.value: space for space in AddressSpace}
    if name.isidentifier() and value in spaces:
        return name, spaces[value]
    if name.isidentifier() and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value, re.ASCII):
        # Whether such a number makes sense is for the kernel to say.
        return name, float(value) if "." in value else int(value)
    raise UsageError(f"--set {text}: should be NAME=NUMBER, such as N=512")
