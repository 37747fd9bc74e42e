"""Kernels to be refused, and what every refusal must say.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import SPACE, M, N
from explorer.compiler.driver import Options, lower
from explorer.compiler.errors import ExplorerError
from explorer.compiler.lang.constraints import Constraint
from explorer.compiler.lang.targets import target
from explorer.compiler.trace.kernel import Kernel

F32 = tkl.Memory[M, N, SPACE, tkl.f32]
ROW = tkl.Register[M, tkl.f32]
SIZES = {M: 4, N: 100}
HARDWARE = tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64})
LOOPED = [HARDWARE, tkw.TilingConstraint(N, 64)]


def lowered(kernel: Kernel, bindings: Any = SIZES, to: str = "gfx942", **options: Any) -> None:
    """All passes over the kernel."""
    lower(kernel, bindings, target(to), Options.of(options))


def refused(
    kind: type[ExplorerError], action: Callable[[], Any], /, at: str | None = None, **facts: object
) -> ExplorerError:
    """Assert that ``action`` raises ``kind`` with ``facts``, a hint, and a caret under ``at``."""
    with pytest.raises(ExplorerError) as found:
        action()
    error = found.value
    assert type(error) is kind, error
    assert error.advice
    assert error.advice in str(error)
    assert {n: str(error.facts[n]) for n in facts} == {n: str(v) for n, v in facts.items()}
    if at is not None:
        assert error.location is not None
        *_, line, caret, _ = str(error).splitlines()
        assert line[caret.index("^") :].startswith(at), str(error)
    return error


def body_refused(
    kind: type[ExplorerError],
    body: Callable[[Any, Any], Any],
    at: str | None = None,
    constraints: Sequence[Constraint] = (HARDWARE,),
    bindings: Any = SIZES,
    **facts: object,
) -> ExplorerError:
    """Assert that a kernel of a[M, N] and c[M, N] with this body is refused."""

    @tkw.wave(constraints)
    def kernel(a: F32, c: F32) -> Any:
        return body(a, c)

    return refused(kind, lambda: lowered(kernel, bindings), at, **facts)


def copied(constraints: Sequence[Constraint], memory: Any = F32) -> Kernel:
    """A copy."""

    @tkw.wave(constraints)
    def kernel(a: memory, c: memory) -> None:
        tkw.write(tkw.read(a), c)

    return kernel


def looped(constraints: Sequence[Constraint]) -> Kernel:
    """A row maximum in a loop, added to the row."""

    @tkw.wave(constraints)
    def kernel(a: F32, c: F32) -> None:
        @tkw.iterate(N, init_args=[ROW(0)])
        def top(partial: ROW) -> ROW:
            return tkw.max(tkw.read(a), partial, dim=N)

        tkw.write(tkw.read(a) + top, c)

    return kernel
