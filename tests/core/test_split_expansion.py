"""One dim in two roles: how many copies of each node stand in a loop and outside of it."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_M, BLOCK_N, SPACE, M, N, rows
from core.kernels import ADDRESS_SPACE, ELEMS_PER_THREAD, case, issue_kernel
from explorer.compiler import expr
from explorer.compiler.driver import Lowered, Options, lower
from explorer.compiler.errors import TileNotMultiple, TooManyCopies
from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.index import Share
from explorer.compiler.lang.bindings import Bindings
from explorer.compiler.lang.constraints import Constraint
from explorer.compiler.lang.targets import target as target_row
from explorer.compiler.lang.tiling import DimTiling, TensorShape, Tiling, ceil_div, resolve
from explorer.compiler.ops.control import Iterate, ParallelLoop
from explorer.compiler.passes.shares import share, steps
from explorer.compiler.record import NodeView, Snapshot
from explorer.compiler.trace.kernel import Kernel
from explorer.compiling import emit

WAVES, PIECE, PARALLEL = tkl.sym.W, tkl.sym.V, tkl.sym.P
SIZES = {M: 128, N: 512, BLOCK_M: 1, BLOCK_N: 128, ELEMS_PER_THREAD: 2, ADDRESS_SPACE: SPACE}


def lowered(kernel: Kernel, bindings: Bindings, target: str = "gfx942", **options: Any) -> Lowered:
    """The kernel after all passes."""
    return lower(kernel, bindings, target_row(target), Options.of(options))


def expanded(
    kernel: Kernel, bindings: Bindings, target: str = "gfx942", **options: Any
) -> Snapshot:
    """The kernel with one node for each piece."""
    return lowered(kernel, bindings, target, **options).recording["expand"].after


def copies(snapshot: Snapshot, op: str, region: str = "root") -> list[tuple[int, ...]]:
    """Coordinates of the copies of an op in a region, in program order."""
    return [tuple(n.copy.values()) for n in snapshot.find(op=op, region=region)]


def grid(*counts: int) -> list[tuple[int, ...]]:
    """All coordinates below ``counts``."""
    return list(itertools.product(*map(range, counts)))


def loop_steps(snapshot: Snapshot) -> dict[str, int | None]:
    """Steps of each loop by name."""
    return {r.name: r.steps for r in snapshot.regions if r.name != "root"}


def row_kernel(constraints: Sequence[Constraint]) -> Kernel:
    """A row maximum in a loop over N, and the row minus it outside."""

    @tkw.wave(constraints)
    def kernel(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](0)])
        def top(partial: tkl.Register[M, tkl.f32]) -> tkl.Register[M, tkl.f32]:
            return tkw.max(tkw.read(a), partial, dim=N)

        tkw.write(tkw.read(a) - top, c)

    return kernel


def copied(constraints: Sequence[Constraint]) -> Kernel:
    """A copy of a[M, N]: N is parallel only."""

    @tkw.wave(constraints)
    def kernel(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]) -> None:
        tkw.write(tkw.read(a), c)

    return kernel


def waves_along_n(*more: Constraint, loop: bool = True) -> list[Constraint]:
    """One row a workgroup, pieces of V along N, waves of W."""
    tiled = [tkw.TilingConstraint(N, BLOCK_N)] if loop else []
    return [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: PIECE}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WaveConstraint(N, WAVES),
        *tiled,
        *more,
    ]


# --- the issue's kernel ---------------------------------------------------------------------------


def test_the_issues_kernel_has_one_piece_in_the_loop_and_four_after_it() -> None:
    snapshot = expanded(issue_kernel(rows()), SIZES)
    assert loop_steps(snapshot) == {"repeat": 4}
    assert copies(snapshot, "read", "repeat") == grid(1, 1)
    assert copies(snapshot, "max", "repeat") == grid(1)
    assert copies(snapshot, "result") == grid(1)
    assert copies(snapshot, "read") == grid(1, 4)
    assert copies(snapshot, "add") == grid(1, 4)
    assert copies(snapshot, "write") == grid(1, 4)


def test_all_additions_read_the_one_loop_result() -> None:
    snapshot = expanded(issue_kernel(rows()), SIZES)
    (result,) = snapshot.find(op="result")
    additions = snapshot.find(op="add")
    assert {n.operands[1] for n in additions} == {result.name}
    assert [snapshot.node(n.operands[0]).copy for n in additions] == [n.copy for n in additions]


def test_a_narrow_write_becomes_scalar_stores() -> None:
    made, module = emit(lowered(issue_kernel(rows()), SIZES), Options())
    assert {n.attrs["width"] for n in made.recording["emit"].after.find(op="write")} == {"1"}
    stores = [line for line in module.text.splitlines() if "vector.store" in line]
    assert len(stores) == 4 * 2
    assert all("vector<1xf32>" in line for line in stores)


def test_two_rows_a_workgroup_double_every_count_along_m() -> None:
    snapshot = expanded(issue_kernel(rows()), {**SIZES, BLOCK_M: 2})
    assert copies(snapshot, "read", "repeat") == grid(2, 1)
    assert copies(snapshot, "max", "repeat") == grid(2)
    assert copies(snapshot, "add") == grid(2, 4)
    for addition in snapshot.find(op="add"):
        assert snapshot.node(addition.operands[1]).copy == {"M": addition.copy["M"]}


def test_a_parallel_tile_makes_the_tail_a_loop() -> None:
    snapshot = expanded(issue_kernel([*rows(), tkw.ParallelTilingConstraint(N, 256)]), SIZES)
    assert loop_steps(snapshot) == {"repeat": 4, "over_N": 2}
    for op in ("read", "add", "write"):
        assert copies(snapshot, op, "over_N") == grid(1, 2)
    assert copies(snapshot, "read", "repeat") == grid(1, 1)


def test_the_last_piece_is_masked_in_both_roles() -> None:
    snapshot = expanded(issue_kernel(rows()), {**SIZES, N: 500})
    assert limits(snapshot.find(op="read", region="repeat")) == ["500"]
    assert limits(snapshot.find(op="read", region="root")) == [None, None, None, "500"]
    assert limits(snapshot.find(op="write")) == [None, None, None, "500"]


def limits(nodes: Sequence[NodeView]) -> list[str | None]:
    """Where each node's elements end along N, if some lie beyond."""
    return [None if (limit := axis(n, "N").limit) is None else str(limit) for n in nodes]


def axis(node: NodeView, dim: str) -> Any:
    """The node's index along a dim."""
    assert node.index is not None
    return node.index[dim]


def test_on_32_lanes_each_lane_holds_two_strides_of_two() -> None:
    snapshot = expanded(issue_kernel(rows()), SIZES, "sm_90")
    (read,) = snapshot.find(op="read", region="repeat")
    assert axis(read, "N").elements == 4
    assert lane_positions(read, "N", 4, lane=0, step_repeat=0) == [0, 1, 64, 65]
    assert lane_positions(read, "N", 4, lane=31, step_repeat=1) == [190, 191, 254, 255]


def lane_positions(node: NodeView, dim: str, elements: int, **env: int) -> list[int]:
    """Positions of a lane's elements along a dim."""
    formula = axis(node, dim).position
    return [expr.evaluate(formula, {**env, f"element_{dim}": e}) for e in range(elements)]


def test_the_worked_numbers_hold_for_the_public_compile_too() -> None:
    import explorer

    recording = explorer.compile(issue_kernel(rows()), SIZES, target="cpu").recording
    snapshot = recording["expand"].after
    assert copies(snapshot, "read", "repeat") == grid(1, 1)
    assert copies(snapshot, "add") == grid(1, 4)


# --- waves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "parallel"), [(1100, 10), (100, 2)])
def test_two_waves_along_n(n: int, parallel: int) -> None:
    bindings = {M: 4, N: n, BLOCK_N: 256, WAVES: 128, PIECE: 64}
    snapshot = expanded(row_kernel(waves_along_n()), bindings)
    assert copies(snapshot, "read", "top") == grid(1, 2)
    assert copies(snapshot, "write") == grid(1, parallel)


def test_on_the_cpu_waves_become_copies() -> None:
    bindings = {M: 4, N: 1000, BLOCK_N: 256, WAVES: 128, PIECE: 64}
    snapshot = expanded(row_kernel(waves_along_n()), bindings, "cpu")
    assert copies(snapshot, "read", "top") == grid(1, 4)
    assert copies(snapshot, "write") == grid(1, 16)


def test_waves_share_a_whole_dim_rounded_up() -> None:
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64}),
        tkw.WorkgroupConstraint(M, 1, 1),
        tkw.WaveConstraint(N, N / 4),
    ]
    snapshot = expanded(copied(constraints), {M: 4, N: 1000})
    assert copies(snapshot, "write") == grid(1, 4)


def test_the_two_roles_have_tiles_of_their_own() -> None:
    constraints = waves_along_n(tkw.ParallelTilingConstraint(N, PARALLEL))
    bindings = {M: 4, N: 1000, BLOCK_N: 64, WAVES: 32, PIECE: 32, PARALLEL: 192}
    snapshot = expanded(row_kernel(constraints), bindings)
    assert loop_steps(snapshot) == {"top": 16, "over_N": 6}
    assert copies(snapshot, "write", "over_N") == grid(1, 3)


def test_a_parallel_tile_that_the_waves_cannot_share_is_refused() -> None:
    constraints = waves_along_n(tkw.ParallelTilingConstraint(N, PARALLEL))
    bindings = {M: 4, N: 1000, BLOCK_N: 256, WAVES: 128, PIECE: 64, PARALLEL: 192}
    with pytest.raises(TileNotMultiple) as raised:
        expanded(row_kernel(constraints), bindings)
    assert raised.value.facts["tile"] == 192
    assert raised.value.advice == "the nearest legal values are 128 and 256"


@pytest.mark.parametrize("tile", [128, 256])
def test_the_values_offered_are_legal(tile: int) -> None:
    constraints = waves_along_n(tkw.ParallelTilingConstraint(N, PARALLEL))
    bindings = {M: 4, N: 1000, BLOCK_N: 256, WAVES: 128, PIECE: 64, PARALLEL: tile}
    snapshot = expanded(row_kernel(constraints), bindings)
    assert copies(snapshot, "write", "over_N") == grid(1, tile // 128)


# --- lanes ----------------------------------------------------------------------------------------


def pieces(shapes: dict[sympy.Symbol, Any]) -> Kernel:
    """A copy in pieces of ``shapes``."""
    return copied([tkw.HardwareConstraint(threads_per_wave=64, vector_shapes=shapes)])


def test_a_square_piece_uses_a_lane_an_element() -> None:
    snapshot = expanded(pieces({M: 8, N: 8}), {M: 24, N: 19})
    assert copies(snapshot, "write") == grid(3, 3)
    write = snapshot.find(op="write")[0]
    assert (axis(write, "M").elements, axis(write, "N").elements) == (1, 1)


def test_a_tall_piece_gives_lanes_several_rows() -> None:
    snapshot = expanded(pieces({M: M, N: 1}), {M: 128, N: 3})
    write = snapshot.find(op="write")[0]
    assert axis(write, "M").elements == 2
    assert copies(snapshot, "write") == grid(1, 3)


@pytest.mark.parametrize(
    ("dtype", "n", "piece"),
    [(tkl.f32, 10000, 256), (tkl.f16, 10000, 512), (tkl.f32, 100, 128), (tkl.f32, 1, 1)],
)
def test_left_out_pieces_are_as_wide_as_the_lanes_widest_accesses(
    dtype: Any, n: int, piece: int
) -> None:
    tiling = resolve(
        [tkw.HardwareConstraint(threads_per_wave=64)],
        {"M": 7, "N": n},
        [TensorShape(("M", "N"), dtype.bytes)],
        target_row("gfx942"),
    )
    assert (tiling["M"].piece, tiling["N"].piece) == (1, piece)


# --- too many copies ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "loops"), [(16 * 128, {}), (16 * 128 + 1, {"over_N": 17})])
def test_more_copies_than_the_limit_make_a_loop(n: int, loops: dict[str, int]) -> None:
    made = lowered(issue_kernel(rows()), {**SIZES, N: n})
    snapshot = made.recording["expand"].after
    assert loop_steps(snapshot) == {"repeat": ceil_div(n, 128), **loops}
    assert all("unroll_limit=16" in note for note in made.recording["form-parallel-loops"].notes)
    assert len(made.recording["form-parallel-loops"].notes) == len(loops)


def test_the_limit_is_an_option() -> None:
    kernel = issue_kernel(rows())
    assert loop_steps(expanded(kernel, SIZES, unroll_limit=4)) == {"repeat": 4}
    assert loop_steps(expanded(kernel, SIZES, unroll_limit=3)) == {"repeat": 4, "over_N": 4}


def test_the_dim_with_most_copies_is_looped() -> None:
    snapshot = expanded(pieces({M: 1, N: 64}), {M: 4, N: 640}, unroll_limit=8)
    assert {r.axis for r in snapshot.regions} == {None, "N"}
    assert len(snapshot.find(op="write")) <= 8


def test_both_dims_are_looped_where_one_is_not_enough() -> None:
    snapshot = expanded(pieces({M: 1, N: 64}), {M: 40, N: 6400}, unroll_limit=2)
    assert {r.axis for r in snapshot.regions} == {None, "M", "N"}
    assert len(snapshot.find(op="write")) <= 2


def test_copies_that_no_loop_can_avoid_are_refused() -> None:
    small = case("nested_loops", m=2, n=100)
    with pytest.raises(TooManyCopies) as raised:
        expanded(small.kernel, small.bindings, unroll_limit=1)
    assert raised.value.facts["copies"] == 2
    assert "unroll_limit" in raised.value.advice


def test_a_reduction_ends_a_generated_loop() -> None:
    softmax = case("naive_softmax", m=2, n=1000).bound({BLOCK_N: 128})
    snapshot = expanded(softmax.kernel, softmax.bindings, unroll_limit=4)
    loops = [r for r in snapshot.regions if r.axis == "N"]
    assert [len(r.yields) for r in loops] == [1, 1, 0]
    ends = [snapshot.find(region=r.name)[-1].op for r in loops]
    assert ends == ["max", "sum", "write"]


def test_what_two_groups_need_is_computed_in_both() -> None:
    softmax = case("naive_softmax", m=2, n=1000).bound({BLOCK_N: 128})
    snapshot = expanded(softmax.kernel, softmax.bindings, unroll_limit=4)
    loops = [r.name for r in snapshot.regions if r.axis == "N"]
    reads = [len(copies(snapshot, "read", name)) for name in loops]
    exponentials = [len(copies(snapshot, "exp2", name)) for name in loops]
    assert min(reads) > 0
    assert [n > 0 for n in exponentials] == [False, True, True]


def test_values_without_the_dim_stay_outside() -> None:
    made = case("rms_norm", m=2, n=1000)
    snapshot = expanded(made.kernel, made.bindings, unroll_limit=4)
    (rsqrt,) = snapshot.find(op="rsqrt")
    assert rsqrt.region == "root"


def test_a_value_used_inside_a_loop_is_computed_again_there() -> None:
    @tkw.wave(rows())
    def kernel(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]) -> None:
        doubled = tkw.read(a) * 2

        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](0)])
        def total(partial: tkl.Register[M, tkl.f32]) -> tkl.Register[M, tkl.f32]:
            return tkw.sum(doubled, partial, dim=N)

        tkw.write(doubled - total, c)

    made = lowered(kernel, {M: 4, N: 512, BLOCK_M: 1, BLOCK_N: 128})
    snapshot = made.recording["expand"].after
    assert copies(snapshot, "mul", "total") == grid(1, 1)
    assert copies(snapshot, "mul") == grid(1, 4)
    (note,) = made.recording["recompute-in-loops"].notes
    assert "again inside the loop over N" in note


# --- the order of constraints ---------------------------------------------------------------------


def test_the_order_of_constraints_never_matters() -> None:
    constraints = [*rows(), tkw.ParallelTilingConstraint(N, 256)]
    bound = {"M": 6, "N": 500, "BLOCK_M": 2, "BLOCK_N": 128}
    tensors = [TensorShape(("M", "N"), 4)]

    def tiling(order: Sequence[Constraint]) -> Tiling:
        return resolve(order, dict(bound), tensors, target_row("gfx942"))

    expected = tiling(constraints)
    orders = itertools.islice(itertools.permutations(constraints), 0, None, 53)
    assert all(tiling(order) == expected for order in orders)


def test_the_graph_does_not_depend_on_the_order_either() -> None:
    forward, backward = (
        expanded(issue_kernel(order), SIZES) for order in (rows(), list(reversed(rows())))
    )
    assert str(forward) == str(backward)


# --- the rule itself ------------------------------------------------------------------------------


@st.composite
def dim_tilings(draw: st.DrawFn) -> DimTiling:
    """Any legal tiling of a dim."""
    waves, piece = draw(st.integers(1, 4)), draw(st.sampled_from([1, 2, 3, 8, 64]))
    quantum = waves * piece
    loop = draw(st.none() | st.integers(1, 5).map(lambda k: k * quantum))
    parallel = draw(st.none() | st.integers(1, 5).map(lambda k: k * quantum))
    inner = parallel or loop or quantum
    owned = draw(st.none() | st.integers(1, 3).map(lambda k: k * inner))
    size = draw(st.integers(1, 6 * quantum + 7))
    assume(owned is None or (owned < size and owned % quantum == 0))
    assume(owned is None or loop is None or parallel is not None or owned % loop == 0)
    return DimTiling("N", size, loop, parallel, owned, None if owned is None else 0, waves, piece)


def covered(dim: DimTiling, found: Share, workgroup: int, loop_steps: int) -> list[int]:
    """Positions that the waves of a workgroup handle, masked ones left out."""
    positions: list[int] = []
    for step, wave, copy in itertools.product(
        range(loop_steps), range(dim.waves), range(found.copies)
    ):
        env = {"workgroup_0": workgroup, "wave_N": wave, "step_loop": step}
        start = expr.evaluate(found.origin, env)
        start += copy // found.per_stretch * found.stretch + copy % found.per_stretch * found.piece
        limit = np.inf if found.limit is None else expr.evaluate(found.limit, env)
        positions += [p for p in range(start, start + found.piece) if p < limit]
    return positions


@settings(max_examples=60, deadline=None)
@given(dim_tilings())
def test_unrolled_every_element_is_covered_once(dim: DimTiling) -> None:
    found = share(dim, {})
    every = [p for w in range(dim.workgroups) for p in covered(dim, found, w, 1)]
    assert sorted(every) == list(range(dim.size))


@settings(max_examples=60, deadline=None)
@given(dim_tilings())
def test_a_generated_loop_covers_every_element_once(dim: DimTiling) -> None:
    assume(dim.parallel_tile is not None)
    step = dim.parallel_tile or 0
    loop = Node("loop", ParallelLoop("N", (), None, step, steps(dim, step)))  # pyright: ignore
    found = share(dim, {"N": loop})
    count = expr.evaluate(steps(dim, step), {})
    every = [p for w in range(dim.workgroups) for p in covered(dim, found, w, count)]
    assert sorted(every) == list(range(dim.size))


@settings(max_examples=60, deadline=None)
@given(dim_tilings())
def test_a_loop_covers_the_whole_dim_in_every_workgroup(dim: DimTiling) -> None:
    assume(dim.loop_tile is not None)
    step = dim.loop_tile or 0
    count = ceil_div(dim.known, step)
    loop = Node("loop", Iterate("N", (), None, step, expr.of(count)))  # pyright: ignore
    found = share(dim, {"N": loop})
    for workgroup in range(dim.workgroups):
        assert sorted(covered(dim, found, workgroup, count)) == list(range(dim.size))
