"""Constraints and bindings resolved to numbers: what every later step reads.

The rules are those of docs/split_expansion.md. In short, for a dim d with size n: ``loop_tile`` T
is a loop's step, ``parallel_tile`` P the step of a generated parallel loop, ``workgroup_tile`` B
what one workgroup owns, ``waves`` how many waves share d, ``piece`` what one wave handles at once.

The size of a dim may be unknown until the kernel is called. Then formulas use the symbol
``size_d``, and ``Tiling.at`` gives the tiling of one call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from explorer.compiler import expr
from explorer.compiler.errors import (
    BadWorkgroupDim,
    DuplicateConstraint,
    GridTooLarge,
    MissingFact,
    MissingHardware,
    NeedsSize,
    SharedWorkgroupDim,
    TileNotMultiple,
    TileNotNested,
    TooManyThreads,
    UnknownDim,
    UnusedWaves,
    WavesDisagree,
    WavesDoNotDivide,
)
from explorer.compiler.expr import Expr, Sym
from explorer.compiler.lang.bindings import Bound, number_of
from explorer.compiler.lang.constraints import (
    Constraint,
    DimConstraint,
    HardwareConstraint,
    ParallelTilingConstraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from explorer.compiler.lang.targets import Target

LARGEST_SIZE = 2**31 - 1
"""What a size that comes with a call may be at most, so that positions fit 32 bits."""


def ceil_div(a: int, b: int) -> int:
    """``a / b`` rounded up."""
    return -(-a // b)


def round_up(a: int, multiple: int) -> int:
    """The smallest multiple of ``multiple`` that is at least ``a``."""
    return ceil_div(a, multiple) * multiple


def power_of_two(a: int) -> int:
    """The smallest power of two that is at least ``a``."""
    return 1 << max(0, a - 1).bit_length()


@dataclass(frozen=True)
class DimTiling:
    """The numbers of one dim, in elements (``waves`` is a count)."""

    name: str
    size: int | None
    """None: known when the kernel is called."""
    loop_tile: int | None
    parallel_tile: int | None
    workgroup_tile: int | None
    """None: one workgroup owns the whole dim."""
    workgroup_dim: int | None
    waves: int
    piece: int

    @property
    def extent(self) -> Expr:
        """The size: a number, or a symbol until the kernel is called."""
        return Sym(f"size_{self.name}") if self.size is None else expr.of(self.size)

    @property
    def known(self) -> int:
        """The size of a dim that has one already.

        Raises:
            MissingFact: it is known when the kernel is called.
        """
        if self.size is None:
            raise MissingFact("size", self.name, "Tiling.at")
        return self.size

    @property
    def workgroup_count(self) -> Expr:
        """Workgroups along the dim, as a formula of its size."""
        if self.workgroup_tile is None:
            return expr.of(1)
        return expr.ceil_div(self.extent, self.workgroup_tile)

    @property
    def workgroups(self) -> int:
        """Workgroups along a dim of known size."""
        return 1 if self.workgroup_tile is None else ceil_div(self.known, self.workgroup_tile)

    @property
    def split(self) -> bool:
        """Whether several workgroups may share the dim."""
        return self.workgroup_tile is not None and (self.size is None or self.workgroups > 1)

    @property
    def owned(self) -> int:
        """Elements a workgroup owns: its tile or the whole dim."""
        return self.known if self.workgroup_tile is None else self.workgroup_tile

    @property
    def unbounded(self) -> bool:
        """Whether nobody knows yet how many elements a workgroup owns."""
        return self.size is None and self.workgroup_tile is None

    @property
    def quantum(self) -> int:
        """Elements that all waves handle at once; every tile is a multiple of it."""
        return self.waves * self.piece


@dataclass(frozen=True)
class Tiling:
    """All numbers of one compile. ``dims`` are those of the kernel's tensors."""

    dims: tuple[DimTiling, ...]
    lanes: int
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> DimTiling:
        return next(d for d in self.dims if d.name == name)

    @property
    def grid(self) -> tuple[int, int, int]:
        """Workgroups along the grid's dims 0, 1, 2."""
        counts = {d.workgroup_dim: d.workgroups for d in self.dims if d.workgroup_dim is not None}
        return (counts.get(0, 1), counts.get(1, 1), counts.get(2, 1))

    @property
    def dynamic(self) -> tuple[str, ...]:
        """Dims whose size is known when the kernel is called."""
        return tuple(d.name for d in self.dims if d.size is None)

    def at(self, sizes: Mapping[str, int]) -> Tiling:
        """The tiling of one call, all its sizes known."""
        return replace(
            self,
            dims=tuple(replace(d, size=sizes[d.name]) if d.size is None else d for d in self.dims),
        )

    @property
    def waves(self) -> int:
        """Waves of a workgroup."""
        return math.prod(d.waves for d in self.dims)

    def wave_stride(self, name: str) -> int:
        """Wave ``w`` of the workgroup has coordinate ``w // stride % waves`` along the dim."""
        order = sorted(self.dims, key=lambda d: 3 if d.workgroup_dim is None else d.workgroup_dim)
        before = [d.waves for d in order[: [d.name for d in order].index(name)]]
        return math.prod(before)


@dataclass(frozen=True)
class TensorShape:
    """Names of a parameter's dims and its element size, for choosing default pieces."""

    dims: tuple[str, ...]
    element_bytes: int


C = TypeVar("C", bound=DimConstraint)


def resolve(
    constraints: Sequence[Constraint], bound: Bound, tensors: Sequence[TensorShape], target: Target
) -> Tiling:
    """Turn constraints into numbers, checking that they fit together.

    Args:
        constraints: in any order.
        bound: checked bindings; a dim that has no number there has one when the kernel is called.
        tensors: the kernel's parameters.
        target: the machine, which decides lanes and limits.

    Raises:
        ExplorerError: one class for each way in which constraints can disagree.
    """
    dims = list(dict.fromkeys(d for t in tensors for d in t.dims))
    sizes = {d: bound.get(d) for d in dims}
    hardware = _hardware(constraints)
    reader = _Reader(constraints, bound, dims)
    workgroups = {c.dim.name: c for c in reader.all(WorkgroupConstraint)}
    _check_workgroup_dims(workgroups.values())
    lanes = hardware.threads_per_wave if hardware.threads_per_wave in target.lane_choices else 0
    notes: list[str] = []
    if not lanes:
        lanes = target.lanes
        notes.append(
            f"{target.name} has waves of {lanes} lane(s), not {hardware.threads_per_wave}: "
            "the pieces stay as they are, each lane holds another number of elements"
        )

    drafts = {d: _draft(d, size, reader, workgroups.get(d)) for d, size in sizes.items()}
    waves = _waves(drafts, reader, hardware, single=target.lanes == 1)
    pieces = _pieces(drafts, waves, hardware, bound, tensors, lanes * target.vector_bytes)
    made = [drafts[d].with_shares(waves[d], pieces[d]) for d in dims]
    for dim in made:
        _check_multiples(dim)
    tiling = Tiling(tuple(made), lanes, tuple(notes))
    _check_threads(tiling, target)
    if not tiling.dynamic:
        check_grid(tiling, target)
    return tiling


def _hardware(constraints: Sequence[Constraint]) -> HardwareConstraint:
    found = [c for c in constraints if isinstance(c, HardwareConstraint)]
    if len(found) != 1:
        raise MissingHardware(count=len(found))
    return found[0]


@dataclass(frozen=True)
class _Reader:
    """Looks up the one constraint of a kind for a dim and evaluates its tile."""

    constraints: Sequence[Constraint]
    bound: Bound
    dims: Sequence[str]

    def all(self, kind: type[C]) -> list[C]:
        found = [c for c in self.constraints if isinstance(c, kind)]
        seen: dict[str, C] = {}
        for c in found:
            if c.dim.name not in self.dims:
                raise UnknownDim(kind=kind.__name__, dim=c.dim, known=", ".join(self.dims))
            if (first := seen.get(c.dim.name)) is not None:
                raise DuplicateConstraint(
                    kind=kind.__name__, dim=c.dim, first=first.tile, second=c.tile
                )
            seen[c.dim.name] = c
        return found

    def tile(self, kind: type[DimConstraint], dim: str) -> int | None:
        for c in self.all(kind):
            if c.dim.name == dim:
                return number_of(c.tile, self.bound, f"the tile of {kind.__name__} for {dim}")
        return None


@dataclass(frozen=True)
class _Draft:
    """A ``DimTiling`` before waves and pieces are known."""

    name: str
    size: int | None
    loop_tile: int | None
    parallel_tile: int | None
    workgroup_tile: int | None
    workgroup_dim: int | None
    asked_workgroup_tile: int | None
    """As written: it may be larger than the dim."""

    @property
    def shared_tile(self) -> tuple[str, int | None, bool]:
        """What the waves share: its name, its elements, whether it is the whole dim."""
        if self.loop_tile is not None:
            return "the loop tile", self.loop_tile, False
        if self.asked_workgroup_tile is not None and self.asked_workgroup_tile != self.size:
            return "the workgroup tile", self.asked_workgroup_tile, False
        return "the dim", self.size, True

    def with_shares(self, waves: int, piece: int) -> DimTiling:
        """The whole tiling of the dim."""
        return DimTiling(
            self.name,
            self.size,
            self.loop_tile,
            self.parallel_tile,
            self.workgroup_tile,
            self.workgroup_dim,
            waves,
            piece,
        )

    def tiles(self) -> list[tuple[str, int]]:
        named = [
            ("the loop tile", self.loop_tile),
            ("the parallel tile", self.parallel_tile),
            ("the workgroup tile", self.workgroup_tile),
        ]
        return [(name, tile) for name, tile in named if tile is not None]


def _draft(
    dim: str, size: object, reader: _Reader, workgroup: WorkgroupConstraint | None
) -> _Draft:
    assert size is None or isinstance(size, int)
    whole = size is None and workgroup is not None and workgroup.tile is workgroup.dim
    tile = None if whole else reader.tile(WorkgroupConstraint, dim)
    return _Draft(
        name=dim,
        size=size,
        loop_tile=reader.tile(TilingConstraint, dim),
        parallel_tile=reader.tile(ParallelTilingConstraint, dim),
        # A workgroup tile that covers the dim is the whole dim.
        workgroup_tile=tile if tile is not None and (size is None or tile < size) else None,
        workgroup_dim=None if workgroup is None else workgroup.workgroup_dim,
        asked_workgroup_tile=tile,
    )


def _check_workgroup_dims(constraints: Iterable[WorkgroupConstraint]) -> None:
    taken: dict[int, str] = {}
    for c in constraints:
        if c.workgroup_dim not in (0, 1, 2):
            raise BadWorkgroupDim(dim=c.dim, axis=c.workgroup_dim)
        if (first := taken.get(c.workgroup_dim)) is not None:
            raise SharedWorkgroupDim(first=first, second=c.dim, axis=c.workgroup_dim)
        taken[c.workgroup_dim] = c.dim.name


# --- waves ----------------------------------------------------------------------------------------


def _waves(
    drafts: dict[str, _Draft], reader: _Reader, hardware: HardwareConstraint, *, single: bool
) -> dict[str, int]:
    """Waves along each dim. With ``single`` (a wave is one lane) they all become copies."""
    derived = {d: _derived_waves(draft, reader) for d, draft in drafts.items()}
    given = hardware.waves_per_block
    if given is not None:
        derived = _with_given_waves(drafts, derived, tuple(given))
    return {d: 1 if single else (n or 1) for d, n in derived.items()}


def _derived_waves(draft: _Draft, reader: _Reader) -> int | None:
    wave = reader.tile(WaveConstraint, draft.name)
    if wave is None:
        return None
    what, tile, whole = draft.shared_tile
    if tile is None:
        raise NeedsSize(
            what=f"the number of waves along {draft.name}",
            expression=f"{draft.name}/{wave}",
            name=draft.name,
        )
    if whole:
        return ceil_div(tile, wave)
    if tile % wave:
        near = [w for w in range(1, tile + 1) if tile % w == 0]
        raise WavesDoNotDivide(
            wave=wave, dim=draft.name, what=what, tile=tile, nearest=_nearest(wave, near)
        )
    return tile // wave


def _with_given_waves(
    drafts: dict[str, _Draft], derived: dict[str, int | None], given: tuple[int, ...]
) -> dict[str, int | None]:
    free = dict(enumerate(given))
    result = dict(derived)
    for d, draft in drafts.items():
        if draft.workgroup_dim is None:
            continue
        entry = free.pop(draft.workgroup_dim, 1)
        if derived[d] not in (None, entry):
            raise WavesDisagree(given=entry, dim=d, derived=derived[d])
        result[d] = entry
    for d, draft in drafts.items():
        count = derived[d]
        if draft.workgroup_dim is None and count is not None and count > 1:
            slot = next((axis for axis, n in free.items() if n == count), None)
            if slot is None:
                raise WavesDisagree(given=max(free.values(), default=1), dim=d, derived=count)
            free.pop(slot)
    if unused := [(axis, n) for axis, n in free.items() if n != 1]:
        raise UnusedWaves(axis=unused[0][0], count=unused[0][1])
    return result


# --- pieces ---------------------------------------------------------------------------------------


def _pieces(
    drafts: dict[str, _Draft],
    waves: dict[str, int],
    hardware: HardwareConstraint,
    bound: Bound,
    tensors: Sequence[TensorShape],
    wave_bytes: int,
) -> dict[str, int]:
    asked = {d.name: shape for d, shape in (hardware.vector_shapes or {}).items()}
    for name in asked:
        if name not in drafts:
            raise UnknownDim(kind="vector_shapes", dim=name, known=", ".join(drafts))
    return {
        d: _asked_piece(d, asked[d], bound)
        if d in asked
        else _default_piece(drafts[d], waves[d], tensors, wave_bytes)
        for d in drafts
    }


def _asked_piece(dim: str, shape: object, bound: Bound) -> int:
    if isinstance(shape, int) and shape == 0:
        return 1
    return number_of(shape, bound, f"the vector shape of {dim}")  # pyright: ignore[reportArgumentType]


def _default_piece(
    draft: _Draft, waves: int, tensors: Sequence[TensorShape], wave_bytes: int
) -> int:
    """All lanes' widest access along the fastest dim of the largest tensor, 1 along the others."""
    home = max((t for t in tensors if draft.name in t.dims), key=lambda t: len(t.dims))
    if home.dims[-1] != draft.name:
        return 1
    widest = wave_bytes // max(t.element_bytes for t in tensors if draft.name in t.dims)
    if tiles := draft.tiles():
        share = math.gcd(*(tile for _, tile in tiles)) // waves or 1
        return max(p for p in range(1, min(widest, share) + 1) if share % p == 0)
    return widest if draft.size is None else min(widest, power_of_two(ceil_div(draft.size, waves)))


# --- checks ---------------------------------------------------------------------------------------


def _nearest(wanted: int, legal: Iterable[int]) -> str:
    """The legal values on both sides of ``wanted``, as text."""
    below = [v for v in legal if v <= wanted]
    above = [v for v in legal if v > wanted]
    return " and ".join(str(v) for v in [*below[-1:], *above[:1]])


def _check_multiples(dim: DimTiling) -> None:
    quantum = dim.quantum
    for what, tile in (
        ("the loop tile", dim.loop_tile),
        ("the parallel tile", dim.parallel_tile),
        ("the workgroup tile", dim.workgroup_tile),
    ):
        if tile is not None and tile % quantum:
            near = [n for n in (tile // quantum * quantum, round_up(tile, quantum)) if n]
            raise TileNotMultiple(
                what=what,
                tile=tile,
                dim=dim.name,
                waves=dim.waves,
                piece=dim.piece,
                nearest=" and ".join(map(str, near)),
            )
    inner, name = (
        (dim.parallel_tile, "the parallel tile")
        if dim.parallel_tile is not None
        else (dim.loop_tile, "the loop tile")
    )
    outer = dim.workgroup_tile
    if outer is not None and inner is not None and outer % inner:
        near = [n for n in (outer // inner * inner, round_up(outer, inner)) if n]
        raise TileNotNested(
            outer=outer,
            dim=dim.name,
            what=name,
            inner=inner,
            nearest=" and ".join(map(str, near)),
        )


def check_grid(tiling: Tiling, target: Target) -> None:
    """Check the grid of a tiling whose sizes are known.

    Raises:
        GridTooLarge: the target launches no such grid.
    """
    for dim in tiling.dims:
        if dim.workgroup_dim is not None:
            limit = target.grid_limits[dim.workgroup_dim]
            if dim.workgroups > limit:
                raise GridTooLarge(
                    count=dim.workgroups,
                    axis=dim.workgroup_dim,
                    target=target.name,
                    limit=limit,
                    dim=dim.name,
                )


def _check_threads(tiling: Tiling, target: Target) -> None:
    threads = tiling.waves * tiling.lanes
    if threads > target.max_threads:
        raise TooManyThreads(
            waves=tiling.waves,
            lanes=tiling.lanes,
            threads=threads,
            target=target.name,
            limit=target.max_threads,
        )
