"""What a viewer shows of a recording, as plain data: lineage, differences, stacks, edges.

Nothing here draws. A node is the same as one of the snapshot before when its ``origin`` says so;
names are never compared across snapshots unless there is no origin.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from explorer.compiler.record import NodeView, Recording, RegionView, Snapshot

EMPTY = Snapshot((), ())
_COPY_NUMBER = re.compile(r"_\d+")


@dataclass(frozen=True)
class Change:
    """One node that both snapshots have, with the names of its fields that differ."""

    before: NodeView
    after: NodeView
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Diff:
    """How a snapshot differs from the one before.

    A node whose op changed counts as removed, and what was made from it as added: ``made_from``
    tells from what.
    """

    added: tuple[NodeView, ...]
    removed: tuple[NodeView, ...]
    changed: tuple[Change, ...]
    same: tuple[NodeView, ...]
    copies: Mapping[str, tuple[str, ...]]
    """Name before -> names after, where one node became several of the same op."""
    made_from: Mapping[str, str]
    """Name of an added node -> the removed or changed node before that it was made from."""

    @cached_property
    def status_before(self) -> dict[str, str]:
        """Name before -> ``removed``, ``changed`` or ``copied``; others are the same."""
        return (
            {n.name: "removed" for n in self.removed}
            | {c.before.name: "changed" for c in self.changed}
            | dict.fromkeys(self.copies, "copied")
        )

    @cached_property
    def status_after(self) -> dict[str, str]:
        """Name after -> ``added``, ``changed`` or ``copied``; others are the same."""
        copied = (name for names in self.copies.values() for name in names)
        return (
            {n.name: "added" for n in self.added}
            | {c.after.name: "changed" for c in self.changed}
            | dict.fromkeys(copied, "copied")
        )

    @property
    def counts(self) -> dict[str, int]:
        """Nodes of each status: of the snapshot before for ``removed``, else of the one after."""
        after = Counter(self.status_after.values())
        return {
            "added": after["added"],
            "removed": len(self.removed),
            "changed": after["changed"],
            "copied": after["copied"],
        }


def sources(before: Snapshot, after: Snapshot) -> dict[str, str | None]:
    """Name of each node after -> name of the node before that it was made from, None if new."""
    known = {n.name for n in before.nodes}
    if before is after or before == after:
        return {name: name for name in known}
    return {n.name: _source(n, known) for n in after.nodes}


def _source(node: NodeView, known: set[str]) -> str | None:
    if node.origin is not None:
        return node.origin if node.origin in known else None
    return node.name if node.name in known else None


def diff(before: Snapshot, after: Snapshot) -> Diff:
    """What became of every node, by origin."""
    old = {n.name: n for n in before.nodes}
    source = sources(before, after)
    heirs: dict[str, list[NodeView]] = defaultdict(list)
    added: list[NodeView] = []
    for node in after.nodes:
        origin = source[node.name]
        if origin is not None and old[origin].op == node.op:
            heirs[origin].append(node)
        else:
            added.append(node)
    pairs = [(old[name], nodes[0]) for name, nodes in heirs.items() if len(nodes) == 1]
    changes = [Change(b, a, changed_fields(b, a, source)) for b, a in pairs]
    return Diff(
        added=tuple(added),
        removed=tuple(n for n in before.nodes if n.name not in heirs),
        changed=tuple(c for c in changes if c.fields),
        same=tuple(c.after for c in changes if not c.fields),
        copies={o: tuple(n.name for n in ns) for o, ns in heirs.items() if len(ns) > 1},
        made_from={n.name: o for n in added if (o := source[n.name]) is not None},
    )


def changed_fields(
    before: NodeView, after: NodeView, source: Mapping[str, str | None]
) -> tuple[str, ...]:
    """Fields that differ, operands seen through their origins; being the only copy is no change."""
    operands = tuple(source.get(o, o) for o in after.operands)
    differs = {
        "operands": operands != before.operands,
        "attributes": dict(after.attrs) != dict(before.attrs),
        "type": after.type != before.type,
        "index": after.index != before.index,
        "copy": dict(after.copy) != dict(before.copy) and any((*before.copy, *after.copy.values())),
        "region": source.get(after.region, after.region) != before.region,
    }
    return tuple(field for field, does in differs.items() if does)


@dataclass(frozen=True)
class Birth:
    """The first snapshot that has an ancestor of a node, and that ancestor.

    ``copy`` holds the coordinates of the node, or of the nearest ancestor that has any: the parts
    of a copy belong to that copy.
    """

    step: int
    name: str
    copy: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Ancestor:
    """One link of the chain of origins: ``node`` as it stands after the pass ``step``."""

    step: int
    node: NodeView


class History:
    """Where every node of every snapshot of a recording came from."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._nodes = [{n.name: n for n in p.after.nodes} for p in recording.passes]
        self._sources = [sources(p.before, p.after) for p in recording.passes]
        self._births: list[dict[str, Birth]] = []
        for step, source in enumerate(self._sources):
            earlier = self._births[-1] if self._births else {}
            nodes = self._nodes[step]
            self._births.append(
                {n: _birth(step, nodes[n], earlier.get(s or "")) for n, s in source.items()}
            )

    def births(self, step: int) -> dict[str, Birth]:
        """Birth of each node of the snapshot after pass number ``step``."""
        return self._births[step]

    def chain(self, step: int, name: str) -> tuple[Ancestor, ...]:
        """The node and what it was made from, pass by pass, newest first.

        Raises:
            KeyError: there is no such node after that pass.
        """
        links = [Ancestor(step, self._nodes[step][name])]
        while step > 0 and (source := self._sources[step][name]) is not None:
            step, name = step - 1, source
            links.append(Ancestor(step, self._nodes[step][name]))
        return tuple(links)

    def stacks(self, step: int) -> tuple[Stack, ...]:
        """The nodes after pass number ``step``, copies of one node together."""
        return stacks(self.recording.passes[step].after, self._births[step])


def _birth(step: int, node: NodeView, earlier: Birth | None) -> Birth:
    first = earlier or Birth(step, node.name)
    return replace(first, copy=tuple(sorted(node.copy.items()))) if node.copy else first


@dataclass(frozen=True)
class Stack:
    """Nodes of one region and op that differ only in ``copy``; most often just one node.

    ``key`` is the same in all snapshots for what has the same birth, region and op.
    """

    key: str
    label: str
    nodes: tuple[NodeView, ...]

    @property
    def first(self) -> NodeView:
        """The copy that stands for all."""
        return self.nodes[0]

    @property
    def dims(self) -> tuple[str, ...]:
        """Dims along which there is more than one copy."""
        return tuple(d for d in self.first.copy if len({n.copy.get(d) for n in self.nodes}) > 1)


def stacks(snapshot: Snapshot, births: Mapping[str, Birth]) -> tuple[Stack, ...]:
    """Group the copies of one node; what has the same coordinates twice goes to another stack."""
    groups: dict[str, list[NodeView]] = defaultdict(list)
    seen: Counter[tuple[str, tuple[tuple[str, int], ...]]] = Counter()
    for node in snapshot.nodes:
        birth = births[node.name]
        kin = f"{birth.step}/{birth.name}/{node.region}/{node.op}"
        place = (kin, birth.copy)
        groups[f"{kin}/{seen[place]}"].append(replace(node, copy=dict(birth.copy)))
        seen[place] += 1
    return tuple(Stack(key, _label(nodes, births), tuple(nodes)) for key, nodes in groups.items())


def _label(nodes: list[NodeView], births: Mapping[str, Birth]) -> str:
    """The name that a person knows: the ancestor's while it is one of these copies' own."""
    name, ancestor = nodes[0].name, births[nodes[0].name].name
    rest = name.removeprefix(ancestor)
    return ancestor if rest != name and (not rest or _COPY_NUMBER.fullmatch(rest)) else name


def edges(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """(from, to) by node name for each operand, carried values joined to the loop's body.

    An initial value of a loop leads to the carried value it starts; a loop's result comes from the
    value that the body yields. A graph that a pass left half-way may name nodes that it lacks:
    those edges are left out.
    """
    regions = {r.name: r for r in snapshot.regions}
    known = {n.name for n in snapshot.nodes}
    found = (
        (_start(node, operand, regions), _end(node, slot, regions))
        for node in snapshot.nodes
        for slot, operand in enumerate(node.operands)
    )
    return tuple((a, b) for a, b in found if a in known and b in known)


def _end(node: NodeView, slot: int, regions: Mapping[str, RegionView]) -> str:
    region = regions.get(node.name)
    if region is None or slot >= len(region.arguments):
        return node.name
    return region.arguments[slot]


def _start(node: NodeView, operand: str, regions: Mapping[str, RegionView]) -> str:
    region = regions.get(operand)
    at = node.attrs.get("at", "")
    if region is None or not at.isdecimal() or int(at) >= len(region.yields):
        return operand
    return region.yields[int(at)]


def carried(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """(yielded, carried) by node name: the values that go from one loop step to the next."""
    known = {n.name for n in snapshot.nodes}
    pairs = (p for r in snapshot.regions for p in zip(r.yields, r.arguments, strict=False))
    return tuple((a, b) for a, b in pairs if a in known and b in known)


def loops(snapshot: Snapshot) -> tuple[RegionView, ...]:
    """The regions that are a loop's body, each with its node in the snapshot."""
    known = {n.name for n in snapshot.nodes}
    return tuple(r for r in snapshot.regions if r.name in known)


def waits(snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    """(earlier, later) by node name around nodes with no operand and no result, as a barrier."""
    linked = {name for edge in edges(snapshot) for name in edge}
    inside: dict[str, list[NodeView]] = defaultdict(list)
    for node in snapshot.nodes:
        inside[node.region].append(node)
    return tuple(
        (a.name, b.name)
        for nodes in inside.values()
        for a, b in pairwise(nodes)
        if {a.name, b.name} - linked and a.family not in {"parameter", "constant"}
    )


def users(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    """Name of each node -> names of the nodes that use it, each once."""
    found: dict[str, dict[str, None]] = {n.name: {} for n in snapshot.nodes}
    for node in snapshot.nodes:
        for operand in node.operands:
            found.setdefault(operand, {})[node.name] = None
    return {name: tuple(by) for name, by in found.items()}


def count_by_op(nodes: Iterable[NodeView]) -> dict[str, int]:
    """Nodes of each op, most frequent first, ties by name."""
    return _ranked(Counter(n.op for n in nodes))


def count_by_family(nodes: Iterable[NodeView]) -> dict[str, int]:
    """Nodes of each family, most frequent first, ties by name."""
    return _ranked(Counter(n.family for n in nodes))


def _ranked(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
