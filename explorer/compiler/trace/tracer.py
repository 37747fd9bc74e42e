"""The tracer: one flat torch.fx graph for a kernel.

Each fx node calls an op class; a loop is the nodes between its ``iterate`` and ``end_of_body``.
Symbols are still symbols here: one trace serves all bindings.
"""

from __future__ import annotations

import inspect
import numbers
import operator
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import sympy
from torch import fx

from explorer.compiler.errors import (
    BodySignature,
    NotADim,
    NotAValue,
    OutsideKernel,
    ValueLeftLoop,
    WrongYield,
)
from explorer.compiler.ir.op import REGISTRY
from explorer.compiler.lang.types import Memory, Register
from explorer.compiler.ops.control import Carried, Iterate, Result
from explorer.compiler.trace.places import here
from explorer.compiler.trace.proxies import Traced, TracedMemory, TracedValue

_operator: Any = operator
"""The module without its partial types."""

_OPERATORS: dict[Any, str] = {
    _operator.add: "add",
    _operator.sub: "sub",
    _operator.mul: "mul",
    _operator.truediv: "div",
    _operator.neg: "neg",
    _operator.abs: "abs",
    _operator.lt: "lt",
    _operator.le: "le",
    _operator.gt: "gt",
    _operator.ge: "ge",
    _operator.eq: "eq",
    _operator.ne: "ne",
    _operator.and_: "and",
    _operator.or_: "or",
}

current: ContextVar[KernelTracer] = ContextVar("tracer")
"""The tracer of the kernel being traced."""


def tracer_for(op: str) -> KernelTracer:
    """The current tracer.

    Raises:
        OutsideKernel: no kernel is being traced.
    """
    tracer = current.get(None)
    if tracer is None:
        raise OutsideKernel(op=f"tkw.{op}", location=here())
    return tracer


def end_of_body(*_: Any) -> None:
    """Marks the end of a loop's body; the arguments after the first are what it yields."""


class KernelTracer(fx.Tracer):
    """Records a kernel's operations in ``graph``."""

    def __init__(self) -> None:
        super().__init__()
        self.graph = fx.Graph(tracer_cls=KernelTracer)
        self.open_loops: tuple[str, ...] = ()
        self.root = self  # fx asks for a module; a kernel has none

    def create_arg(self, a: Any) -> Any:
        """Proxies become nodes, everything else stays what it is."""
        if isinstance(a, fx.Proxy):
            return a.node
        if isinstance(a, tuple):
            return tuple(map(self.create_arg, a))  # pyright: ignore[reportUnknownArgumentType]
        return a

    def create_node(self, *args: Any, **kwargs: Any) -> fx.Node:
        """A node that knows its place in the source."""
        node = super().create_node(*args, **kwargs)
        node.meta["location"] = here()
        node.meta["loops"] = self.open_loops
        return node

    def proxy(self, node: fx.Node) -> Traced:
        """The stand-in for what ``node`` computes."""
        made = TracedMemory if isinstance(node.type, Memory) else TracedValue
        return made(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:
        """Record a Python operator (fx calls this) or an op (``record`` does)."""
        if kind == "call_function" and not (isinstance(target, type) or target is end_of_body):
            return self._operator(target, args, kwargs)
        return super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)

    def _operator(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = _OPERATORS.get(target)
        if name is None or kwargs:
            spelled = getattr(target, "__name__", str(target))
            raise NotAValue(
                op=spelled,
                what="a traced value",
                want="combined with the operators of the language",
                found=f"given to {spelled}",
                advice="use the functions of explorer.wave, such as tkw.exp2(x)",
                location=here(),
            )
        return self.record(name, *args)

    def record(self, name: str, *operands: Any, **attributes: Any) -> TracedValue:
        """Record the op called ``name`` on values and Python numbers."""
        values = [self.value(name, o, f"operand {i + 1}") for i, o in enumerate(operands)]
        return self.create_proxy("call_function", REGISTRY[name], tuple(values), attributes, name)

    def value(self, op: str, given: Any, what: str) -> Any:
        """``given`` if it is a value or a number.

        Raises:
            NotAValue: it is something else.
        """
        if isinstance(given, TracedValue):
            return self._in_scope(op, given, what)
        if isinstance(given, numbers.Real) and not _is_bool(given):
            return int(given) if isinstance(given, numbers.Integral) else float(given)
        if isinstance(given, TracedMemory):
            raise NotAValue(
                op=op,
                what=what,
                want="a value in registers",
                found=f"the memory {given.node.name}",
                advice=f"read it first: tkw.read({given.node.name})",
                location=here(),
            )
        raise NotAValue(
            op=op,
            what=what,
            want="a value or a number",
            found=f"a {type(given).__name__}",
            advice="values come from tkw.read, tkl.Register[...](number) and operations on them",
            location=here(),
        )

    def _in_scope(self, op: str, given: TracedValue, what: str) -> TracedValue:
        """``given`` if it is known here.

        Raises:
            ValueLeftLoop: it was made in the body of a loop that has ended, or in another kernel.
        """
        loops: tuple[str, ...] = given.node.meta["loops"]
        if given.tracer is self and loops == self.open_loops[: len(loops)]:
            return given
        home = f"loop {loops[-1]}" if given.tracer is self else "another kernel"
        raise ValueLeftLoop(op=op, what=what, value=given.node.name, home=home, location=here())

    def memory(self, op: str, given: Any) -> TracedMemory:
        """``given`` if it is a parameter of the kernel.

        Raises:
            NotAValue: it is something else.
        """
        if isinstance(given, TracedMemory):
            return given
        raise NotAValue(
            op=op,
            what="the memory",
            want="a parameter of the kernel",
            found="a value" if isinstance(given, TracedValue) else f"a {type(given).__name__}",
            advice="annotate a parameter with tkl.Memory[...] and pass it",
            location=here(),
        )

    def register(self, kind: Register, value: float) -> TracedValue:
        """Record ``Register[...](value)``."""
        if not isinstance(value, int | float):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotAValue(
                op="tkl.Register[...]",
                what="the value",
                want="a number",
                found=f"a {type(value).__name__}",
                advice="write the number that all elements start with",
                location=here(),
            )
        return self.create_proxy(
            "call_function", REGISTRY["register"], (value, kind), {}, "register"
        )

    def iterate(
        self, axis: Any, inits: Sequence[Any], body: Callable[..., Any]
    ) -> TracedValue | tuple[TracedValue, ...] | None:
        """Record a loop over ``axis``; ``body`` is run once on stand-ins for the carried values."""
        if not isinstance(axis, sympy.Symbol):
            raise NotADim(what="the dim of tkw.iterate", found=axis, location=here())
        name = body.__name__
        values = [self.value("iterate", v, f"init_args[{i}]") for i, v in enumerate(inits)]
        _check_signature(name, body, len(values))
        loop = self.create_proxy("call_function", Iterate, (axis, *values), {}, name)
        self.open_loops = (*self.open_loops, loop.node.name)
        carried = [
            self.create_proxy("call_function", Carried, (loop, i), {}, parameter)
            for i, parameter in enumerate(inspect.signature(body).parameters)
        ]
        yielded = _as_tuple(body(*carried))
        if len(yielded) != len(values):
            raise WrongYield(
                loop=name,
                found=f"{len(yielded)} value(s)",
                want=len(values),
                location=here(),
            )
        yields = [
            self.value(f"loop {name}", y, f"returned value {i + 1}") for i, y in enumerate(yielded)
        ]
        self.create_proxy("call_function", end_of_body, (loop, *yields), {}, "end_of_body")
        self.open_loops = self.open_loops[:-1]
        results = tuple(
            self.create_proxy("call_function", Result, (loop, i), {}, f"{name}_result")
            for i in range(len(values))
        )
        return results[0] if len(results) == 1 else (results or None)


def _is_bool(given: Any) -> bool:
    return isinstance(given, bool)


def _as_tuple(returned: Any) -> tuple[Any, ...]:
    if returned is None:
        return ()
    if isinstance(returned, tuple | list):
        return tuple(returned)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return (returned,)


def _check_signature(name: str, body: Callable[..., Any], count: int) -> None:
    found = len(inspect.signature(body).parameters)
    if found != count:
        raise BodySignature(loop=name, found=found, want=count, location=here())
