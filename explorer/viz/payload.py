"""A recording as compact JSON for the browser: every picture and every sentence is made here.

The browser draws and scrolls; it decides nothing. Rows are arrays to stay small, texts that repeat
(index formulas) are numbers into ``texts``, and each distinct snapshot is sent once. The reader of
these rows is ``widgets/js/data.js``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from explorer.compiler.record import NodeView, PassRecord, Recording, SourceText
from explorer.viz.layout import Rect
from explorer.viz.model import EMPTY, Diff, History, Stack, diff
from explorer.viz.scene import Line, Scene, scene, scenes
from explorer.viz.theme import DIFFERENCES, FAMILIES, symbol
from explorer.viz.words import axis_text, copy_sentence, describe_pass, region_text, stack_reason

Json = dict[str, Any]


class _Texts:
    """Texts by number, each kept once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def payload(recording: Recording) -> Json:
    """Everything that the viewer in the browser needs, as JSON data."""
    history, texts = History(recording), _Texts()
    pictures = _pictures(history)
    numbers = {id(picture): i for i, (_, picture) in enumerate(pictures)}
    steps = _steps(history, pictures)
    return {
        "kernel": recording.kernel,
        "target": recording.target,
        "bindings": {k: str(v) for k, v in recording.bindings.items()},
        "source": _source(recording.source),
        "mlir": recording.mlir,
        "isa": recording.isa,
        "resources": {k: str(v) for k, v in recording.resources.items()},
        "families": {k: [v.symbol, v.shape, v.words] for k, v in FAMILIES.items()},
        "differences": {k: [v.symbol, v.words] for k, v in DIFFERENCES.items()},
        "snapshots": [_snapshot(history, step, picture, texts) for step, picture in pictures],
        "passes": [
            _pass(record, before, after, numbers)
            for record, (before, after) in zip(recording.passes, steps, strict=True)
        ],
        "texts": list(texts.numbers),
    }


def _pictures(history: History) -> list[tuple[int, Scene]]:
    """The empty start, then each distinct picture with the number of the pass that made it."""
    made: list[tuple[int, Scene]] = [(-1, scene(EMPTY, {}))]
    for step, picture in enumerate(scenes(history)):
        if picture is not made[-1][1]:
            made.append((step, picture))
    return made


def _steps(history: History, pictures: list[tuple[int, Scene]]) -> list[tuple[Scene, Scene]]:
    """Picture before and after each pass."""
    made_by = dict(pictures)
    found: list[tuple[Scene, Scene]] = []
    now = made_by[-1]
    for step in range(len(history.recording.passes)):
        before, now = now, made_by.get(step, now)
        found.append((before, now))
    return found


def _source(source: SourceText | None) -> Json | None:
    if source is None:
        return None
    return {"file": source.file, "first": source.first_line, "lines": source.text.splitlines()}


def _pass(record: PassRecord, before: Scene, after: Scene, numbers: Mapping[int, int]) -> Json:
    d = diff(record.before, record.after)
    return {
        "name": record.name,
        "doc": record.doc,
        "status": record.status,
        "ms": round(1000 * record.seconds, 2),
        "error": record.error,
        "notes": list(record.notes),
        "before": numbers[id(before)],
        "after": numbers[id(after)],
        "counts": d.counts,
        "marksBefore": _marks(before.stacks, d.status_before, {}),
        "marksAfter": _marks(after.stacks, d.status_after, _differences(d)),
        "words": describe_pass(record),
    }


def _differences(d: Diff) -> dict[str, str]:
    """Name after -> what is different about it."""
    changed = {c.after.name: ", ".join(c.fields) for c in d.changed}
    return changed | {name: f"made from {origin}" for name, origin in d.made_from.items()}


def _marks(
    stacks: Iterable[Stack], status: Mapping[str, str], details: Mapping[str, str]
) -> dict[int, list[str]]:
    """Number of a stack -> its status and details, for stacks that are not all the same."""
    marks: dict[int, list[str]] = {}
    for i, stack in enumerate(stacks):
        marked = next((n.name for n in stack.nodes if n.name in status), None)
        if marked is not None:
            marks[i] = [status[marked], details.get(marked, "")]
    return marks


def _snapshot(history: History, step: int, picture: Scene, texts: _Texts) -> Json:
    order = [node for stack in picture.stacks for node in stack.nodes]
    number = {node.name: i for i, node in enumerate(order)}
    position = {stack.key: i for i, stack in enumerate(picture.stacks)}
    regions = {r.name: region_text(r) for r in picture.snapshot.regions}
    return {
        "stacks": [
            {
                **_stack(stack, texts, number),
                "place": _rounded(picture.layout.places[stack.key]),
                "scope": regions.get(stack.first.region, ""),
                "why": stack_reason(history, step, stack),
            }
            for stack in picture.stacks
        ],
        "boxes": [
            {
                "stack": position[box.key],
                "axis": box.region.axis or "",
                "steps": box.region.steps,
            }
            for box in picture.boxes
        ],
        "lines": [_line(line, position) for line in picture.lines],
    }


def _stack(stack: Stack, texts: _Texts, number: Mapping[str, int]) -> Json:
    first = stack.first
    return {
        "key": stack.key,
        "label": stack.label,
        "op": first.op,
        "family": first.family,
        "symbol": symbol(first.op, first.family),
        "type": first.type,
        "attrs": dict(first.attrs),
        "line": first.location[1] if first.location is not None else None,
        "dims": list(stack.dims),
        "nodes": [_node(node, texts, number) for node in stack.nodes],
    }


def _node(node: NodeView, texts: _Texts, number: Mapping[str, int]) -> list[Any]:
    index = {dim: texts.number(axis_text(axis)) for dim, axis in (node.index or {}).items()}
    operands = [number[o] for o in node.operands if o in number]
    return [node.name, dict(node.copy), operands, index, texts.number(copy_sentence(node))]


def _line(line: Line, position: Mapping[str, int]) -> list[Any]:
    flat = [round(v) for point in line.points for v in point]
    return [position[line.start], position[line.end], line.kind, line.count, flat]


def _rounded(place: Rect) -> list[int]:
    return [round(v) for v in (place.x, place.y, place.width, place.height)]
