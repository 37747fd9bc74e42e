"""What all mistakes share, and those made when a kernel is called.

Annotations are evaluated when a kernel is defined, so this file does not postpone them.
"""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
import torch

import explorer
import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import BLOCK_N, M, N
from core.refusals import (
    F32,
    HARDWARE,
    SIZES,
    copied,
    looped,
    lowered,
    refused,
)
from explorer.compiler import errors
from explorer.compiler.errors import ExplorerError, InternalError, MissingFact
from explorer.compiler.ir.graph import Node
from explorer.compiler.lang.targets import UnknownTarget
from explorer.compiler.ops.control import Carried

# --- calling --------------------------------------------------------------------------------------


def test_an_unknown_option() -> None:
    k = copied([HARDWARE])
    error = refused(
        errors.UnknownOption, lambda: explorer.compile(k, SIZES, unrol_limit=3), name="unrol_limit"
    )
    assert "did you mean unroll_limit?" in str(error)


@pytest.mark.parametrize(
    "options", [{"unroll_limit": 0}, {"unroll_limit": 2.5}, {"fast_math": "no"}]
)
def test_an_option_of_the_wrong_kind(options: dict[str, Any]) -> None:
    (name,) = options
    k = copied([HARDWARE])
    refused(errors.BadOption, lambda: explorer.compile(k, SIZES, **options), name=name)


def test_a_benchmark_without_runs() -> None:
    x = np.zeros((4, 100), np.float32)
    k = explorer.compile(copied([HARDWARE]), SIZES)
    refused(errors.BadOption, lambda: k.benchmark(x, x.copy(), repeats=0), name="repeats")


def test_an_output_whose_elements_share_memory() -> None:
    x = np.zeros((4, 100), np.float32)
    shared = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4, 100), (0, 0))
    k = explorer.compile(copied([HARDWARE]), SIZES)
    error = refused(errors.WrongArgument, lambda: k(x, shared))
    assert "share memory" in str(error)


def test_an_unknown_pass() -> None:
    k = copied([HARDWARE])
    x = np.zeros((4, 100), np.float32)
    error = refused(
        errors.UnknownPass, lambda: explorer.interpret(k, SIZES, x, x.copy(), after="expnd")
    )
    assert "did you mean expand?" in str(error)


def test_an_unknown_target() -> None:
    k = copied([HARDWARE])
    error = refused(UnknownTarget, lambda: explorer.compile(k, SIZES, target="gfx943"))
    assert "gfx942" in str(error)


GOOD = np.zeros((4, 100), np.float32)


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ((GOOD,), "list"),
        ((GOOD, GOOD.copy(), GOOD.copy()), "list"),
        ((GOOD, np.zeros((4, 99), np.float32)), "c"),
        ((np.zeros(400, np.float32), GOOD), "a"),
        ((GOOD.T, GOOD), "a"),
        ((GOOD.astype(np.float64), GOOD), "a"),
        ((torch.zeros(4, 100, dtype=torch.float16), GOOD), "a"),
        ((torch.zeros(4, 100, device="meta"), GOOD), "a"),
        ((GOOD.tolist(), GOOD), "a"),
        ((GOOD, None), "c"),
        ((GOOD, 3), "c"),
    ],
)
def test_arguments_of_the_wrong_kind(wrong: tuple[Any, ...], name: str) -> None:
    k = copied([HARDWARE])
    refused(errors.WrongArgument, lambda: explorer.interpret(k, SIZES, *wrong), name=name)


def test_an_output_that_cannot_be_written() -> None:
    frozen = GOOD.copy()
    frozen.flags.writeable = False
    k = copied([HARDWARE])
    refused(errors.WrongArgument, lambda: explorer.interpret(k, SIZES, frozen))


@pytest.mark.parametrize("second", [GOOD, GOOD[:], GOOD.reshape(-1).reshape(4, 100)])
def test_arguments_that_overlap(second: Any) -> None:
    k = copied([HARDWARE])
    refused(
        errors.ArgumentsOverlap, lambda: explorer.interpret(k, SIZES, GOOD, second), written="c"
    )


# --- what all errors share ------------------------------------------------------------------------


def test_settings_are_checked_without_compiling() -> None:
    k = looped([HARDWARE, tkw.TilingConstraint(N, BLOCK_N)])
    assert explorer.check(k, {**SIZES, BLOCK_N: 128}) == ()
    (problem,) = explorer.check(k, {**SIZES, BLOCK_N: 80}, "gfx942")
    assert problem.kind == "TileNotMultiple"
    assert problem.advice == "the nearest legal values are 64 and 128"
    assert str(problem).endswith(problem.advice)


def test_a_kernel_without_source_shows_its_place_alone() -> None:
    made: dict[str, Any] = {"tkw": tkw, "F32": F32, "HARDWARE": HARDWARE}
    text = (
        "@tkw.wave([HARDWARE])\ndef kernel(a: F32, c: F32):\n    tkw.write(tkw.read(a) + 'x', c)\n"
    )
    exec(compile(text, "<no text>", "exec"), made)
    assert made["kernel"].source is None
    error = refused(errors.NotAValue, lambda: lowered(made["kernel"]))
    assert error.location is not None
    assert (error.location.file, error.location.line) == ("<no text>", 3)
    assert "<no text>:3:" in str(error)
    assert "^" not in str(error)


def test_asking_too_early_names_the_pass_to_run() -> None:
    node = Node("read_1", Carried())
    with pytest.raises(MissingFact, match="read_1 has no index yet; run infer-indices first"):
        _ = node.placed
    with pytest.raises(InternalError, match="run infer-types first"):
        _ = node.tile


def test_symbols_carry_their_assumptions() -> None:
    assert M is tkl.sym.M
    assert M.is_positive
    assert M.is_integer
    assert sympy.Symbol("M") != M
    assert not hasattr(tkl.sym, "__wrapped__")


def person_errors() -> set[type[ExplorerError]]:
    """All classes of mistakes in the module of errors."""
    found = vars(errors).values()
    return {c for c in found if inspect.isclass(c) and issubclass(c, ExplorerError)} - {
        ExplorerError
    }


@pytest.mark.parametrize("kind", sorted(person_errors(), key=lambda c: c.__name__))
def test_a_mistake_is_described(kind: type[ExplorerError]) -> None:
    assert kind.__doc__
    assert kind.template != ExplorerError.template
    assert kind.hint


def test_every_mistake_is_made_in_a_test() -> None:
    files = Path(__file__).parent.glob("test_*.py")
    source = "".join(f.read_text(encoding="utf-8") for f in files)
    missing = {c.__name__ for c in person_errors() if f"errors.{c.__name__}" not in source}
    assert missing == set()
