"""The proof that every element of a written tensor is written once, and what it finds."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_N, SPACE, Case, M, N
from core.kernels import ZOO, case
from explorer.compiler import errors, expr
from explorer.compiler.driver import Lowered, Options, lower
from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.index import AxisIndex
from explorer.compiler.lang.targets import target
from explorer.compiler.ops.memory import Write
from explorer.compiler.passes.base import Context
from explorer.compiler.passes.prove_coverage import prove_coverage


def indexed(case: Case) -> Lowered:
    """The case's graph, just before the proof."""
    chosen = Options()
    return lower(case.kernel, case.bindings, target("gfx942"), chosen, after="infer-indices")


def prove(made: Lowered) -> list[str]:
    """The proof's notes."""
    context = Context(made.tiling, made.target)
    prove_coverage.body(made.graph, context)
    return context.notes


def the_write(made: Lowered) -> Node:
    """The only write of a graph."""
    (write,) = [n for n in made.graph.nodes if isinstance(n.op, Write)]
    return write


@pytest.mark.parametrize("name", ZOO)
def test_every_kernel_of_the_zoo_covers_its_output(name: str) -> None:
    (note,) = prove(indexed(case(name)))
    assert note.endswith("is written once")


@pytest.mark.parametrize("n", [1, 500, 100_000])
def test_one_of_several_waves_writes_a_row_sum(n: int) -> None:
    constraints = [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 64}),
        tkw.TilingConstraint(N, BLOCK_N),
        tkw.WaveConstraint(N, 64),
    ]

    @tkw.wave(constraints)
    def kernel(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, SPACE, tkl.f32]) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](0)])
        def total(partial: Any) -> Any:
            return tkw.sum(tkw.read(a), partial, dim=N)

        tkw.write(total, c)

    def unused(*_: Any) -> Any:
        raise AssertionError

    assert prove(indexed(Case(kernel, unused, {M: 4, N: n, BLOCK_N: 128})))


def spoil(write: Node, change: Callable[[AxisIndex], AxisIndex]) -> None:
    """Change the write's index along its last dim."""
    *axes, last = write.placed.axes
    write.index = replace(write.placed, axes=(*axes, change(last)))


SPOILED: dict[str, Callable[[AxisIndex], AxisIndex]] = {
    "a piece too few": lambda a: replace(a, share=replace(a.share, copies=a.share.copies - 1)),
    "pieces that overlap": lambda a: replace(a, share=replace(a.share, stretch=64)),
    "an early limit": lambda a: replace(a, share=replace(a.share, limit=expr.of(299))),
    "a late start": lambda a: replace(a, share=replace(a.share, origin=expr.of(1))),
    "half of the lanes": lambda a: replace(a, dealt=replace(a.dealt, lanes=a.dealt.lanes // 2)),
    "pieces too long": lambda a: replace(
        a, share=replace(a.share, piece=256), dealt=replace(a.dealt, repeats=2)
    ),
    "lanes that a wave lacks": lambda a: replace(a, dealt=replace(a.dealt, lanes=128, width=1)),
}


@pytest.mark.parametrize("change", SPOILED)
def test_an_element_missed_or_written_twice_is_found(change: str) -> None:
    made = indexed(case("row_max_add", m=3, n=300))
    spoil(the_write(made), SPOILED[change])
    with pytest.raises(errors.NotCovered) as raised:
        prove(made)
    assert raised.value.facts["dim"] == "N"
    assert raised.value.location is not None


def test_a_gap_in_a_long_row_is_found_without_counting() -> None:
    made = indexed(case("one_dim", m=1, n=10_000_000))
    assert prove(made)
    spoil(the_write(made), lambda a: replace(a, dealt=replace(a.dealt, lanes=32)))
    with pytest.raises(errors.NotCovered):
        prove(made)


def test_lanes_that_serve_two_dims_at_once_are_found() -> None:
    made = indexed(case("matmul", m=8, n=32))
    write = the_write(made)
    shared = write.placed.axes[0].dealt
    spoil(write, lambda a: replace(a, dealt=replace(a.dealt, stride=shared.stride)))
    with pytest.raises(errors.NotCovered):
        prove(made)


@pytest.mark.parametrize("writers", [(), (expr.of(1),)])
def test_several_writers_or_none_are_found(writers: tuple[expr.Expr, ...]) -> None:
    made = indexed(case("row_sum", m=3, n=300))
    write = the_write(made)
    write.index = replace(write.placed, writers=writers)
    with pytest.raises(errors.NotCovered, match="lanes"):
        prove(made)
