"""A snapshot for Graphviz: text always, a rendered picture where the program is installed."""

from __future__ import annotations

import subprocess

import graphviz

from explorer.viz.model import History
from explorer.viz.scene import Box, Scene, scenes
from explorer.viz.svg import snapshot_svg
from explorer.viz.theme import look, symbol

COMMANDS = ("dot", "graphviz-pure")


class GraphvizMissing(RuntimeError):
    """No Graphviz program was found to draw with."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"{kind} needs one of the programs {', '.join(COMMANDS)}, and none is on the PATH; "
            "install Graphviz (the package is called graphviz), or ask for svg"
        )


def to_dot(history: History, step: int) -> graphviz.Digraph:
    """The graph after pass number ``step``, copies stacked, loops as clusters."""
    picture = scenes(history)[step]
    dot = graphviz.Digraph(history.recording.kernel)
    dot.attr("node", fontname="sans-serif", fontsize="10")
    dot.attr(compound="true", ranksep="0.35")
    _fill(dot, picture, "")
    ids = _ids(picture)
    for line in picture.lines:
        style = "dashed" if line.kind == "carried" else "solid"
        dot.edge(
            ids[line.start],
            ids[line.end],
            style=style,
            constraint=str(style == "solid").lower(),
            label=str(line.count) if line.count > 1 else "",
        )
    return dot


def _ids(picture: Scene) -> dict[str, str]:
    """Keys hold characters that Graphviz reads as ports, so nodes are numbered."""
    return {stack.key: f"n{i}" for i, stack in enumerate(picture.stacks)}


def _fill(graph: graphviz.Digraph, picture: Scene, parent: str) -> None:
    """Add the nodes and the loops that stand directly in the box ``parent`` (a key)."""
    loops = {box.key: box for box in picture.boxes}
    ids = _ids(picture)
    for stack in picture.stacks:
        if (picture.layout.plan.parents[stack.key] or "") != parent:
            continue
        if stack.key in loops:
            graph.subgraph(_cluster(picture, loops[stack.key], ids[stack.key]))
            continue
        first, seen = stack.first, look(stack.first.family)
        many = f" ×{len(stack.nodes)}" if len(stack.nodes) > 1 else ""  # noqa: RUF001 (a sign)
        label = f"{symbol(first.op, first.family)} {stack.label}{many}\n{first.type}"
        graph.node(ids[stack.key], graphviz.escape(label), shape=seen.dot, color=seen.light)


def _cluster(picture: Scene, box: Box, anchor: str) -> graphviz.Digraph:
    cluster = graphviz.Digraph(f"cluster_{anchor}")
    title = f"{box.region.name} over {box.region.axis}, {box.region.steps or '?'} steps"
    cluster.attr(label=graphviz.escape(title), style="rounded", color=look("control").light)
    cluster.node(anchor, "", shape="point", style="invis")
    _fill(cluster, picture, box.key)
    return cluster


def render(history: History, step: int, kind: str = "svg") -> bytes:
    """The picture as ``svg``, ``png``, ...: by ``dot``, else ``graphviz-pure``, else our own SVG.

    Raises:
        GraphvizMissing: another kind than SVG, and neither program is installed.
    """
    source = to_dot(history, step).source
    for command in COMMANDS:
        try:
            return _run(command, source, kind)
        except FileNotFoundError:
            continue
    if kind != "svg":
        raise GraphvizMissing(kind)
    return snapshot_svg(scenes(history)[step]).encode()


def _run(command: str, source: str, kind: str) -> bytes:
    """Feed ``source`` to a Graphviz program.

    Raises:
        FileNotFoundError: the program is not installed.
        subprocess.CalledProcessError: it refused the text.
    """
    done = subprocess.run(
        [command, f"-T{kind}"],
        input=source.encode(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    return done.stdout
