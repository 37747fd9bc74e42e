"""Pictures in words: deterministic text for screen readers, notebooks' checks and bug reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from explorer.compiler.record import AxisView, NodeView, PassRecord, Recording, RegionView
from explorer.viz.model import Ancestor, Diff, History, Stack, count_by_op, diff, users

MOST = 6
"""Names listed before the rest is only counted."""


def plural(count: int, noun: str) -> str:
    """``1 node``, ``4 nodes``, ``2 copies``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def listed(names: Sequence[str], most: int = MOST) -> str:
    """The first names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def counted(counts: Mapping[str, int]) -> str:
    """``4 read, 1 write``."""
    return ", ".join(f"{n} {name}" for name, n in counts.items())


def describe_pass(record: PassRecord) -> str:
    """What a pass did, without times, one kind of change a line."""
    before, after = record.before.nodes, record.after.nodes
    head = f"{record.name} ({record.status}): {plural(len(before), 'node')} -> {len(after)}"
    lines = [head, *_difference(diff(record.before, record.after))]
    lines += [f"  holds: {counted(count_by_op(after))}"] if after else []
    lines += [f"  note: {note}" for note in record.notes]
    lines += [f"  error: {record.error}"] if record.error else []
    return "\n".join(lines)


def _difference(d: Diff) -> list[str]:
    lines = {
        "added": [_added(n, d) for n in d.added],
        "removed": [n.name for n in d.removed],
        "copied": [f"{origin} x{len(names)}" for origin, names in d.copies.items()],
        "changed": [f"{c.after.name} ({', '.join(c.fields)})" for c in d.changed],
    }
    return [f"  {what}: {listed(names)}" for what, names in lines.items() if names]


def _added(node: NodeView, d: Diff) -> str:
    origin = d.made_from.get(node.name)
    return f"{node.name} (from {origin})" if origin else node.name


def describe_node(recording: Recording, step: int, name: str) -> str:
    """Everything known of one node after pass number ``step``.

    Raises:
        KeyError: there is no such node after that pass.
    """
    snapshot = recording.passes[step].after
    node = snapshot.node(name)
    lines = [str(node)]
    lines += [f"  index {dim}: {axis_text(axis)}" for dim, axis in (node.index or {}).items()]
    lines += [f"  in {region_text(r)}" for r in snapshot.regions if r.name == node.region]
    lines += [f"  used by: {listed(by)}"] if (by := users(snapshot)[name]) else []
    lines.append(f"  why: {why(History(recording), step, name)}")
    return "\n".join(lines)


def axis_text(axis: AxisView) -> str:
    """Where the elements along one dim lie, in one line."""
    held = plural(axis.elements, "element") + " a lane"
    copies = f", {plural(axis.copies, 'copy')}" if axis.copies > 1 else ""
    masked = f", masked from {axis.limit}" if axis.limit is not None else ""
    return f"{axis.position} ({held}{copies}{masked})"


def region_text(region: RegionView) -> str:
    """What a scope is."""
    if region.parent is None:
        return "the kernel's body"
    steps = f", {plural(region.steps, 'step')}" if region.steps is not None else ""
    return f"the loop {region.name} over {region.axis}{steps}"


def why(history: History, step: int, name: str) -> str:
    """Why a node exists: its place in the source, then what each pass made of it."""
    chain = history.chain(step, name)
    return " ".join(filter(None, (reason(history, chain), copy_sentence(chain[0].node))))


def stack_reason(history: History, step: int, stack: Stack) -> str:
    """``why`` for all copies of a stack at once, without their coordinates."""
    return reason(history, history.chain(step, stack.first.name))


def reason(history: History, chain: Sequence[Ancestor]) -> str:
    """One sentence for a chain of origins, newest first."""
    oldest = chain[-1]
    passes = history.recording.passes
    start = f"{oldest.node.name} {_made(passes[oldest.step].name, oldest.node)}"
    steps = [
        f"{passes[new.step].name} {verb}"
        for new, old in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True)
        if (verb := _deed(passes[new.step], new.node, old.node))
    ]
    return "; ".join([start, *steps]) + "."


def _made(pass_name: str, node: NodeView) -> str:
    if node.location is None:
        return f"was made by {pass_name}"
    if pass_name == "trace":
        return f"stands on line {node.location[1]}"
    return f"was made by {pass_name} for line {node.location[1]}"


def _deed(record: PassRecord, new: NodeView, old: NodeView) -> str:
    """What the pass did to the node; nothing when it only passed it on."""
    if new.op != old.op:
        return f"took {old.op} apart, {new.op} is one of the parts"
    if len(new.copy) > len(old.copy):
        return f"gave each piece of {', '.join(new.copy)} its own copy"
    fields = [f for f in ("type", "index") if getattr(new, f) and not getattr(old, f)]
    return f"found its {' and '.join(fields)}" if fields else ""


def copy_sentence(node: NodeView) -> str:
    """Which copy a node is, nothing for an uncopied one."""
    at = ", ".join(f"{d} = {c}" for d, c in node.copy.items())
    return f"This is the copy {at}." if at else ""


def describe(recording: Recording, step: int, selected: str = "") -> str:
    """The pass shown and the node selected, in words."""
    parts = [describe_pass(recording.passes[step])]
    if selected in {n.name for n in recording.passes[step].after.nodes}:
        parts.append(describe_node(recording, step, selected))
    return "\n".join(parts)


def describe_recording(recording: Recording) -> str:
    """Every pass in one line each, for a plain text form."""
    lines: Iterable[str] = (_one_line(p) for p in recording.passes)
    return "\n".join([f"{recording.kernel} for {recording.target}", *lines])


def _one_line(record: PassRecord) -> str:
    d = diff(record.before, record.after).counts
    changes = counted({name: n for name, n in d.items() if n})
    return f"  {record.name}: {record.status}, {plural(len(record.after.nodes), 'node')}" + (
        f" ({changes})" if changes else ""
    )
