"""Mistakes with positions, permutations and reductions over several dims."""

import pytest

import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import M, N
from core.refusals import body_refused
from explorer.compiler import errors
from explorer.compiler.lang.dtypes import DType


@pytest.mark.parametrize("dims", [[N], [M, M], [M, N, N]])
def test_a_permutation_names_each_dim_once(dims: list[object]) -> None:
    error = body_refused(
        errors.PermuteDims, lambda a, c: tkw.write(tkw.permute(tkw.read(a), dims), c)
    )
    assert "name each of [M, N] once" in str(error)


@pytest.mark.parametrize(("dtype", "size"), [(tkl.i8, 129), (tkl.i1, 3), (tkl.f32, 3)])
def test_positions_fit_their_element_type(dtype: DType, size: int) -> None:
    body_refused(
        errors.PositionDoesNotFit,
        lambda a, c: tkw.write(tkw.read(a) * tkw.cast(tkw.self_index(N, dtype), tkl.f32), c),
        bindings={M: 4, N: size},
        dim="N",
        size=size,
    )


def test_a_reduction_needs_a_dim() -> None:
    body_refused(errors.NotADim, lambda a, c: tkw.write(tkw.sum(tkw.read(a), dim=[]), c))
    body_refused(errors.NotADim, lambda a, c: tkw.write(tkw.argmax(tkw.read(a), dim=1), c))
    body_refused(
        errors.NoSuchDim, lambda a, c: tkw.write(tkw.sum(tkw.read(a), dim=[N, N]), c), dim="N"
    )


def test_any_takes_conditions() -> None:
    body_refused(
        errors.WrongDType, lambda a, c: tkw.write(tkw.any(tkw.read(a), dim=N), c), op="any"
    )
