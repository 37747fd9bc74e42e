"""Which settings of a kernel are legal, without compiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from explorer.compiler.driver import Options, lower
from explorer.compiler.errors import ExplorerError
from explorer.compiler.lang.bindings import Bindings
from explorer.compiler.lang.targets import target as target_row
from explorer.compiler.passes.infer_indices import infer_indices
from explorer.compiler.trace.kernel import Kernel


@dataclass(frozen=True)
class Problem:
    """Why settings are refused: ``kind`` is the error's class name, ``message`` its whole text."""

    kind: str
    summary: str
    advice: str
    message: str

    def __str__(self) -> str:
        return self.message


def check(
    kernel: Kernel, bindings: Bindings, target: str = "cpu", **options: Any
) -> tuple[Problem, ...]:
    """What is wrong with ``bindings``, in milliseconds: no machine code is made.

    Args:
        kernel: what ``@tkw.wave`` made.
        bindings: a number for each symbol.
        target: the machine.
        options: as for ``compile``.

    Returns:
        The first problem found, or nothing.
    """
    try:
        lower(kernel, bindings, target_row(target), Options.of(options), after=infer_indices.name)
    except ExplorerError as e:
        return (Problem(type(e).__name__, e.summary, e.advice, str(e)),)
    return ()
