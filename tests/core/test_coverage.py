"""The proof that every write reaches every element once: it holds, and it notices what is wrong."""

from collections.abc import Callable
from dataclasses import replace

import pytest

import explorer.lang as tkl
import explorer.wave as tkw
from explorer.compiler import expr
from explorer.compiler.driver import Lowered, Options, lower
from explorer.compiler.errors import NotCovered
from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.index import AxisIndex, Index
from explorer.compiler.lang.targets import target
from explorer.compiler.ops.memory import Write
from explorer.compiler.passes.base import Context
from explorer.compiler.passes.prove_coverage import EXACT, prove_coverage
from explorer.compiler.trace.kernel import Kernel

M, N, BLOCK_M = tkl.sym.M, tkl.sym.N, tkl.sym.BLOCK_M
SPACE = tkl.GLOBAL_ADDRESS_SPACE
LONG = 8 * EXACT


@tkw.wave(
    [
        tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={M: 1, N: 128}),
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.ParallelTilingConstraint(N, 512),
        tkw.WaveConstraint(N, N / 2),
    ]
)
def double(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]) -> None:
    x = tkw.read(a)
    tkw.write(x + x, c)


@tkw.wave([tkw.HardwareConstraint(threads_per_wave=64), tkw.WorkgroupConstraint(M, BLOCK_M, 0)])
def row_maxima(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, SPACE, tkl.f32]) -> None:
    tkw.write(tkw.max(tkw.read(a), dim=N), c)


def lowered(size: int, kernel: Kernel = double) -> Lowered:
    bindings = {M: 12, N: size, BLOCK_M: 4}
    return lower(kernel, bindings, target("gfx942"), Options(), after="infer-indices")


def prove(made: Lowered) -> list[str]:
    context = Context(made.tiling, made.target)
    prove_coverage.body(made.graph, context)
    return context.notes


def spoil(made: Lowered, change: Callable[[AxisIndex], AxisIndex]) -> Node:
    """Change the index of the write along N."""
    node = next(n for n in made.graph.nodes if isinstance(n.op, Write))
    index = node.placed
    axes = tuple(change(a) if a.dim == "N" else a for a in index.axes)
    node.index = Index(axes, index.writers)
    return node


@pytest.mark.parametrize("size", [2, 100, 1000, 1024, LONG, LONG + 6])
def test_each_element_is_written_once(size: int) -> None:
    assert prove(lowered(size)) == [f"c: each of 12 x {size} elements is written once"]


@pytest.mark.parametrize("size", [1000, LONG])
def test_lanes_that_leave_a_gap_are_noticed(size: int) -> None:
    made = lowered(size)
    spoil(made, lambda a: AxisIndex(a.share, replace(a.dealt, lanes=a.dealt.lanes // 2)))
    with pytest.raises(NotCovered, match="along N") as caught:
        prove(made)
    assert caught.value.location is not None
    assert "tkw.write" in str(caught.value)


@pytest.mark.parametrize("size", [1000, LONG])
def test_missing_copies_are_noticed(size: int) -> None:
    made = lowered(size)
    spoil(made, lambda a: AxisIndex(replace(a.share, copies=1), a.dealt))
    with pytest.raises(NotCovered):
        prove(made)


def test_an_element_written_twice_is_noticed() -> None:
    made = lowered(1024)
    spoil(made, lambda a: AxisIndex(replace(a.share, origin=expr.of(0)), a.dealt))
    with pytest.raises(NotCovered, match="element 0 along N is written"):
        prove(made)


def test_several_writers_of_one_element_are_noticed() -> None:
    made = lowered(100, row_maxima)
    node = next(n for n in made.graph.nodes if isinstance(n.op, Write))
    assert prove(made)
    node.index = replace(node.placed, writers=())
    with pytest.raises(NotCovered, match="written by 64 lanes"):
        prove(made)
