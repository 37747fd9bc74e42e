"""Walking a parallel dim in a loop instead of unrolling it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from explorer.compiler.errors import ExplorerError, NeededTwice, NeedsLoop, TooManyCopies
from explorer.compiler.ir.graph import Node, Region, TileGraph
from explorer.compiler.ir.rewrite import captures
from explorer.compiler.ir.types import MemoryType
from explorer.compiler.lang.tiling import DimTiling, round_up
from explorer.compiler.ops.control import Carried, Loop, ParallelLoop, Result
from explorer.compiler.ops.memory import Register, Write
from explorer.compiler.ops.reduction import Reduce
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.facts import ONE_ROLE, STEPPED, TYPED
from explorer.compiler.passes.recompute_in_loops import recompute_inside
from explorer.compiler.passes.shares import ENDLESS, Walks, copies, places_in, steps


@compiler_pass(requires=(TYPED, STEPPED, ONE_ROLE))
def form_parallel_loops(graph: TileGraph, context: Context) -> None:
    """Walk a parallel dim in a generated loop where that is asked for, or unrolling is too much.

    Asked for by a ParallelTilingConstraint; too much is more than unroll_limit copies. A reduction
    over the dim ends a loop, which carries its partial result; what comes after it goes into a
    next loop. Values needed by both are computed again.

        %x = read(%a); %m = max(%x, dim=N); write(%x - %m, %c)
        ->
        loop over N carrying %p: %p' = max(read(%a), %p, dim=N)
        loop over N: write(read(%a) - %p', %c)
    """
    _Former(graph, context).region(graph.root, {})


class _Former:
    def __init__(self, graph: TileGraph, context: Context) -> None:
        self.graph = graph
        self.context = context
        self.tiling = context.tiling

    def region(self, region: Region, walks: Walks) -> None:
        for dim in self.tiling.dims:
            if dim.parallel_tile is not None and dim.name not in walks:
                self._form(region, dim, dim.parallel_tile, "as its ParallelTilingConstraint says")
        while (worst := self._worst(region, walks)) is not None:
            if not self._unroll_less(region, *worst):
                if worst[0] in region.nodes:
                    raise self._too_many(*worst)
                break  # the inner region that holds it may know better
        for node in region.nodes:
            if isinstance(node.op, Loop):
                self.region(node.op.body, {**walks, node.op.axis: node})

    # --- how many copies ---

    def _factors(self, node: Node, walks: Walks) -> dict[str, int]:
        return {d: copies(self.tiling[d], walks) for d in node.dims}

    def _worst(self, region: Region, walks: Walks) -> tuple[Node, Walks] | None:
        """The node with most copies here or in a loop inside, if those are too many."""
        counted = [
            (math.prod(self._factors(n, w).values()), n, w) for n, w in places_in(region, walks)
        ]
        most, node, around = max(counted, key=lambda c: c[0], default=(0, None, walks))
        return (node, around) if node is not None and most > self.context.unroll_limit else None

    def _unroll_less(self, region: Region, node: Node, walks: Walks) -> bool:
        """Form a loop in ``region`` over one of the node's unrolled dims, if one can be."""
        factors = self._factors(node, walks)
        total = math.prod(factors.values())
        free = [d for d, n in factors.items() if d not in walks and n > 1]
        for d in sorted(free, key=lambda d: -factors[d]):
            dim = self.tiling[d]
            step = self._step(dim, total // factors[d])
            limit = self.context.unroll_limit
            why = (
                "its size is known only when the kernel is called"
                if dim.unbounded
                else f"{total} copies of {node.name} are more than unroll_limit={limit}"
            )
            shorter = dim.unbounded or step < round_up(dim.owned, dim.quantum)
            if shorter and self._form(region, dim, step, why):
                return True
        return False

    def _step(self, dim: DimTiling, others: int) -> int:
        """The loop's tile, else four rounds of all waves; less if ``others`` leave no room."""
        room = max(1, self.context.unroll_limit // others) * dim.quantum
        return min(dim.loop_tile or 4 * dim.quantum, room)

    def _too_many(self, node: Node, walks: Walks) -> ExplorerError:
        factors = self._factors(node, walks)
        if endless := [d for d, n in factors.items() if n == ENDLESS]:
            return NeedsLoop(op=node.name, dim=endless[0], location=node.location)
        walked = [d for d, n in factors.items() if d in walks and n > 1]
        first = f"a smaller tile for {walked[0]}" if walked else "smaller workgroup tiles"
        return TooManyCopies(
            op=node.name,
            copies=math.prod(factors.values()),
            factors=" x ".join(f"{n} along {d}" for d, n in factors.items()),
            limit=self.context.unroll_limit,
            advice=f"use {first}, larger vector shapes or more waves, or raise unroll_limit",
            location=node.location,
        )

    # --- forming the loops over one dim ---

    def _form(self, region: Region, dim: DimTiling, step: int, why: str) -> bool:
        groups = _Groups(region, dim.name)
        if not groups.levels:
            return False
        if groups.blocked() or _carries_in(region, dim.name):
            self.context.note(
                f"{dim.name} stays unrolled in {region.name}: a loop there needs all of it"
            )
            return False
        rebuilt = Region(region.name, arguments=region.arguments)
        waiting = [n for n in region.nodes if not groups.owns(n)]
        final: dict[Node, Node] = {}
        with self.graph.building(rebuilt):
            for level, ends in groups.levels.items():
                ready = [n for n in waiting if groups.depth[n] <= level]
                waiting = [n for n in waiting if groups.depth[n] > level]
                self._keep(rebuilt, ready, final)
                self._loop(groups, ends, dim, step, final)
            self._keep(rebuilt, waiting, final)
        for node in rebuilt.nodes:
            if isinstance(node.op, ParallelLoop) and node.op.axis == dim.name:
                recompute_inside(self.graph, node, node.op, self.context)
        region.nodes = rebuilt.nodes
        region.yields = tuple(final.get(y, y) for y in region.yields)
        self.context.note(
            f"{dim.name} is walked in {len(groups.levels)} generated loop(s) of "
            f"{steps(dim, step)} steps of {step}: {why}"
        )
        return True

    def _keep(self, rebuilt: Region, nodes: Iterable[Node], final: dict[Node, Node]) -> None:
        for node in nodes:
            _replace_uses(node, final)
            rebuilt.nodes.append(node)

    def _loop(
        self, groups: _Groups, ends: list[Node], dim: DimTiling, step: int, final: dict[Node, Node]
    ) -> None:
        reductions = [n for n in ends if isinstance(n.op, Reduce)]
        inits = tuple(self._start(r, final) for r in reductions)
        body = Region("")
        op = ParallelLoop(dim.name, inits, body, step, steps(dim, step))
        with self.graph.replacing(ends[0]):
            loop = self.graph.add(op, name=f"over_{dim.name}", typed=True)
        body.name = loop.name
        with self.graph.building(body):
            carried = [self._argument(r) for r in reductions]
            inside: dict[Node, Node] = {}
            for node in groups.closure(ends):
                inside[node] = self._member(groups, node, body, {**final, **inside})
            for reduction, argument in zip(reductions, carried, strict=True):
                assert isinstance(inside[reduction].op, Reduce)
                inside[reduction].op = inside[reduction].op.replaced({"init": argument})
        body.arguments = tuple(carried)
        body.yields = tuple(inside[r] for r in reductions)
        for i, r in enumerate(reductions):
            with self.graph.replacing(r):
                final[r] = self.graph.add(Result(loop, i), name=f"{r.name}_total", type=r.type)

    def _start(self, reduction: Node, final: dict[Node, Node]) -> Node:
        op = reduction.op
        assert isinstance(op, Reduce)
        if op.init is not None:
            return final.get(op.init, op.init)
        with self.graph.replacing(reduction):
            kind = reduction.tile
            return self.graph.add(Register(op.combiner.identity(kind.dtype), kind), type=kind)

    def _argument(self, reduction: Node) -> Node:
        with self.graph.replacing(reduction):
            return self.graph.add(
                Carried(reduction.tile), name=f"{reduction.name}_so_far", type=reduction.type
            )

    def _member(self, groups: _Groups, node: Node, body: Region, now: dict[Node, Node]) -> Node:
        """The node inside its loop: itself for the first loop that needs it, then copies."""
        if node not in groups.placed:
            groups.placed.add(node)
            _replace_uses(node, now)
            body.nodes.append(node)
            return node
        if not node.op.pure:
            raise NeededTwice(
                value=node.name,
                dim=groups.dim,
                why=self._why_looped(groups.dim),
                location=node.location,
            )
        op = groups.original[node].map_operands(lambda o: now.get(o, o))
        with self.graph.replacing(node):
            return self.graph.add(op, name=node.name, type=node.type)

    def _why_looped(self, dim: str) -> str:
        found, limit = copies(self.tiling[dim], {}), self.context.unroll_limit
        if found == ENDLESS:
            return "its size is known only when the kernel is called"
        return f"{found} copies, more than unroll_limit={limit}"


class _Groups:
    """The nodes of a region that carry ``dim``, cut where a reduction over it ends a loop."""

    def __init__(self, region: Region, dim: str) -> None:
        self.dim = dim
        self.nodes = region.nodes
        # Nodes are rewritten when they move into their loop; later loops copy what was there first.
        self.original = {n: n.op for n in region.nodes}
        self.uses = {n: _uses(n) for n in region.nodes}
        self.depth = self._depths()
        self.levels = self._levels()
        self.placed: set[Node] = set()

    def ends(self, node: Node) -> bool:
        """Whether ``node`` takes values with the dim and gives none."""
        match node.op:
            case Reduce(source=source, dim=dim):
                return dim == self.dim and self.dim in source[0].dims
            case Write():
                return self.dim in node.dims
            case _:
                return False

    def owns(self, node: Node) -> bool:
        """Whether ``node`` goes into a loop over the dim."""
        if isinstance(node.op, Loop):
            return any(self.dim in i.dims for i in node.op.inits)
        return self.ends(node) or self.dim in node.dims

    def blocked(self) -> bool:
        """Whether a loop of the kernel needs the whole dim at once, so that none may walk it.

        One that goes inside must carry nothing but values with the dim, and may not reduce over
        it; one that stays outside may not use a value with the dim.
        """
        return any(self._blocks(n, n.op) for n in self.nodes if isinstance(n.op, Loop))

    def _blocks(self, node: Node, loop: Loop) -> bool:
        if not self.owns(node):
            return any(self.dim in value.dims for value in captures(node))
        return not all(self.dim in i.dims for i in loop.inits) or _reduces_over(loop, self.dim)

    def _depths(self) -> dict[Node, int]:
        """How many reductions over the dim lie before each node."""
        depth: dict[Node, int] = {}
        for node in self.nodes:
            found = max(
                (depth[o] + self._reduces(o) for o in self.uses[node] if o in depth), default=0
            )
            depth[node] = found
        return depth

    def _reduces(self, node: Node) -> int:
        return int(isinstance(node.op, Reduce) and self.ends(node))

    def _levels(self) -> dict[int, list[Node]]:
        levels: dict[int, list[Node]] = {}
        for node in self.nodes:
            if self.ends(node):
                levels.setdefault(self.depth[node], []).append(node)
        return dict(sorted(levels.items()))

    def closure(self, ends: list[Node]) -> Iterator[Node]:
        """The owned nodes that ``ends`` need, in program order."""
        wanted: set[Node] = set()
        work = list(ends)
        while work:
            node = work.pop()
            if node not in wanted:
                wanted.add(node)
                work += [
                    o
                    for o in self.uses[node]
                    if o in self.original and self.owns(o) and not self._reduces(o)
                ]
        return (n for n in self.nodes if n in wanted)


def _reduces_over(loop: Loop, dim: str) -> bool:
    """Whether the body reduces over the dim, outside of loops over it."""
    if loop.axis == dim:
        return False
    return any(
        node.op.dim == dim
        if isinstance(node.op, Reduce)
        else isinstance(node.op, Loop) and _reduces_over(node.op, dim)
        for node in loop.body.nodes
    )


def _uses(node: Node) -> list[Node]:
    """Operands, and what a loop's body takes from outside."""
    inner = captures(node) if node.op.region is not None else []
    return [o for o in (*node.operands, *inner) if not isinstance(o.type, MemoryType)]


def _carries_in(region: Region, dim: str) -> bool:
    """Whether the region's carried values have the dim, so that no loop inside can walk it."""
    return any(dim in value.dims for value in (*region.arguments, *region.yields))


def _replace_uses(node: Node, now: dict[Node, Node]) -> None:
    node.op = node.op.map_operands(lambda o: now.get(o, o))
    if (body := node.op.region) is not None:
        for _, inner in body.walk():
            inner.op = inner.op.map_operands(lambda o: now.get(o, o))
        body.yields = tuple(now.get(y, y) for y in body.yields)
