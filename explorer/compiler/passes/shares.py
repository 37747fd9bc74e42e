"""How a dim is shared out in a scope: its numbers in each of its roles.

The rules are in docs/split_expansion.md. A dim has one role in each place of a kernel: walked by a
loop the person wrote, walked by a generated loop, or unrolled.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.compiler import expr
from explorer.compiler.expr import Expr, Sym
from explorer.compiler.ir.graph import Node, Region
from explorer.compiler.ir.index import Share
from explorer.compiler.lang.tiling import DimTiling, ceil_div, round_up
from explorer.compiler.ops.control import Loop, ParallelLoop

ENDLESS = 1 << 62
"""More copies than anything unrolls: those of a dim whose size is not known yet."""

Walks = dict[str, Node]
"""The loop that walks each dim, for the dims that a loop around the place walks."""


def places_in(region: Region, walks: Walks) -> Iterator[tuple[Node, Walks]]:
    """All nodes here and inside, each with the loops that walk dims around it."""
    for node in region.nodes:
        yield node, walks
        if isinstance(node.op, Loop):
            yield from places_in(node.op.body, {**walks, node.op.axis: node})


def share(dim: DimTiling, walks: Walks) -> Share:
    """How ``dim`` is shared out where the loops ``walks`` are around."""
    match walks.get(dim.name):
        case None:
            return _unrolled(dim)
        case Node(op=ParallelLoop(step=int(step))) as node:
            origin = expr.add(_workgroup(dim), _walked(node, step))
            overruns = dim.unbounded or dim.owned % step != 0
            return _share(dim, origin, step, step, _limit(dim, overruns), node.name)
        case Node(op=Loop(step=int(step))) as node:
            limit = dim.extent if dim.size is None or dim.size % step else None
            return _share(dim, _walked(node, step), step, step, limit, node.name)
        case node:
            msg = f"{node} walks {dim.name} in steps that are not known yet"
            raise AssertionError(msg)


def copies(dim: DimTiling, walks: Walks) -> int:
    """Copies of a value along ``dim`` where the loops ``walks`` are around; ENDLESS if unknown."""
    return ENDLESS if dim.unbounded and dim.name not in walks else share(dim, walks).copies


def steps(dim: DimTiling, step: int) -> Expr:
    """Steps of a generated loop over what a workgroup owns."""
    return expr.ceil_div(dim.extent if dim.workgroup_tile is None else dim.workgroup_tile, step)


def _unrolled(dim: DimTiling) -> Share:
    extent = dim.owned if dim.size is None else min(dim.owned, dim.size)
    stretch = dim.loop_tile
    if stretch is None:
        stretch = round_up(extent, dim.quantum)
    return _share(dim, _workgroup(dim), stretch, extent, _limit(dim, extent % stretch != 0), None)


def _limit(dim: DimTiling, overruns: bool) -> Expr | None:
    """First position that is not the workgroup's, if its pieces reach there."""
    if dim.workgroup_tile is None:
        return dim.extent if overruns else None
    if overruns:
        return expr.minimum(dim.extent, expr.add(_workgroup(dim), dim.owned))
    return dim.extent if dim.size is None or dim.size % dim.owned else None


def _share(
    dim: DimTiling, origin: Expr, stretch: int, extent: int, limit: Expr | None, loop: str | None
) -> Share:
    part = stretch // dim.waves
    wave = expr.mul(Sym(f"wave_{dim.name}"), part) if dim.waves > 1 else expr.of(0)
    per_stretch = stretch // dim.quantum
    return Share(
        dim=dim.name,
        origin=expr.add(origin, wave),
        stretch=stretch,
        piece=dim.piece,
        per_stretch=per_stretch,
        copies=ceil_div(extent, stretch) * per_stretch,
        limit=limit,
        loop=loop,
        extent=extent,
    )


def _workgroup(dim: DimTiling) -> Expr:
    if not dim.split:
        return expr.of(0)
    return expr.mul(Sym(f"workgroup_{dim.workgroup_dim}"), dim.owned)


def _walked(node: Node, step: int) -> Expr:
    return expr.mul(Sym(f"step_{node.name}"), step)
