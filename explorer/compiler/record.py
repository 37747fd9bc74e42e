"""A compile as a value: snapshots of the graph before and after every pass.

Viewers, tests, documentation and bug reports read this and nothing else. Everything here is plain
immutable data from the standard library: a saved recording opens without torch, sympy or IREE, and
opening one runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explorer.compiler import expr
from explorer.compiler.expr import Expr

FORMAT = 1
"""Version of the JSON form. A reader refuses versions it does not know."""

Location = tuple[str, int, int]
"""(file, line, column); line from 1, column from 0."""


@dataclass(frozen=True)
class AxisView:
    """Where the elements of a value lie along one dim.

    ``position`` is the element's coordinate in the tensor, a formula of ``workgroup_i``,
    ``wave_DIM``, ``lane``, ``step_LOOP``, ``copy_DIM`` and ``element_DIM`` (those that matter).
    """

    position: Expr
    elements: int
    """Elements along the dim that one lane holds in one copy."""
    copies: int
    """Pieces one wave handles along the dim, 1 once the graph is expanded."""
    limit: Expr | None
    """Positions from here on are masked; None when no position reaches past the end."""


@dataclass(frozen=True)
class NodeView:
    """One operation of a graph, as shown to people."""

    name: str
    op: str
    family: str
    """Decides the drawing: parameter, constant, memory, elementwise, reduction, control, movement,
    synchronisation."""
    operands: tuple[str, ...]
    attrs: Mapping[str, str]
    type: str
    """``f32[M, N]`` for a value, ``memory f32[M, N]`` for a parameter, empty for no result."""
    index: Mapping[str, AxisView] | None
    copy: Mapping[str, int]
    """Coordinates of this copy by dim name; empty before expansion."""
    region: str
    """``root`` or the name of the loop node whose body holds this node."""
    origin: str | None
    """Name of the node in the snapshot before that this one was made from."""
    location: Location | None

    def __str__(self) -> str:
        inside = ["%" + o for o in self.operands] + [f"{k}={v}" for k, v in self.attrs.items()]
        at = "".join(f" {d}={c}" for d, c in self.copy.items())
        kind = f" : {self.type}" if self.type else ""
        return f"%{self.name} = {self.op}({', '.join(inside)}){kind}" + (f"  @{at}" if at else "")


@dataclass(frozen=True)
class RegionView:
    """The body of a loop, or the kernel's own body (``root``)."""

    name: str
    parent: str | None
    axis: str | None
    """The dim that the loop walks."""
    steps: int | None
    """None: it depends on a size that is known when the kernel is called (see ``attrs``)."""
    arguments: tuple[str, ...]
    """Nodes that hold the carried values inside the body, in order."""
    yields: tuple[str, ...]
    """Nodes whose values go to the next step, in the order of ``arguments``."""


@dataclass(frozen=True)
class Snapshot:
    """A graph at one moment. ``nodes`` are in program order, a loop before its body."""

    nodes: tuple[NodeView, ...]
    regions: tuple[RegionView, ...]

    def __str__(self) -> str:
        depth = {"root": 0}
        lines: list[str] = []
        regions = {r.name: r for r in self.regions}
        for r in self.regions:
            if r.parent is not None:
                depth[r.name] = depth[r.parent] + 1
        for node in self.nodes:
            indent = "  " * depth[node.region]
            lines.append(f"{indent}{node}")
            if node.name in regions:
                r = regions[node.name]
                args = ", ".join("%" + a for a in r.arguments)
                yields = ", ".join("%" + y for y in r.yields)
                lines.append(f"{indent}  // {r.steps or '?'} steps of ({args}) -> ({yields})")
        return "\n".join(lines)

    def find(
        self, *, op: str | None = None, region: str | None = None, name: str | None = None
    ) -> tuple[NodeView, ...]:
        """The nodes that match everything given, in program order."""
        return tuple(
            n
            for n in self.nodes
            if (op is None or n.op == op)
            and (region is None or n.region == region)
            and (name is None or n.name == name)
        )

    def node(self, name: str) -> NodeView:
        """The node called ``name``; KeyError if there is none."""
        for n in self.nodes:
            if n.name == name:
                return n
        raise KeyError(name)


@dataclass(frozen=True)
class PassRecord:
    """What one pass did. ``status`` is ``changed``, ``unchanged``, ``skipped`` or ``failed``."""

    name: str
    doc: str
    status: str
    before: Snapshot
    after: Snapshot
    """After a failed pass: the graph as far as it came."""
    seconds: float
    error: str | None = None
    notes: tuple[str, ...] = ()
    """Decisions worth telling: what was unrolled or looped and why, why a pass was skipped."""


@dataclass(frozen=True)
class SourceText:
    """The kernel's own text, for showing lines. ``first_line`` is its first line's number."""

    file: str
    first_line: int
    text: str


@dataclass(frozen=True)
class Recording:
    """Everything a viewer needs of one compile."""

    kernel: str
    bindings: Mapping[str, int | str]
    target: str
    passes: tuple[PassRecord, ...]
    source: SourceText | None = None
    mlir: str = ""
    isa: str = ""
    resources: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    ranges: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many values ``lane``, ``wave_DIM`` and ``workgroup_i`` take in index formulas, from 0."""

    def __getitem__(self, name: str) -> PassRecord:
        """The pass called ``name`` (kebab-case).

        Raises:
            KeyError: no such pass; the message lists those there are.
        """
        for record in self.passes:
            if record.name == name:
                return record
        msg = f"no pass {name!r}; this recording has {', '.join(p.name for p in self.passes)}"
        raise KeyError(msg)

    def __iter__(self) -> Iterator[PassRecord]:
        return iter(self.passes)

    @property
    def error(self) -> str | None:
        """The message of the pass that failed, if one did."""
        return next((p.error for p in self.passes if p.error), None)

    def __repr__(self) -> str:
        chain = " > ".join(p.name if p.status != "failed" else f"{p.name}!" for p in self.passes)
        return f"<Recording of {self.kernel} for {self.target}: {chain}>"

    def _repr_html_(self) -> str:
        from explorer.viz.html import recording_html  # noqa: PLC0415 (the viewer is an optional front end)

        return recording_html(self)

    def save(self, path: str | Path) -> None:
        """Write the recording as JSON."""
        Path(path).write_text(json.dumps(to_json(self)), encoding="utf-8")


def load(path: str | Path) -> Recording:
    """Read a recording that ``Recording.save`` wrote.

    Raises:
        ValueError: the file is no recording, or of an unknown version.
    """
    try:
        data: Any = json.loads(Path(path).read_text(encoding="utf-8"))
        return from_json(data)
    except (LookupError, TypeError, AttributeError, ValueError) as e:
        msg = f"{path} is not a recording: {type(e).__name__}: {e}"
        raise ValueError(msg) from e


def to_json(r: Recording) -> dict[str, Any]:
    """The recording as plain JSON data; each distinct snapshot is written once."""
    snapshots: list[Snapshot] = []

    def number(s: Snapshot) -> int:
        for i, known in enumerate(snapshots):
            if known is s:
                return i
        snapshots.append(s)
        return len(snapshots) - 1

    passes = [
        {
            "name": p.name,
            "doc": p.doc,
            "status": p.status,
            "before": number(p.before),
            "after": number(p.after),
            "seconds": p.seconds,
            "error": p.error,
            "notes": list(p.notes),
        }
        for p in r.passes
    ]
    return {
        "format": FORMAT,
        "kernel": r.kernel,
        "bindings": dict(r.bindings),
        "target": r.target,
        "source": None if r.source is None else vars(r.source),
        "mlir": r.mlir,
        "isa": r.isa,
        "resources": dict(r.resources),
        "options": dict(r.options),
        "ranges": dict(r.ranges),
        "snapshots": [snapshot_to_json(s) for s in snapshots],
        "passes": passes,
    }


def from_json(data: Mapping[str, Any]) -> Recording:
    """What ``to_json`` wrote; ValueError for another version."""
    if data.get("format") != FORMAT:
        msg = f"recording format {data.get('format')!r} is not {FORMAT}"
        raise ValueError(msg)
    snapshots = [snapshot_from_json(s) for s in data["snapshots"]]
    passes = tuple(
        PassRecord(
            name=p["name"],
            doc=p["doc"],
            status=p["status"],
            before=_at(snapshots, p["before"]),
            after=_at(snapshots, p["after"]),
            seconds=p["seconds"],
            error=p["error"],
            notes=tuple(p["notes"]),
        )
        for p in data["passes"]
    )
    source = data["source"]
    return Recording(
        kernel=data["kernel"],
        bindings=dict(data["bindings"]),
        target=data["target"],
        passes=passes,
        source=None if source is None else SourceText(**source),
        mlir=data["mlir"],
        isa=data["isa"],
        resources=dict(data["resources"]),
        options=dict(data["options"]),
        ranges={str(name): int(count) for name, count in data["ranges"].items()},
    )


def _at(snapshots: list[Snapshot], number: int) -> Snapshot:
    if number < 0:
        raise IndexError(number)
    return snapshots[number]


def snapshot_to_json(s: Snapshot) -> dict[str, Any]:
    """One snapshot as plain JSON data."""
    return {
        "nodes": [_node_to_json(n) for n in s.nodes],
        "regions": [
            {**vars(r), "arguments": list(r.arguments), "yields": list(r.yields)} for r in s.regions
        ],
    }


def snapshot_from_json(data: Mapping[str, Any]) -> Snapshot:
    """What ``snapshot_to_json`` wrote."""
    return Snapshot(
        tuple(_node_from_json(n) for n in data["nodes"]),
        tuple(_region_from_json(r) for r in data["regions"]),
    )


def _node_to_json(n: NodeView) -> dict[str, Any]:
    index = None if n.index is None else {d: _axis_to_json(a) for d, a in n.index.items()}
    return {
        **vars(n),
        "operands": list(n.operands),
        "attrs": dict(n.attrs),
        "copy": dict(n.copy),
        "index": index,
        "location": None if n.location is None else list(n.location),
    }


def _region_from_json(data: Mapping[str, Any]) -> RegionView:
    return RegionView(
        name=data["name"],
        parent=data["parent"],
        axis=data["axis"],
        steps=data["steps"],
        arguments=tuple(data["arguments"]),
        yields=tuple(data["yields"]),
    )


def _node_from_json(data: Mapping[str, Any]) -> NodeView:
    index, location = data["index"], data["location"]
    return NodeView(
        name=data["name"],
        op=data["op"],
        family=data["family"],
        operands=tuple(data["operands"]),
        attrs=dict(data["attrs"]),
        type=data["type"],
        index=None if index is None else {d: _axis_from_json(a) for d, a in index.items()},
        copy=dict(data["copy"]),
        region=data["region"],
        origin=data["origin"],
        location=None if location is None else (location[0], location[1], location[2]),
    )


def _axis_to_json(a: AxisView) -> list[Any]:
    limit = None if a.limit is None else expr.to_json(a.limit)
    return [expr.to_json(a.position), a.elements, a.copies, limit]


def _axis_from_json(data: list[Any]) -> AxisView:
    position, elements, copies, limit = data
    return AxisView(
        expr.from_json(position), elements, copies, None if limit is None else expr.from_json(limit)
    )
