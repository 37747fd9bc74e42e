"""Walking a graph while replacing nodes."""

from __future__ import annotations

from collections.abc import Callable

from explorer.compiler.ir.graph import Node, Region, TileGraph

Rule = Callable[[Node], Node | None]
"""Gives what stands in for a node (built with ``graph.add`` just before it), or None to keep it."""


def rewrite(graph: TileGraph, rule: Rule) -> None:
    """Apply ``rule`` to every node in program order; users of a replaced node use its stand-in."""
    _Rewriter(graph, rule).region(graph.root)


class _Rewriter:
    def __init__(self, graph: TileGraph, rule: Rule) -> None:
        self.graph = graph
        self.rule = rule
        self.stands_for: dict[Node, Node] = {}

    def region(self, region: Region) -> None:
        old, region.nodes = region.nodes, []
        with self.graph.building(region):
            for node in old:
                self._node(node, region)
        region.yields = tuple(self._current(y) for y in region.yields)

    def _node(self, node: Node, region: Region) -> None:
        if any(o in self.stands_for for o in node.operands):
            node.op = node.op.map_operands(self._current)
        if (body := node.op.region) is not None:
            self.region(body)
        with self.graph.replacing(node):
            made = self.rule(node)
        if made is None:
            region.nodes.append(node)
        else:
            self.stands_for[node] = made

    def _current(self, node: Node) -> Node:
        return self.stands_for.get(node, node)


def users(graph: TileGraph) -> dict[Node, list[Node]]:
    """Nodes that use each node, repeats kept. What a body yields counts as used by its loop."""
    found: dict[Node, list[Node]] = {}
    for _, node in graph.walk():
        body = node.op.region
        for operand in (*node.operands, *(body.yields if body is not None else ())):
            found.setdefault(operand, []).append(node)
    return found


def captures(loop: Node) -> list[Node]:
    """Nodes from outside that the body of ``loop`` uses, in order of use, each once."""
    body = loop.op.region
    assert body is not None
    inside = set(body.arguments) | {n for _, n in body.walk()}
    for _, n in body.walk():
        if n.op.region is not None:
            inside |= set(n.op.region.arguments)
    used = [o for _, n in body.walk() for o in n.operands] + list(body.yields)
    return list(dict.fromkeys(o for o in used if o not in inside))
