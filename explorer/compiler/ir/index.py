"""Which element of a tensor a wave, a lane and a copy hold: the index of a value.

Along one dim, the elements that a workgroup handles in a scope are walked in *stretches*. Each
stretch is shared out to the waves, a wave's share is cut into *pieces*, a piece is dealt out over
lanes, and each lane holds runs of neighbours::

    position = origin                        workgroup, loop step and wave
             + (copy // k) * stretch         k pieces of each stretch belong to one wave
             + (copy % k) * piece
             + (lane // lane_stride % lanes) * width
             + (element // width) * lanes * width + element % width
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from explorer.compiler import expr
from explorer.compiler.expr import Expr, Sym
from explorer.compiler.record import AxisView


@dataclass(frozen=True)
class Share:
    """How one dim is shared out in one scope, before lanes are known. All but counts in elements.

    Args:
        dim: its name.
        origin: where the workgroup's, loop step's and wave's part begins.
        stretch: what all waves handle in one round.
        piece: what one wave handles at once.
        per_stretch: pieces of one stretch that belong to one wave.
        copies: pieces one wave handles in the scope.
        limit: first position that is not the workgroup's; None when no position reaches it.
        loop: the loop that walks the dim here, if one does.
        extent: what the workgroup covers in the scope.
    """

    dim: str
    origin: Expr
    stretch: int
    piece: int
    per_stretch: int
    copies: int
    limit: Expr | None
    loop: str | None
    extent: int


@dataclass(frozen=True)
class Lanes:
    """How a piece along one dim is dealt out to the lanes of a wave."""

    lanes: int
    stride: int
    width: int
    repeats: int
    wave: int
    """Lanes of the whole wave."""

    @property
    def elements(self) -> int:
        """Elements of one lane."""
        return self.width * self.repeats

    def offset(self, element: int) -> int:
        """Distance of a lane's ``element`` from the lane's first one."""
        return element // self.width * self.lanes * self.width + element % self.width


@dataclass(frozen=True)
class AxisIndex:
    """The index of a value along one dim; ``copy`` is None while it stands for all copies."""

    share: Share
    dealt: Lanes
    copy: int | None = None

    @property
    def dim(self) -> str:
        """The dim's name."""
        return self.share.dim

    @property
    def elements(self) -> int:
        """Elements of one lane in one copy."""
        return self.dealt.elements

    @property
    def copies(self) -> int:
        """Copies this index stands for."""
        return self.share.copies if self.copy is None else 1

    def at(self, copy: int) -> AxisIndex:
        """The index of one copy; the same object at every call."""
        made = self._made
        if copy not in made:
            made[copy] = replace(self, copy=copy).without_idle_limit()
        return made[copy]

    def without_idle_limit(self) -> AxisIndex:
        """The same without its limit, if the piece provably ends before it."""
        match self.piece_start, self.share.limit:
            case expr.Int(start), expr.Int(limit) if start + self.share.piece <= limit:
                return replace(self, share=replace(self.share, limit=None))
            case _:
                return self

    @cached_property
    def _made(self) -> dict[int, AxisIndex]:
        return {}

    @cached_property
    def in_piece(self) -> Expr:
        """Offset of the lane's first element from the start of the piece."""
        d = self.dealt
        lane = expr.floordiv(Sym("lane"), d.stride)
        if d.lanes * d.stride < d.wave or d.lanes == 1:
            lane = expr.mod(lane, d.lanes)
        return expr.mul(lane, d.width)

    @cached_property
    def start(self) -> Expr:
        """Position of the lane's first element."""
        return expr.add(self.piece_start, self.in_piece)

    @cached_property
    def piece_start(self) -> Expr:
        """Position of the piece's first element."""
        return expr.add(self.share.origin, self._copy_offset)

    @cached_property
    def _copy_offset(self) -> Expr:
        s = self.share
        if s.copies == 1:
            return expr.of(0)
        copy = Sym(f"copy_{s.dim}") if self.copy is None else expr.of(self.copy)
        if s.per_stretch * s.piece == s.stretch:
            return expr.mul(copy, s.piece)
        return expr.add(
            expr.mul(expr.floordiv(copy, s.per_stretch), s.stretch),
            expr.mul(expr.mod(copy, s.per_stretch), s.piece),
        )

    @property
    def spills_over(self) -> bool:
        """Whether some lanes' elements lie beyond the piece, so that they are idle."""
        d = self.dealt
        return d.lanes * d.elements > self.share.piece

    @property
    def masked(self) -> bool:
        """Whether some elements are not to be touched."""
        return self.share.limit is not None or self.spills_over

    def neutral(self) -> AxisIndex:
        """The same lanes for a value whose elements are all valid, wherever they came from."""
        whole = self.dealt.lanes * self.elements
        made = Share(self.dim, expr.of(0), whole, whole, 1, 1, None, None, whole)
        return AxisIndex(made, self.dealt, 0)

    @cached_property
    def view(self) -> AxisView:
        """The index as shown to people."""
        d = self.dealt
        element = Sym(f"element_{self.dim}")
        offset = (
            expr.of(0)
            if d.elements == 1
            else expr.add(
                expr.mul(expr.floordiv(element, d.width), d.lanes * d.width),
                expr.mod(element, d.width),
            )
            if d.repeats > 1
            else element
        )
        return AxisView(expr.add(self.start, offset), d.elements, self.copies, self._shown_limit)

    @property
    def _shown_limit(self) -> Expr | None:
        """First position not to be touched: beyond the tensor, or held by an idle lane."""
        limit = self.share.limit
        if not self.spills_over:
            return limit
        end = expr.add(self.piece_start, self.share.piece)
        return end if limit is None else expr.minimum(end, limit)


@dataclass(frozen=True)
class Index:
    """The index of a value: one axis for each of its dims, in their order."""

    axes: tuple[AxisIndex, ...]
    writers: tuple[Expr, ...] = ()
    """Of the lanes, waves and workgroups that hold the same element, the one where all are 0."""

    def __getitem__(self, dim: str) -> AxisIndex:
        return next(a for a in self.axes if a.dim == dim)

    @property
    def elements(self) -> tuple[int, ...]:
        """Elements of one lane along each dim, in one copy."""
        return tuple(a.elements for a in self.axes)

    @property
    def copies(self) -> tuple[int, ...]:
        """Copies along each dim."""
        return tuple(a.copies for a in self.axes)

    def at(self, coordinates: tuple[int, ...]) -> Index:
        """The index of one copy; the same object at every call."""
        if coordinates not in self._made:
            axes = tuple(a.at(c) for a, c in zip(self.axes, coordinates, strict=True))
            self._made[coordinates] = replace(self, axes=axes)
        return self._made[coordinates]

    @cached_property
    def _made(self) -> dict[tuple[int, ...], Index]:
        return {}

    @cached_property
    def view(self) -> dict[str, AxisView]:
        """The index as shown to people, by dim."""
        return {a.dim: a.view for a in self.axes}

    def without(self, dim: str) -> Index:
        """The index with one dim taken out."""
        return replace(self, axes=tuple(a for a in self.axes if a.dim != dim))

    @property
    def masked(self) -> bool:
        """Whether some elements are not to be touched."""
        return any(a.masked for a in self.axes)
