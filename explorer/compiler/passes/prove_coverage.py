"""A check that every write reaches every element of its tensor once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from explorer.compiler import expr
from explorer.compiler.errors import NotCovered
from explorer.compiler.expr import Expr
from explorer.compiler.ir.graph import Node, TileGraph
from explorer.compiler.ir.index import AxisIndex
from explorer.compiler.lang.tiling import DimTiling, Tiling
from explorer.compiler.ops.control import Loop
from explorer.compiler.ops.memory import Write
from explorer.compiler.passes.base import Context, compiler_pass
from explorer.compiler.passes.facts import INDEXED
from explorer.compiler.passes.shares import Walks, places_in

EXACT = 1 << 16
"""Up to this many positions along a dim are counted one by one."""

Counts = NDArray[np.int64]


@compiler_pass(requires=(INDEXED,))
def prove_coverage(graph: TileGraph, context: Context) -> None:
    """Check for each write that every element of its tensor is written, and by one lane only.

    Along each dim the positions of all workgroups, steps, waves, copies, lanes and elements are
    counted, or, for long dims, checked to nest without gap or overlap. Of the lanes, waves and
    workgroups that hold the same element, one must be chosen.

        write(%x, %c) : 128 x 512, 64 lanes x 2 elements x 4 copies x 128 workgroups
        ->
        the same; each of the 65536 elements once
    """
    steps = {n.name: n.op.steps for n in graph.nodes if isinstance(n.op, Loop)}
    around = dict(places_in(graph.root, {}))
    for node in graph.nodes:
        if isinstance(node.op, Write):
            for axis in node.placed.axes:
                for dim in _samples(context.tiling[axis.dim]):
                    walked = steps.get(axis.share.loop or "") or expr.of(1)
                    sizes = {f"size_{dim.name}": dim.known}
                    _check_axis(node, axis, dim, expr.evaluate(walked, sizes))
            _check_lanes(node, context.tiling)
            _check_writers(node, context.tiling)
            sizes = " x ".join(str(context.tiling[d].extent) for d in node.dims)
            again = "".join(f", in each step of {name}" for name in _repeating(node, around[node]))
            context.note(f"{node.op.memory.name}: each of {sizes} elements is written once{again}")


def _repeating(node: Node, walks: Walks) -> list[str]:
    """Loops around a write that walk no dim of its own."""
    return [loop.name for dim, loop in walks.items() if dim not in node.dims]


def _samples(dim: DimTiling) -> Iterator[DimTiling]:
    """The dim; one whose size comes with a call, at sizes around its tiles' edges."""
    if dim.size is not None:
        yield dim
        return
    edge = max(dim.workgroup_tile or 1, dim.loop_tile or 1, dim.parallel_tile or 1, dim.quantum)
    for size in sorted({1, edge - 1, edge, edge + 1, 2 * edge + 1} - {0}):
        yield replace(dim, size=size)


def _check_axis(node: Node, axis: AxisIndex, dim: DimTiling, walked: int) -> None:
    total = dim.workgroups * walked * dim.waves * axis.copies * axis.dealt.lanes * axis.elements
    if total <= EXACT:
        times = np.bincount(_positions(axis, dim, walked), minlength=dim.known)
        wrong = np.flatnonzero(times != 1)
        if wrong.size:
            _fail(node, dim, int(wrong[0]), f"written {times[wrong[0]]} times")
    elif (gap := _gap(axis, dim, walked)) is not None:
        _fail(node, dim, dim.known - 1, gap)


def _positions(axis: AxisIndex, dim: DimTiling, steps: int) -> Counts:
    """All valid positions along a dim, repeats kept."""
    ranges = {
        f"workgroup_{dim.workgroup_dim}": dim.workgroups,
        f"step_{axis.share.loop}": steps,
        f"wave_{dim.name}": dim.waves,
        f"copy_{dim.name}": axis.copies,
        "lane": axis.dealt.lanes,
    }
    grid = np.indices((*ranges.values(), axis.elements), dtype=np.int64)
    env: dict[str, object] = dict(zip(ranges, grid, strict=False))
    env |= {"lane": grid[4] * axis.dealt.stride, f"size_{dim.name}": dim.known}
    offsets = np.array([axis.dealt.offset(e) for e in range(axis.elements)])[grid[5]]

    def value(e: Expr) -> Counts:
        return np.broadcast_to(np.asarray(expr.evaluate(e, env, np.minimum)), grid[0].shape)

    valid = value(axis.in_piece) + offsets < axis.share.piece
    if axis.share.limit is not None:
        valid &= value(axis.start) + offsets < value(axis.share.limit)
    return (value(axis.start) + offsets)[valid]


def _gap(axis: AxisIndex, dim: DimTiling, steps: int) -> str | None:
    """What keeps the parts of a dim from nesting; each part must fill the next larger one."""
    s, d = axis.share, axis.dealt
    walked = s.loop is not None
    own = dim.known if walked and s.extent * steps >= dim.known else dim.owned
    levels = [
        ("lanes and elements", d.lanes * d.elements, s.piece),
        ("pieces and waves", s.piece * s.per_stretch * dim.waves, s.stretch),
        ("copies", s.copies * s.stretch // s.per_stretch, s.extent),
        ("steps", s.extent * steps if walked else own, own),
        ("workgroups", dim.workgroups * dim.owned, dim.known),
    ]
    return next((f"{what} cover {has} of {want}" for what, has, want in levels if has < want), None)


def _check_lanes(node: Node, tiling: Tiling) -> None:
    """Each dim has bits of the lane number for itself, and the wave has all of them."""
    taken = 0
    for axis in node.placed.axes:
        bits = (axis.dealt.lanes - 1) * axis.dealt.stride
        if bits & taken or bits >= tiling.lanes:
            _fail(node, tiling[axis.dim], 0, "dealt to lanes that are not there or not free")
        taken |= bits


def _check_writers(node: Node, tiling: Tiling) -> None:
    """Among the holders of one element exactly one is chosen."""
    used = sum((a.dealt.lanes - 1) * a.dealt.stride for a in node.placed.axes)
    others = [d for d in tiling.dims if d.name not in node.dims]
    workgroups = {d.name: 2 if d.size is None and d.split else d.workgroups for d in others}
    choices = math.prod(d.waves * workgroups[d.name] for d in others)
    if choices > EXACT:
        return
    lanes = np.array([lane for lane in range(tiling.lanes) if lane & used == 0])
    chosen = 0
    for numbers in product(*(range(n) for d in others for n in (d.waves, workgroups[d.name]))):
        env: dict[str, object] = {"lane": lanes}
        for d, wave, workgroup in zip(others, numbers[::2], numbers[1::2], strict=True):
            env |= {f"wave_{d.name}": wave, f"workgroup_{d.workgroup_dim}": workgroup}
        mine = np.ones(lanes.shape, bool)
        for e in node.placed.writers:
            mine &= np.asarray(expr.evaluate(e, env, np.minimum)) == 0
        chosen += int(mine.sum())
    if chosen != 1:
        _fail(node, others[0] if others else tiling.dims[0], 0, f"written by {chosen} lanes")


def _fail(node: Node, dim: DimTiling, position: int, what: str) -> None:
    raise NotCovered(
        write=node.name, dim=dim.name, position=position, what=what, location=node.location
    )
