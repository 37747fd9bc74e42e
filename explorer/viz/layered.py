"""Layered layout of one flat directed acyclic graph: layers, order within them, places.

Longest paths give the layers, long edges get a bend in every layer they cross, a few median sweeps
remove crossings, and each node is then pulled towards its neighbours without changing the order.
An earlier picture seeds the order, so that nodes stay where they were. After Sugiyama, Tagawa and
Toda (1981); the placing is isotonic regression (pool adjacent violators).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

SWEEPS = 4
PULLS = 6
GAP = 28.0
"""Between neighbours of one layer, in pixels."""
LAYER_GAP = 34.0
PORT_GAP = 8.0
"""Above and below a layer that holds no node, in pixels."""
BEND = 14.0
"""Width kept free for an edge that passes through a layer, in pixels."""


@dataclass(frozen=True)
class Sides:
    """Nodes that belong to the first layer and to the last one: where edges enter and leave."""

    top: tuple[str, ...] = ()
    bottom: tuple[str, ...] = ()


@dataclass
class _Layers:
    """Vertices by number: the nodes first, then the bends of long edges."""

    names: list[str]
    layer: list[int]
    above: list[list[int]]
    below: list[list[int]]
    rows: list[list[int]]
    chains: dict[tuple[int, int], list[int]] = field(
        default_factory=dict[tuple[int, int], list[int]]
    )


@dataclass(frozen=True)
class Flat:
    """A finished layer drawing: x of centres, top and height of layers, bends of edges."""

    x: Mapping[str, float]
    top: Mapping[str, float]
    bends: Mapping[tuple[str, str], tuple[tuple[float, float], ...]]
    height: float


def place(
    sizes: Mapping[str, tuple[float, float]],
    edges: Iterable[tuple[str, str]],
    sides: Sides = Sides(),
    seed: Mapping[str, float] | None = None,
) -> Flat:
    """Lay out one level.

    Args:
        sizes: width and height of each node, in pixels, in program order.
        edges: (from, to), acyclic; repeats and loops to itself are ignored.
        sides: nodes that must stand in the first and in the last layer.
        seed: x of nodes in an earlier picture; they stay there if they are most of the nodes.
    """
    names = list(sizes)
    number = {name: i for i, name in enumerate(names)}
    pairs = list(dict.fromkeys((number[a], number[b]) for a, b in edges if a != b))
    g = _layers(names, pairs, {number[n] for n in sides.top}, {number[n] for n in sides.bottom})
    kept = {number[n]: x for n, x in (seed or {}).items()}
    if 2 * len(kept) <= len(names):
        kept = {}
    _order(g, kept)
    widths = [sizes[n][0] + GAP for n in names] + [BEND] * (len(g.layer) - len(names))
    x = _pull(g, widths, kept)
    return _finish(g, x, [sizes[n][1] for n in names])


def _layers(
    names: list[str], edges: list[tuple[int, int]], top: set[int], bottom: set[int]
) -> _Layers:
    below: list[list[int]] = [[] for _ in names]
    above: list[list[int]] = [[] for _ in names]
    for a, b in edges:
        below[a].append(b)
        above[b].append(a)
    layer = _ranks(above, below, top, bottom)
    g = _Layers(names, layer, [[] for _ in names], [[] for _ in names], [])
    g.rows = [[] for _ in range(max(layer, default=-1) + 1)]
    for i, r in enumerate(layer):
        g.rows[r].append(i)
    for a, targets in enumerate(below):
        _bend(g, a, targets)
    return g


def _ranks(
    above: list[list[int]], below: list[list[int]], top: set[int], bottom: set[int]
) -> list[int]:
    """Layer of each node: below all that it reads; near its users unless it has more operands."""
    order = _topological(above, below)
    rank = [0] * len(above)
    for i in order:
        rank[i] = max((rank[j] + 1 for j in above[i]), default=0 if i in top or not top else 1)
    for i in reversed(order):
        if below[i] and len(above[i]) <= len(below[i]) and i not in top and not top & {*above[i]}:
            rank[i] = min(rank[j] for j in below[i]) - 1
    last = max((rank[i] for i in order if i not in bottom), default=-1) + 1
    for i in bottom:
        rank[i] = last
    return rank


def _topological(above: list[list[int]], below: list[list[int]]) -> list[int]:
    waiting = [len(a) for a in above]
    order = [i for i, count in enumerate(waiting) if not count]
    for i in order:
        for j in below[i]:
            waiting[j] -= 1
            if not waiting[j]:
                order.append(j)
    return order


def _bend(g: _Layers, a: int, targets: list[int]) -> None:
    """Give the edges from ``a`` one shared bend in each layer they cross."""
    start = g.layer[a]
    shared = [a]
    for r in range(start + 1, max((g.layer[t] for t in targets), default=start)):
        bend = len(g.layer)
        g.layer.append(r)
        g.above.append([])
        g.below.append([])
        g.rows[r].append(bend)
        _link(g, shared[-1], bend)
        shared.append(bend)
    for t in targets:
        span = shared[: g.layer[t] - start]
        _link(g, span[-1], t)
        g.chains[a, t] = span[1:]


def _link(g: _Layers, a: int, b: int) -> None:
    g.below[a].append(b)
    g.above[b].append(a)


def _order(g: _Layers, kept: Mapping[int, float]) -> None:
    """Sort every row: as in the picture before, else so that few edges cross."""
    at = [0.0] * len(g.layer)
    if kept:
        _sow(g, kept, at)
        return
    _number(g, at)
    best, order = _crossings(g, at), [row[:] for row in g.rows]
    for sweep in range(SWEEPS):
        if not best:
            break
        _sweep(g, at, downwards=sweep % 2 == 0)
        if (found := _crossings(g, at)) < best:
            best, order = found, [row[:] for row in g.rows]
    g.rows = order


def _sow(g: _Layers, kept: Mapping[int, float], at: list[float]) -> None:
    """Sort rows by the earlier picture; what is new stands below the middle of what it reads."""
    for row in g.rows:
        for i, middle in zip(row, _middles(row, g.above, at), strict=True):
            at[i] = kept.get(i, middle)
        row.sort(key=at.__getitem__)


def _number(g: _Layers, at: list[float]) -> None:
    for row in g.rows:
        for k, i in enumerate(row):
            at[i] = k


def _sweep(g: _Layers, at: list[float], *, downwards: bool) -> None:
    rows, near = (g.rows, g.above) if downwards else (g.rows[::-1], g.below)
    for row in rows:
        middle = dict(zip(row, _middles(row, near, at), strict=True))
        row.sort(key=middle.__getitem__)
        for k, i in enumerate(row):
            at[i] = k


def _middles(row: list[int], near: list[list[int]], at: list[float]) -> list[float]:
    """Mean place of each vertex's neighbours, its own where it has none."""
    return [sum([at[j] for j in n]) / len(n) if (n := near[i]) else at[i] for i in row]


def _crossings(g: _Layers, at: list[float]) -> int:
    """Pairs of edges between neighbouring layers that cross."""
    total = 0
    for row in g.rows:
        ends: list[float] = []
        for i in row:
            total += _cross(ends, [at[j] for j in g.below[i]])
    return total


def _cross(ends: list[float], reached: list[float]) -> int:
    """Edges to ``reached`` that cross those to ``ends`` (sorted); adds them to ``ends``."""
    if not ends or min(reached, default=ends[-1]) >= ends[-1]:
        ends.extend(sorted(reached))
        return 0
    crossed = sum([len(ends) - bisect_right(ends, end) for end in reached])
    for end in reached:
        insort(ends, end)
    return crossed


def _pull(g: _Layers, widths: list[float], kept: Mapping[int, float]) -> list[float]:
    """Centres: what is ``kept`` stays at its x, the rest moves towards its neighbours."""
    x = [kept.get(i, 0.0) for i in range(len(widths))]
    if not kept:
        for row in g.rows:
            _settle(row, widths, x, [0.0] * len(row))
    for turn in range(PULLS):
        rows, near = (g.rows, g.above) if turn % 2 == 0 else (g.rows[::-1], g.below)
        for row in rows:
            middles = _middles(row, near, x)
            wants = [kept.get(i, m) for i, m in zip(row, middles, strict=True)] if kept else middles
            _settle(row, widths, x, wants)
    return x


def _settle(row: list[int], widths: list[float], x: list[float], wants: list[float]) -> None:
    """Put a row as near as possible (least squares) to where its nodes want to be, in order."""
    offsets: list[float] = []
    end = 0.0
    blocks: list[tuple[float, int]] = []
    for i, want in zip(row, wants, strict=True):
        offset = end + widths[i] / 2
        offsets.append(offset)
        end += widths[i]
        mean, size = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, count = blocks.pop()
            mean, size = (before * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    starts = [mean for mean, size in blocks for _ in range(size)]
    for i, offset, start in zip(row, offsets, starts, strict=True):
        x[i] = start + offset


def _finish(g: _Layers, x: list[float], heights: list[float]) -> Flat:
    tall = [max((heights[i] for i in row if i < len(heights)), default=0.0) for row in g.rows]
    tops = [0.0]
    for height, following in zip(tall, [*tall[1:], 0.0], strict=False):
        tops.append(tops[-1] + height + (LAYER_GAP if height and following else PORT_GAP))
    bends = {
        (g.names[a], g.names[b]): tuple(
            point
            for i in chain
            for r in (g.layer[i],)
            for point in ((x[i], tops[r]), (x[i], tops[r] + tall[r]))
        )
        for (a, b), chain in g.chains.items()
    }
    known = range(len(g.names))
    return Flat(
        {g.names[i]: x[i] for i in known},
        {g.names[i]: tops[g.layer[i]] for i in known},
        bends,
        tops[len(tall) - 1] + tall[-1] if tall else 0.0,
    )
