"""The settings that a sweep goes through: all combinations of some values, checked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from explorer.compiler.errors import BadBinding, ExplorerError, UnknownBinding, did_you_mean
from explorer.compiler.lang.bindings import Bindings, check_bindings
from explorer.compiler.trace.kernel import Kernel


class SweptSize(ExplorerError):
    """A sweep over a dimension of the inputs."""

    template = "{name} is a dimension of the kernel's arguments, and the inputs fix it to one value"
    hint = "sweep tile sizes; for another size call tune again with inputs of that size"


def checked_space(kernel: Kernel, space: Mapping[Any, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """The space by symbol name, its values without repetitions.

    Raises:
        UnknownBinding: a symbol that the kernel does not have.
        SweptSize: a symbol that is a dimension of the kernel's arguments.
        BadBinding: a value is no positive whole number, or there are none.
    """
    dims = {d.name for p in kernel.parameters for d in p.dims}
    known = sorted(kernel.size_symbols - dims)
    checked: dict[str, tuple[int, ...]] = {}
    for name, values in ((str(symbol), values) for symbol, values in space.items()):
        if name in dims:
            raise SweptSize(name=name)
        if name not in known:
            raise UnknownBinding(name=name, guess=did_you_mean(name, known), known=", ".join(known))
        checked[name] = _checked_values(name, values)
    return checked


def _checked_values(name: str, values: Iterable[Any]) -> tuple[int, ...]:
    found = tuple(dict.fromkeys(values))
    wrong = [v for v in found if not isinstance(v, int) or isinstance(v, bool) or v <= 0]
    if wrong or not found:
        want = "a sweep needs a list of positive whole numbers for each symbol"
        raise BadBinding(name=name, value=wrong[0] if wrong else [], want=want)
    return found


def settings_of(
    kernel: Kernel, bindings: Bindings, space: Mapping[str, tuple[int, ...]]
) -> list[dict[str, Any]]:
    """All combinations, each with a value for every symbol of the kernel.

    Raises:
        UnknownBinding: ``bindings`` has a symbol that the kernel does not have.
        MissingBinding: neither ``bindings`` nor ``space`` has one that it does have.
        BadBinding: a value is of the wrong kind.
    """
    fixed = {str(symbol): value for symbol, value in bindings.items()}
    combined = [
        fixed | dict(zip(space, values, strict=True))
        for values in itertools.product(*space.values())
    ]
    return [check_bindings(s, kernel.size_symbols, kernel.space_symbols) for s in combined]
