"""Running the graph itself, after any pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from explorer.arguments import check_arguments, sized
from explorer.compiler.driver import PASS_NAMES, Lowered, Options, lower
from explorer.compiler.interpret.lanes import LaneMachine
from explorer.compiler.interpret.machine import Array
from explorer.compiler.interpret.whole import WholeMachine
from explorer.compiler.lang.bindings import Bindings
from explorer.compiler.lang.targets import target as target_row
from explorer.compiler.lang.tiling import Tiling
from explorer.compiler.passes.infer_indices import infer_indices
from explorer.compiler.passes.infer_types import infer_types
from explorer.compiler.trace.kernel import Kernel

Workgroup = tuple[int, int, int]


def interpret(
    kernel: Kernel,
    bindings: Bindings,
    *arguments: Any,
    target: str = "cpu",
    after: str | None = None,
    **options: Any,
) -> None:
    """Run the graph as it stands after the pass ``after``; written arguments change in place.

    Before indices are known the graph runs on whole tiles, all workgroups at once; afterwards lane
    by lane, one workgroup after the other.

    Args:
        kernel: what ``@tkw.wave`` made.
        bindings: a number for each symbol.
        arguments: one array or tensor for each parameter.
        target: the machine whose waves and lanes are used.
        after: a pass's name; left out: the last one, ``trace``: the first.
        options: as for ``compile``.

    Raises:
        ExplorerError: the kernel, the numbers or the arguments are refused.
    """
    row = target_row(target)
    # What was traced has a meaning only with types.
    stage = infer_types.name if after == PASS_NAMES[0] else after
    lowered = lower(kernel, bindings, row, Options.of(options), after=stage)
    run_graph(lowered, check_arguments(kernel, lowered.tiling, lowered.graph, arguments))


def run_graph(
    lowered: Lowered, arrays: Sequence[Array], workgroups: Iterable[Workgroup] | None = None
) -> None:
    """Run a lowered graph on arrays, in place.

    Args:
        lowered: the graph and its numbers.
        arrays: one for each parameter.
        workgroups: those to run, when the graph has indices (default: all).
    """
    done = [p.name for p in lowered.recording.passes]
    tiling = sized(lowered.tiling, lowered.graph, arrays)
    if infer_indices.name not in done:
        WholeMachine(lowered.graph, tiling, list(arrays)).run()
        return
    for workgroup in workgroups if workgroups is not None else all_workgroups(tiling):
        LaneMachine(lowered.graph, tiling, list(arrays), workgroup).run()


def all_workgroups(tiling: Tiling) -> Iterable[Workgroup]:
    """Every workgroup of the grid, x fastest."""
    x, y, z = tiling.grid
    return ((i, j, k) for k, j, i in product(range(z), range(y), range(x)))
