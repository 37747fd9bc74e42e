"""Every operation: described, drawn, and of one meaning in torch, the interpreter and code."""

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import explorer
import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import NUMPY, SPACE, Array, M, N
from core.kernels import case
from explorer.compiler.driver import Options, lower
from explorer.compiler.emit.module import emit_module
from explorer.compiler.errors import NotLowered
from explorer.compiler.ir.graph import Node
from explorer.compiler.ir.op import REGISTRY, Op, op
from explorer.compiler.lang.dtypes import DType, Kind
from explorer.compiler.lang.targets import target
from explorer.compiler.ops.elementwise import BINARY, UNARY, Row
from explorer.compiler.ops.reduction import REDUCTIONS, Combiner
from explorer.compiler.trace.kernel import Kernel

FLOATS = (tkl.f64, tkl.f32, tkl.f16, tkl.bf16)
INTEGERS = (tkl.i64, tkl.i32, tkl.i16, tkl.i8)
ULPS = 4
"""How far transcendental functions may be from torch's, in units of the last place."""
EPSILON = {tkl.f64: 2.0**-52, tkl.f32: 2.0**-23, tkl.f16: 2.0**-10, tkl.bf16: 2.0**-7}

TORCH: dict[str, Callable[..., torch.Tensor]] = {
    "exp": torch.exp,
    "exp2": torch.exp2,
    "log": torch.log,
    "log2": torch.log2,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "tanh": torch.tanh,
    "abs": torch.abs,
    "neg": torch.neg,
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "eq": torch.eq,
    "ne": torch.ne,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "prod": lambda x: torch.prod(x, -1, dtype=x.dtype),
    "any": lambda x: torch.any(x, -1),
    "all": lambda x: torch.all(x, -1),
    "max": lambda x: torch.amax(x, -1),
    "min": lambda x: torch.amin(x, -1),
    "sum": lambda x: torch.sum(x, -1, dtype=x.dtype),
}

SPELLED: dict[str, Callable[..., Any]] = {
    "neg": lambda x: -x,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
}
"""Ops that a person writes as Python operators; all others are functions of ``tkw``."""


def row(made: type[Op]) -> Row:
    """The table's row of an elementwise op."""
    return made.row  # pyright: ignore[reportAttributeAccessIssue]


def spelled(name: str) -> Callable[..., Any]:
    """How a person writes the op."""
    return SPELLED.get(name) or getattr(tkw, name)


# --- what every op has ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", REGISTRY)
def test_an_op_says_what_it_does_and_to_which_shapes(name: str) -> None:
    doc = inspect.getdoc(REGISTRY[name]) or ""
    assert "Shapes:" in doc
    assert "->" in doc.split("Shapes:")[1]
    assert len(doc.splitlines()[0]) > 3


@pytest.mark.parametrize("name", REGISTRY)
def test_an_op_can_be_drawn(name: str) -> None:
    glyph = REGISTRY[name].glyph
    assert glyph.symbol
    assert glyph.family in {
        "parameter",
        "constant",
        "memory",
        "elementwise",
        "reduction",
        "control",
        "movement",
        "synchronisation",
    }


def test_every_row_has_a_reference_here() -> None:
    assert {*UNARY, *BINARY, *REDUCTIONS} == set(TORCH)


def test_an_op_without_all_rules_is_refused() -> None:
    with pytest.raises(TypeError, match="lacks rules: emit"):

        @op("half-an-op", family="elementwise")
        class Half(Op):
            """Shapes: -> []."""

            def result_type(self, node: Node) -> None: ...

            def interpret(self, machine: Any, node: Node) -> None: ...

    assert "half-an-op" not in REGISTRY


def whole_op(doc: str) -> type[Op]:
    """An op class with all rules, not registered yet."""

    class Whole(Op):
        def result_type(self, node: Node) -> None: ...

        def interpret(self, machine: Any, node: Node) -> None: ...

        def emit(self, e: Any, node: Node) -> None: ...

    Whole.__doc__ = doc
    return Whole


def test_an_op_needs_a_docstring_with_shapes() -> None:
    with pytest.raises(TypeError, match="needs a docstring with a 'Shapes:' line"):
        op("whole", family="elementwise")(whole_op("Something."))


def test_an_op_needs_a_name_of_its_own() -> None:
    with pytest.raises(ValueError, match="two ops are called 'add'"):
        op("add", family="elementwise")(whole_op("Shapes: -> []"))


# --- one meaning ----------------------------------------------------------------------------------


def kernel_of(
    results: dict[str, Callable[..., Any]], inputs: list[Any], outputs: list[Any]
) -> Kernel:
    """A kernel that writes each of ``results``, functions of the values read, to its own output."""
    names = [f"in_{i}" for i in range(len(inputs))] + [f"out_{name}" for name in results]

    def kernel(*tensors: Any) -> None:
        values = [tkw.read(t) for t in tensors[: len(inputs)]]
        for function, tensor in zip(results.values(), tensors[len(inputs) :], strict=True):
            tkw.write(function(*values), tensor)

    kernel.__signature__ = inspect.Signature(  # pyright: ignore[reportFunctionMemberAccess]
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
            for name, kind in zip(names, [*inputs, *outputs], strict=True)
        ]
    )
    return tkw.wave([tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={N: 16})])(kernel)


def operands(dtype: DType) -> tuple[Array, Array]:
    """All pairs of special and ordinary elements."""
    if dtype.kind is Kind.BOOLEAN:
        every = np.array([False, True])
    elif dtype.is_float:
        large = 3e4 if dtype is tkl.f16 else 1e30
        every = np.array([-np.inf, -large, -2.5, -1, -0.0, 0, 0.3, 1, 3, large, np.inf, np.nan])
    else:
        limit = 1 << (dtype.bits - 1)
        every = np.array([-limit, -limit + 1, -7, -1, 0, 1, 2, 100, limit - 1])
    lhs, rhs = zip(*itertools.product(every.astype(NUMPY[dtype]), repeat=2), strict=True)
    return np.array(lhs, NUMPY[dtype]), np.array(rhs, NUMPY[dtype])


def as_torch(array: Array) -> torch.Tensor:
    """The same elements in torch."""
    if array.dtype == NUMPY[tkl.bf16]:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def as_numpy(tensor: torch.Tensor) -> Array:
    """The same elements, bfloat16 as float32."""
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def agree(found: Array, want: Array, dtype: DType, name: str) -> None:
    """Assert equality, for floats up to a few units of the last place."""
    found, want = as_plain(found), as_plain(want)
    if not dtype.is_float:
        np.testing.assert_array_equal(found, want, err_msg=name)
        return
    bound = ULPS * EPSILON[dtype]
    np.testing.assert_allclose(found, want, rtol=bound, atol=bound * 1e-3, err_msg=name)


def elementwise_ops(dtype: DType) -> dict[str, type[Op]]:
    """The ops of the tables that take elements of ``dtype``."""
    return {
        n: o
        for n, o in {**UNARY, **BINARY}.items()
        if dtype.kind in row(o).takes and dtype.bits <= row(o).widest
    }


def result_dtype(made: type[Op], dtype: DType) -> DType:
    """Element type of an elementwise op's result."""
    return tkl.i1 if row(made).compares else dtype


def blank(dtype: DType, count: int) -> Array:
    """An output that no op leaves as it is by chance."""
    return np.full(count, 55, NUMPY[dtype])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, tkl.i1])
def test_elementwise_ops_mean_what_torch_means(dtype: DType) -> None:
    kernel, ops, arrays = elementwise_kernel(dtype)
    lhs, rhs, *outputs = arrays
    explorer.interpret(kernel, {N: len(lhs)}, *arrays, target="gfx942")
    for (name, made), output in zip(ops.items(), outputs, strict=True):
        given = [lhs] if name in UNARY else [lhs, rhs]
        if dtype is tkl.i1:
            given = [x.astype(np.bool_) for x in given]
        want = as_numpy(TORCH[name](*map(as_torch, given)))
        agree(output, want, result_dtype(made, dtype), name)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, tkl.i1])
def test_code_of_elementwise_ops_means_the_same(dtype: DType) -> None:
    kernel, ops, arrays = elementwise_kernel(dtype)
    interpreted = [a.copy() for a in arrays]
    bindings = {N: len(arrays[0])}
    explorer.interpret(kernel, bindings, *interpreted)
    explorer.compile(kernel, bindings, target="cpu")(*arrays)
    for (name, made), found, want in zip(ops.items(), arrays[2:], interpreted[2:], strict=True):
        agree(found, want, result_dtype(made, dtype), name)


def elementwise_kernel(dtype: DType) -> tuple[Kernel, dict[str, type[Op]], list[Array]]:
    """One kernel with all elementwise ops of a type, and its arguments."""
    ops = elementwise_ops(dtype)
    results = {name: _applied(name, made, dtype) for name, made in ops.items()}
    memory = tkl.Memory[N, SPACE, stored(dtype)]
    written = [stored(result_dtype(made, dtype)) for made in ops.values()]
    kernel = kernel_of(results, [memory, memory], [tkl.Memory[N, SPACE, d] for d in written])
    lhs, rhs = (x.astype(NUMPY[stored(dtype)]) for x in operands(dtype))
    return kernel, ops, [lhs, rhs, *(blank(d, len(lhs)) for d in written)]


def stored(dtype: DType) -> DType:
    """What a tensor holds such elements as: there are no tensors of booleans."""
    return tkl.i8 if dtype is tkl.i1 else dtype


def _applied(name: str, made: type[Op], dtype: DType) -> Callable[[Any, Any], Any]:
    """The op on what was read, booleans converted from and to what is stored."""

    def apply(x: Any, y: Any) -> Any:
        given = [v != 0 for v in (x, y)] if dtype is tkl.i1 else [x, y]
        result = spelled(name)(*given[: 1 if name in UNARY else 2])
        boolean = result_dtype(made, dtype) is tkl.i1
        return tkw.cast(result, tkl.i8) if boolean else result

    return apply


# --- conversions ----------------------------------------------------------------------------------

CASTS = (*FLOATS, *INTEGERS)


def convertible(source: DType) -> Array:
    """Elements that every type can hold, and for floats ties that rounding decides."""
    plain = [-3, -1, 0, 1, 2, 17, 100]
    ties = [0.5, 1.5, 2.5, -0.75, 1 + 2.0**-11, 1 + 2.0**-8 + 2.0**-9] if source.is_float else []
    return np.array([*plain, *ties]).astype(NUMPY[source])


@pytest.mark.parametrize("source", CASTS)
def test_conversions_mean_what_torch_means(source: DType) -> None:
    kernel, arrays = cast_kernel(source)
    explorer.interpret(kernel, {N: len(arrays[0])}, *arrays)
    for to, output in zip(CASTS, arrays[1:], strict=True):
        want = as_torch(arrays[0]).to(as_torch(output).dtype)
        np.testing.assert_array_equal(as_numpy(as_torch(output)), as_numpy(want), err_msg=str(to))


@pytest.mark.parametrize("source", [tkl.f32, tkl.bf16, tkl.i32])
def test_code_of_conversions_means_the_same(source: DType) -> None:
    kernel, arrays = cast_kernel(source)
    interpreted = [a.copy() for a in arrays]
    explorer.interpret(kernel, {N: len(arrays[0])}, *interpreted)
    explorer.compile(kernel, {N: len(arrays[0])}, target="cpu")(*arrays)
    for to, found, want in zip(CASTS, arrays[1:], interpreted[1:], strict=True):
        np.testing.assert_array_equal(
            found.astype(np.float64), want.astype(np.float64), err_msg=str(to)
        )


def cast_kernel(source: DType) -> tuple[Kernel, list[Array]]:
    """A kernel that converts to every type, and its arguments."""
    results = {str(d): _cast(d) for d in CASTS}
    outputs = [tkl.Memory[N, SPACE, d] for d in CASTS]
    kernel = kernel_of(results, [tkl.Memory[N, SPACE, source]], outputs)
    x = convertible(source)
    return kernel, [x, *(blank(d, len(x)) for d in CASTS)]


def _cast(dtype: DType) -> Callable[[Any], Any]:
    return lambda x: tkw.cast(x, dtype)


# --- reductions -----------------------------------------------------------------------------------


def rows_of(dtype: DType) -> Array:
    """Rows of 37 elements: ordinary, equal, with infinities and with NaN."""
    rng = np.random.default_rng(3)
    if not dtype.is_float:
        limit = 1 << (dtype.bits - 1)
        return rng.integers(-limit, limit, (4, 37)).astype(NUMPY[dtype])
    x = rng.integers(-8, 9, (6, 37)).astype(np.float64)
    x[0] = rng.choice([-1.0, 0.5, 1.0, 2.0], 37)
    x[1] = -5
    x[2, 3] = -np.inf
    x[3, 36] = np.inf
    x[4] = -np.inf
    x[5, 20] = np.nan
    return x.astype(NUMPY[dtype])


def numeric_reductions() -> list[str]:
    """Reductions of numbers; the others take conditions."""
    return [n for n, op in REDUCTIONS.items() if Kind.BOOLEAN not in op.combiner.takes]


def reduction_kernel(dtype: DType) -> tuple[Kernel, list[Array]]:
    """A kernel with all reductions of rows of numbers, and its arguments."""
    results = {name: _reduced(name) for name in numeric_reductions()}
    outputs = [tkl.Memory[M, SPACE, dtype] for _ in results]
    x = rows_of(dtype)
    return kernel_of(results, [tkl.Memory[M, N, SPACE, dtype]], outputs), [
        x,
        *(blank(dtype, len(x)) for _ in results),
    ]


def _reduced(name: str) -> Callable[[Any], Any]:
    return lambda x: spelled(name)(x, dim=N)


@pytest.mark.parametrize("where", ["cpu", "gfx942", "code"])
@pytest.mark.parametrize("dtype", [*FLOATS, tkl.i64, tkl.i32])
def test_reductions_mean_what_torch_means(dtype: DType, where: str) -> None:
    kernel, arrays = reduction_kernel(dtype)
    x, *outputs = arrays
    bindings = {M: len(x), N: 37}
    if where == "code":
        explorer.compile(kernel, bindings, target="cpu")(*arrays)
    else:
        explorer.interpret(kernel, bindings, *arrays, target=where)
    for name, output in zip(numeric_reductions(), outputs, strict=True):
        # Of the other rows the order of the factors decides between 0, infinity and NaN.
        ordered = 1 if name == "prod" and dtype.is_float else len(x)
        want = as_numpy(TORCH[name](as_torch(x[:ordered])))
        agree(output[:ordered], want, dtype, name)


@pytest.mark.parametrize("name", sorted(REDUCTIONS.keys() - set(numeric_reductions())))
def test_the_identity_of_conditions_changes_nothing(name: str) -> None:
    combiner: Combiner = REDUCTIONS[name].combiner
    identity = np.asarray(combiner.identity(tkl.i1)).astype(bool)
    elements = np.array([False, True])
    np.testing.assert_array_equal(combiner.combine(elements, identity), elements)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("name", numeric_reductions())
def test_the_identity_changes_nothing(name: str, dtype: DType) -> None:
    combiner: Combiner = REDUCTIONS[name].combiner
    elements, _ = operands(dtype)
    identity = np.asarray(combiner.identity(dtype)).astype(NUMPY[dtype])
    with np.errstate(all="ignore"):
        found = [combiner.combine(elements, identity), combiner.combine(identity, elements)]
    for combined in found:
        assert combined.dtype == elements.dtype
        np.testing.assert_array_equal(as_plain(combined), as_plain(elements))


def as_plain(array: Array) -> Array:
    """The same elements, bfloat16 as float32: numpy does not know that its NaN is one."""
    return array.astype(np.float32) if array.dtype == NUMPY[tkl.bf16] else array


def test_a_reduction_has_no_code_before_it_is_taken_apart() -> None:
    small = case("naive_softmax")
    made = lower(small.kernel, small.bindings, target("cpu"), Options(), after="expand")
    with pytest.raises(NotLowered, match="decompose-reductions"):
        emit_module(made.graph, made.tiling, made.target, fast_math=False)
