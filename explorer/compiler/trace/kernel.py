"""A kernel: a Python function, its constraints, and the graph that tracing it gives."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from torch import fx

from explorer.compiler.errors import BadConstraint, BadParameter, KernelReturns, OutsideKernel
from explorer.compiler.lang.bindings import names_in
from explorer.compiler.lang.constraints import Constraint, DimConstraint, HardwareConstraint
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.lang.types import Memory, Scalar, make_register
from explorer.compiler.location import Location, shown_file
from explorer.compiler.record import SourceText
from explorer.compiler.trace.places import here
from explorer.compiler.trace.tracer import KernelTracer, current


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: its name and the tensor or number that it takes."""

    name: str
    kind: Memory | Scalar

    @property
    def dims(self) -> tuple[sympy.Symbol, ...]:
        """Dims of the tensor; none for a number."""
        return self.kind.dims

    @property
    def dtype(self) -> DType:
        """Type of the elements or of the number."""
        return self.kind.dtype

    def __str__(self) -> str:
        if isinstance(self.kind, Scalar):
            return f"{self.name}: {self.dtype}"
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.dims))}]"


class Kernel:
    """What ``@tkw.wave(constraints)`` makes of a function. Give it to ``explorer.compile``."""

    def __init__(self, function: Callable[..., Any], constraints: Sequence[Constraint]) -> None:
        self.function = function
        self.constraints = _checked(constraints)
        self.name = function.__name__
        self.parameters = tuple(_parameters(function))

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(map(str, self.parameters))})>"

    def __call__(self, *args: Any) -> Any:
        """Refused: a kernel needs numbers for its symbols first.

        Raises:
            OutsideKernel: always.
        """
        raise OutsideKernel(
            op=f"calling the kernel {self.name} (compile it first: explorer.compile)"
        )

    @cached_property
    def graph(self) -> fx.Graph:
        """The torch.fx graph, traced when first asked for."""
        tracer = KernelTracer()
        token, made = current.set(tracer), make_register.set(tracer.register)
        try:
            arguments = [
                tracer.create_proxy("placeholder", p.name, (), {}, p.name, type_expr=p.kind)
                for p in self.parameters
            ]
            if self.function(*arguments) is not None:
                raise KernelReturns(kernel=self.name, location=self.location)
            tracer.graph.output(None)
        finally:
            current.reset(token)
            make_register.reset(made)
        return tracer.graph

    @property
    def location(self) -> Location:
        """Where the function begins."""
        return _first_line(self.function)

    @cached_property
    def source(self) -> SourceText | None:
        """The function's text; None for code that has none (made by ``exec``)."""
        try:
            lines, first = inspect.getsourcelines(self.function)
        except (OSError, TypeError):
            return None
        return SourceText(shown_file(self.function.__code__.co_filename), first, "".join(lines))

    @cached_property
    def size_symbols(self) -> set[str]:
        """Names of the symbols that stand for numbers."""
        names = {d.name for p in self.parameters for d in p.dims}
        for c in self.constraints:
            match c:
                case DimConstraint():
                    names |= {c.dim.name} | names_in(c.tile)
                case HardwareConstraint():
                    for dim, shape in (c.vector_shapes or {}).items():
                        names |= {dim.name} | names_in(shape)
                case _:
                    pass
        for node in self.graph.nodes:
            names |= names_in(node.kwargs.get("width") or 0)
        return names

    @cached_property
    def space_symbols(self) -> set[str]:
        """Names of the symbols that stand for address spaces."""
        spaces = [p.kind.space for p in self.parameters if isinstance(p.kind, Memory)]
        return {space.name for space in spaces if isinstance(space, sympy.Symbol)}


def _checked(constraints: Any) -> tuple[Constraint, ...]:
    """The constraints as a tuple, if that is what they are."""
    listed = isinstance(constraints, list | tuple)
    many: list[Any] = [*constraints] if listed else [constraints]
    wrong = [c for c in many if not isinstance(c, Constraint)]
    if wrong or not listed:
        raise BadConstraint(
            kind="tkw.wave",
            what="the argument",
            want="a list of constraints",
            found=[*wrong, *many][0],
            location=here(),
        )
    return tuple(many)


def _first_line(function: Callable[..., Any]) -> Location:
    code = function.__code__
    text = linecache.getline(code.co_filename, code.co_firstlineno).rstrip("\n")
    return Location(shown_file(code.co_filename), code.co_firstlineno, 0, text)


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    found: list[Parameter] = []
    for name, p in inspect.signature(function).parameters.items():
        if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            raise BadParameter(
                name=name,
                kernel=function.__name__,
                found=f"{p.annotation} but takes no single argument by position",
                more=" and write it without * before it",
                location=_first_line(function),
            )
        found.append(Parameter(name, _annotation(function, name, p.annotation)))
    return found


def _annotation(function: Callable[..., Any], name: str, found: Any) -> Memory | Scalar:
    more = ""
    if isinstance(found, str):
        # Strings come from postponed annotations. A plain name is looked up; text is never run.
        more = ", and remove `from __future__ import annotations`, or give the type a name"
        text, found = found, _lookup(function, found)
        found = f"the text {text!r}" if found is None else found
    if isinstance(found, Memory):
        return found
    if isinstance(found, DType):
        return Scalar(found)
    shown = "nothing" if found is inspect.Parameter.empty else found
    raise BadParameter(
        name=name,
        kernel=function.__name__,
        found=shown,
        more=more,
        location=_first_line(function),
    )


def _lookup(function: Callable[..., Any], name: str) -> Any:
    code = function.__code__
    for free, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        if free == name:
            return cell.cell_contents
    return function.__globals__.get(name)
