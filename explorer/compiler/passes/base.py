"""What a pass is, and how passes are run, checked and recorded."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from explorer.compiler.errors import ContractViolation, ExplorerError
from explorer.compiler.ir.graph import TileGraph
from explorer.compiler.ir.snapshot import forget_origins, snapshot
from explorer.compiler.lang.targets import Target
from explorer.compiler.lang.tiling import Tiling
from explorer.compiler.passes.facts import Fact
from explorer.compiler.record import NodeView, PassRecord, Snapshot


@dataclass
class Context:
    """What passes know besides the graph. They may leave ``notes`` for the person to read."""

    tiling: Tiling
    target: Target
    unroll_limit: int = 16
    notes: list[str] = field(default_factory=list[str])

    def note(self, text: str) -> None:
        """Record a decision worth telling."""
        self.notes.append(text)


class PassBody(Protocol):
    """A pass as written: rewrites the graph in place."""

    __name__: str

    def __call__(self, graph: TileGraph, context: Context) -> None: ...


@dataclass(frozen=True)
class Pass:
    """A pass with its contract. ``doc`` holds a small before and after."""

    name: str
    doc: str
    requires: tuple[Fact, ...]
    establishes: tuple[Fact, ...]
    body: PassBody


def compiler_pass(
    *, requires: tuple[Fact, ...] = (), establishes: tuple[Fact, ...] = ()
) -> Callable[[PassBody], Pass]:
    """Make a ``Pass`` of a function, named after it.

    Raises:
        TypeError: the function has no docstring.
    """

    def make(body: PassBody) -> Pass:
        doc = inspect.getdoc(body)
        if not doc:
            msg = f"pass {body.__name__} needs a docstring"
            raise TypeError(msg)
        return Pass(body.__name__.replace("_", "-"), doc, requires, establishes, body)

    return make


class PassFailed(Exception):
    """A pass refused the kernel: ``error`` says why, ``records`` end with the failed pass."""

    def __init__(self, error: ExplorerError, records: list[PassRecord]) -> None:
        super().__init__(str(error))
        self.error = error
        self.records = records


def run_passes(
    graph: TileGraph,
    passes: Sequence[Pass],
    context: Context,
    *,
    known: tuple[Fact, ...] = (),
    before: Snapshot | None = None,
) -> list[PassRecord]:
    """Run ``passes`` over ``graph`` in place, checking every fact known after each.

    Args:
        graph: rewritten in place.
        passes: in order.
        context: numbers and options.
        known: facts that hold at the start.
        before: the graph's picture at the start, if there is one already.

    Raises:
        PassFailed: a pass refused the kernel.
        ContractViolation: a pass ran too early, or broke a fact.
    """
    facts = list(known)
    records: list[PassRecord] = []
    before = before or snapshot(graph)
    for step in passes:
        if missing := [f.name for f in step.requires if f not in facts]:
            msg = f"{step.name} requires {missing}, which no earlier pass establishes"
            raise ContractViolation(msg)
        context.notes.clear()
        forget_origins(graph)
        start = time.perf_counter()
        try:
            step.body(graph, context)
        except ExplorerError as error:
            seconds = time.perf_counter() - start
            records.append(
                _record(step, "failed", before, snapshot(graph), seconds, context, str(error))
            )
            raise PassFailed(error, records) from error
        seconds = time.perf_counter() - start
        facts += [f for f in step.establishes if f not in facts]
        if broken := [line for fact in facts for line in fact.check(graph)]:
            msg = f"after {step.name}: " + "; ".join(broken[:5])
            raise ContractViolation(msg)
        after = snapshot(graph)
        status = "unchanged" if _same(before, after) else "changed"
        records.append(_record(step, status, before, after, seconds, context))
        before = after
    return records


def _same(before: Snapshot, after: Snapshot) -> bool:
    """Whether two pictures differ in nothing but where nodes come from."""
    return (
        before.regions == after.regions
        and len(before.nodes) == len(after.nodes)
        and all(_facts(a) == _facts(b) for a, b in zip(before.nodes, after.nodes, strict=True))
    )


def _facts(node: NodeView) -> tuple[object, ...]:
    return (node.name, node.op, node.operands, node.type, node.attrs, node.index, node.copy)


def _record(
    step: Pass,
    status: str,
    before: Snapshot,
    after: Snapshot,
    seconds: float,
    context: Context,
    error: str | None = None,
) -> PassRecord:
    return PassRecord(
        step.name, step.doc, status, before, after, seconds, error, tuple(context.notes)
    )
