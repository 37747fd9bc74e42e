"""What a kernel computes after each pass, and how often it stores each element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.cases import Array, Case
from explorer.compiler.interpret.lanes import LaneMachine
from explorer.compiler.interpret.whole import WholeMachine
from explorer.compiler.ir.graph import TileGraph
from explorer.compiler.lang.bindings import check_bindings
from explorer.compiler.lang.targets import target as target_row
from explorer.compiler.lang.tiling import TensorShape, Tiling, resolve
from explorer.compiler.passes.base import Context, run_passes
from explorer.compiler.passes.facts import INDEXED, STEPPED, WELL_FORMED
from explorer.compiler.passes.pipeline import PIPELINE
from explorer.compiler.trace.importing import import_graph
from explorer.interpreting import Workgroup


@dataclass(frozen=True)
class Meaning:
    """What the graph gives as it stands after the pass ``after``.

    ``stores`` counts the stores to each element; None while all workgroups run at once.
    """

    after: str
    output: Array
    stores: Array | None


def meanings(case: Case, inputs: list[Array], target: str, limit: int = 16) -> Iterator[Meaning]:
    """Run the passes one by one, and the graph after each of them from ``infer-types`` on.

    Args:
        case: the kernel and its numbers.
        inputs: one array for each parameter but the last.
        target: whose waves and lanes are used.
        limit: ``unroll_limit``.

    Raises:
        PassFailed: a pass refused the kernel.
        ExplorerError: tracing did, or the numbers do not fit.
    """
    row = target_row(target)
    kernel = case.kernel
    bound = check_bindings(case.bindings, kernel.size_symbols, kernel.space_symbols)
    tensors = [TensorShape(tuple(d.name for d in p.dims), p.dtype.bytes) for p in kernel.parameters]
    tiling = resolve(kernel.constraints, bound, tensors, row)
    graph = import_graph(kernel, bound, tiling)
    context, known = Context(tiling, row, limit), [WELL_FORMED, STEPPED]
    for step in PIPELINE:
        run_passes(graph, [step], context, known=tuple(known))
        known += step.establishes
        output = case.output()
        stores = _run(graph, tiling, [*inputs, output], lanes=INDEXED in known)
        yield Meaning(step.name, output, stores)


def _run(graph: TileGraph, tiling: Tiling, arrays: list[Array], *, lanes: bool) -> Array | None:
    if not lanes:
        WholeMachine(graph, tiling, arrays).run()
        return None
    stores = np.zeros(arrays[-1].shape, int)
    for workgroup in _workgroups(tiling):
        LaneMachine(graph, tiling, arrays, workgroup, {len(arrays) - 1: stores}).run()
    return stores


def _workgroups(tiling: Tiling) -> Iterator[Workgroup]:
    """All workgroups, last first: nothing may hang on their order."""
    x, y, z = tiling.grid
    return ((i, j, k) for i in reversed(range(x)) for j in range(y) for k in range(z))
