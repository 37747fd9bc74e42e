"""From a kernel and bindings to a lowered, recorded graph: the passes, driven.

Nothing here compiles or runs machine code.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from explorer.compiler.errors import (
    BadOption,
    ExplorerError,
    UnknownDynamic,
    UnknownOption,
    UnknownPass,
    did_you_mean,
)
from explorer.compiler.ir.graph import TileGraph
from explorer.compiler.ir.snapshot import snapshot
from explorer.compiler.lang.bindings import Bindings, Bound, check_bindings
from explorer.compiler.lang.constraints import GRID_DIMS
from explorer.compiler.lang.targets import Target
from explorer.compiler.lang.tiling import TensorShape, Tiling, resolve
from explorer.compiler.passes.base import Context, PassFailed, run_passes
from explorer.compiler.passes.facts import STEPPED, WELL_FORMED
from explorer.compiler.passes.pipeline import PIPELINE
from explorer.compiler.record import PassRecord, Recording, Snapshot
from explorer.compiler.trace.importing import import_graph
from explorer.compiler.trace.kernel import Kernel

TRACE = "trace"
EMIT = "emit"
PASS_NAMES = (TRACE, *(p.name for p in PIPELINE), EMIT)
"""All steps of a compile, in order."""

_TRACE_DOC = """Run the kernel's function once on stand-ins that record every operation.

    def kernel(a, c): tkw.write(tkw.read(a) + 1, c)
    ->
    %read = read(%a)
    %add = add(%read, 1)
    write(%add, %c)
"""


@dataclass(frozen=True)
class Options:
    """Options of a compile.

    Args:
        unroll_limit: most copies of one node before a generated loop takes their place.
        fast_math: whether machine code may reorder, contract and approximate float operations.
        dynamic: names of dims whose sizes come with each call.
    """

    unroll_limit: int = 16
    fast_math: bool = False
    dynamic: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        limit: object = self.unroll_limit
        if type(limit) is not int or limit < 1:
            raise BadOption(name="unroll_limit", value=limit, want="a whole number, at least 1")
        fast: object = self.fast_math
        if type(fast) is not bool:
            raise BadOption(name="fast_math", value=fast, want="True or False")
        dims: Any = self.dynamic
        if not isinstance(dims, tuple | list):
            raise BadOption(name="dynamic", value=dims, want="a list of dims, such as [M, N]")
        names = tuple(dict.fromkeys(map(str, dims)))  # pyright: ignore[reportUnknownArgumentType]
        object.__setattr__(self, "dynamic", names)

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """Options from keyword arguments.

        Raises:
            UnknownOption: there is no such option.
            BadOption: its value is of the wrong kind.
        """
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise UnknownOption(
                    name=name, guess=did_you_mean(name, known), known=", ".join(known)
                )
        return cls(**given)


@dataclass(frozen=True)
class Lowered:
    """A graph after some passes, with the numbers it was made for and what was recorded."""

    graph: TileGraph
    tiling: Tiling
    target: Target
    recording: Recording


def lower(
    kernel: Kernel,
    bindings: Bindings,
    target: Target,
    options: Options,
    *,
    after: str | None = None,
) -> Lowered:
    """Trace ``kernel`` and run the passes up to and including ``after`` (default: all).

    Raises:
        ExplorerError: the kernel or its numbers are refused; its ``recording`` holds the passes so
            far, the failed one last.
        UnknownPass: no pass is called ``after``.
    """
    passes = PIPELINE[: _count(after)]
    bound: Bound = {}
    records: list[PassRecord] = []
    ranges: dict[str, int] = {}
    try:
        _check_dynamic(kernel, options.dynamic)
        bound = check_bindings(bindings, kernel.size_symbols, kernel.space_symbols, options.dynamic)
        start = time.perf_counter()
        tiling = resolve(kernel.constraints, bound, _tensors(kernel), target)
        ranges |= _ranges(tiling)
        graph = import_graph(kernel, bound, tiling)
        traced = snapshot(graph)
        records.append(_traced(traced, time.perf_counter() - start, tiling))
        context = Context(tiling, target, options.unroll_limit)
        records += run_passes(graph, passes, context, known=(WELL_FORMED, STEPPED), before=traced)
    except PassFailed as failed:
        records += failed.records
        failed.error.recording = _recording(kernel, bound, target, options, records, ranges)
        raise failed.error from None
    except ExplorerError as error:
        error.recording = _recording(kernel, bound, target, options, records, ranges)
        raise
    return Lowered(
        graph, tiling, target, _recording(kernel, bound, target, options, records, ranges)
    )


def _count(after: str | None) -> int:
    """How many passes to run, so that the one called ``after`` is the last."""
    if after is None or after == EMIT:
        return len(PIPELINE)
    if after not in PASS_NAMES:
        raise UnknownPass(
            name=after, guess=did_you_mean(after, PASS_NAMES), known=", ".join(PASS_NAMES)
        )
    return PASS_NAMES.index(after)


def _tensors(kernel: Kernel) -> list[TensorShape]:
    return [
        TensorShape(tuple(d.name for d in p.dims), p.dtype.bytes)
        for p in kernel.parameters
        if p.dims
    ]


def _check_dynamic(kernel: Kernel, names: Sequence[str]) -> None:
    known = list(dict.fromkeys(d.name for p in kernel.parameters for d in p.dims))
    for name in names:
        if name not in known:
            raise UnknownDynamic(name=name, guess=did_you_mean(name, known), known=", ".join(known))


def _traced(after: Snapshot, seconds: float, tiling: Tiling) -> PassRecord:
    nothing = Snapshot((), after.regions[:1])
    return PassRecord(TRACE, _TRACE_DOC, "changed", nothing, after, seconds, None, tiling.notes)


def _recording(
    kernel: Kernel,
    bound: Bound,
    target: Target,
    options: Options,
    records: Sequence[PassRecord],
    ranges: Mapping[str, int],
) -> Recording:
    plain = {n: v if isinstance(v, int) else v.value for n, v in bound.items()}
    return Recording(
        kernel=kernel.name,
        bindings=plain,
        target=target.name,
        passes=tuple(records),
        source=kernel.source,
        options={**vars(options), "dynamic": list(options.dynamic)},
        ranges=ranges,
    )


def _ranges(tiling: Tiling) -> dict[str, int]:
    """How many values each symbol takes that stands for a place on the machine, where known."""
    waves = {f"wave_{d.name}": d.waves for d in tiling.dims}
    grid = {f"workgroup_{i}": 1 for i in range(GRID_DIMS)}
    for d in tiling.dims:
        if d.split and d.size is None:
            grid.pop(f"workgroup_{d.workgroup_dim}")
        elif d.split:
            grid[f"workgroup_{d.workgroup_dim}"] = d.workgroups
    return {"lane": tiling.lanes} | waves | grid
