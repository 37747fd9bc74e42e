"""Recordings made by hand: what the compiler would record, without running it.

``row_max_add(copies)`` is the row kernel that takes a maximum in a loop and adds it afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from explorer.compiler import expr
from explorer.compiler.expr import Expr, Sym
from explorer.compiler.record import (
    AxisView,
    Location,
    NodeView,
    PassRecord,
    Recording,
    RegionView,
    Snapshot,
    SourceText,
)

FILE = "row_max_add.py"
SOURCE = """\
@tkw.wave(constraints)
def row_max_add(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, N, SPACE, tkl.f32]):
    start = tkl.Register[M, tkl.f32](-1e6)

    @tkw.iterate(N, init_args=[start])
    def row_max(partial: tkl.Register[M, tkl.f32]) -> tkl.Register[M, tkl.f32]:
        return tkw.max(tkw.read(a, elements_per_thread=ELEMS_PER_THREAD), partial, dim=N)

    tkw.write(tkw.read(a, elements_per_thread=ELEMS_PER_THREAD) + row_max, c, elements_per_thread=1)
"""
FIRST_LINE = 18
FAMILY = {
    "parameter": "parameter", "register": "constant", "read": "memory", "write": "memory",
    "add": "elementwise", "maximum": "elementwise", "max": "reduction", "fold": "reduction",
    "iterate": "control", "carried": "control", "result": "control", "shuffle-xor": "movement",
}  # fmt: skip
EMPTY = Snapshot((), ())


def node(
    name: str,
    op: str,
    operands: str = "",
    *,
    line: int = 1,
    region: str = "root",
    origin: str | None = None,
    **attrs: str,
) -> NodeView:
    """A node as the trace shows it; ``line`` counts from 1 in ``SOURCE``."""
    location: Location = (FILE, FIRST_LINE + line - 1, 4)
    return NodeView(
        name, op, FAMILY[op], tuple(operands.split()), attrs, "", None, {}, region, origin, location
    )


def traced() -> Snapshot:
    """The kernel as written."""
    body = "row_max"
    nodes = (
        node("a", "parameter", line=2),
        node("c", "parameter", line=2),
        node("start", "register", line=3, value="-1000000.0"),
        node("row_max", "iterate", "start", line=5, step="128", steps="4"),
        node("partial", "carried", line=6, region=body),
        node("read", "read", "a", line=7, region=body, elements_per_thread="2"),
        node("max", "max", "read partial", line=7, region=body, dim="N"),
        node("row_max_result", "result", "row_max", line=5, at="0"),
        node("read_1", "read", "a", line=9, elements_per_thread="2"),
        node("add", "add", "read_1 row_max_result", line=9),
        node("write", "write", "add c", line=9, elements_per_thread="1"),
    )
    return Snapshot(nodes, (root(), RegionView(body, "root", "N", 4, ("partial",), ("max",))))


def root() -> RegionView:
    """The kernel's body."""
    return RegionView("root", None, None, None, (), ())


def typed(before: Snapshot) -> Snapshot:
    """Every value with its type: rows of maxima have no N."""

    def kind(n: NodeView) -> str:
        if n.op in {"iterate", "write"}:
            return ""
        if n.op == "parameter":
            return "memory f32[M, N]"
        return "f32[M, N]" if n.op in {"read", "add"} else "f32[M]"

    return changed(before, lambda n: {"type": kind(n)})


def indexed(before: Snapshot, copies: tuple[int, int]) -> Snapshot:
    """Every value with its index, standing for all copies."""
    return changed(before, lambda n: {"index": index(n, copies)})


def changed(before: Snapshot, fields: object) -> Snapshot:
    """The same nodes with some fields set, each from itself."""
    assert callable(fields)
    nodes = tuple(replace(n, origin=n.name, **fields(n)) for n in before.nodes)
    return Snapshot(nodes, before.regions)


def dims_of(n: NodeView) -> tuple[str, ...]:
    """Dims that a node is spread along."""
    if n.op in {"parameter", "iterate"}:
        return ()
    return ("M",) if n.type == "f32[M]" else ("M", "N")


def index(n: NodeView, copies: tuple[int, int]) -> dict[str, AxisView] | None:
    """Rows by workgroup, columns by lane; in the loop, N is the loop's."""
    if not dims_of(n):
        return None
    inside = n.region != "root"
    m = AxisView(
        expr.add(expr.mul(Sym("workgroup_1"), copies[0]), at("M", copies[0], 1)), 1, copies[0], None
    )
    origin: Expr = expr.mul(Sym("step_row_max"), 128) if inside else expr.of(0)
    many = 1 if inside else copies[1]
    lanes = expr.add(expr.mul(Sym("lane"), 2), Sym("element_N"))
    n_axis = AxisView(expr.add(expr.add(origin, at("N", many, 128)), lanes), 2, many, None)
    return {"M": m, "N": n_axis} if "N" in dims_of(n) else {"M": m}


def at(dim: str, copies: int, piece: int) -> Expr:
    """Offset of a copy."""
    return expr.of(0) if copies == 1 else expr.mul(Sym(f"copy_{dim}"), piece)


def expanded(before: Snapshot) -> Snapshot:
    """One node for each copy, operands with the coordinates they have."""
    named: dict[tuple[str, tuple[tuple[str, int], ...]], str] = {}
    nodes: list[NodeView] = []
    for n in before.nodes:
        for copy in coordinates(n):
            name = (
                n.name
                if not any(copy.values())
                else f"{n.name}_{sum(k[0] == n.name for k in named)}x"
            )
            named[n.name, tuple(copy.items())] = name
            nodes.append(at_copy(n, name, copy))
    by_name = {n.name: n for n in before.nodes}
    nodes = [rewired(n, named, by_name) for n in nodes]
    return Snapshot(tuple(nodes), tuple(widened(r, named) for r in before.regions))


def coordinates(n: NodeView) -> Iterable[dict[str, int]]:
    """Coordinates of all copies of a node, last dim fastest."""
    made: list[dict[str, int]] = [{}]
    for dim, axis in (n.index or {}).items():
        made = [{**c, dim: i} for c in made for i in range(axis.copies)]
    return made


def at_copy(n: NodeView, name: str, copy: dict[str, int]) -> NodeView:
    """One copy of a node."""
    env = {f"copy_{d}": c for d, c in copy.items()}
    axes = n.index and {
        d: replace(a, position=expr.substitute(a.position, env), copies=1)
        for d, a in n.index.items()
    }
    attrs = dict(n.attrs) | ({"at": str(copy["M"])} if n.op == "result" else {})
    return replace(n, name=name, copy=copy, index=axes, origin=n.name, attrs=attrs)


def rewired(n: NodeView, named: dict, by_name: dict[str, NodeView]) -> NodeView:
    """Operands replaced by the copies that this copy reads."""

    def copies_of(operand: str) -> list[str]:
        have = by_name[operand].index or {}
        fixed = {d: c for d, c in n.copy.items() if d in have}
        return [
            name
            for (origin, copy), name in named.items()
            if origin == operand and fixed.items() <= dict(copy).items()
        ]

    return replace(n, operands=tuple(name for o in n.operands for name in copies_of(o)))


def widened(r: RegionView, named: dict) -> RegionView:
    """A region that carries every copy of what it carried."""

    def all_of(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for o in names for (origin, _), name in named.items() if origin == o)

    return replace(r, arguments=all_of(r.arguments), yields=all_of(r.yields))


def decomposed(before: Snapshot) -> Snapshot:
    """Each reduction as a fold in the lane and a butterfly of shuffles."""
    nodes: list[NodeView] = []
    stands_for: dict[str, str] = {}
    for n in before.nodes:
        n = replace(n, operands=tuple(stands_for.get(o, o) for o in n.operands))
        if n.op != "max":
            nodes.append(replace(n, origin=n.name))
            continue
        parts = butterfly(n)
        nodes += parts
        stands_for[n.name] = parts[-1].name
    regions = tuple(
        replace(r, yields=tuple(stands_for.get(y, y) for y in r.yields)) for r in before.regions
    )
    return Snapshot(tuple(nodes), regions)


def butterfly(n: NodeView) -> list[NodeView]:
    """The parts of one reduction over 64 lanes."""
    *values, partial = n.operands

    def part(name: str, op: str, *operands: str, **attrs: str) -> NodeView:
        return replace(
            n,
            name=f"{n.name}_{name}",
            op=op,
            family=FAMILY[op],
            operands=operands,
            attrs=attrs,
            origin=n.name,
        )

    parts = [part("fold", "fold", *values, dim="N", combine="max")]
    for offset in (1, 2, 4, 8, 16, 32):
        shuffled = part(f"shuffle_{offset}", "shuffle-xor", parts[-1].name, offset=str(offset))
        parts += [shuffled, part(f"max_{offset}", "maximum", parts[-1].name, shuffled.name)]
    return [*parts, part("last", "maximum", parts[-1].name, partial)]


def row_max_add(copies: tuple[int, int] = (1, 4)) -> Recording:
    """The kernel after every pass, with ``copies`` along M and N after the loop."""
    trace = traced()
    types = typed(trace)
    indices = indexed(types, copies)
    copied = expanded(indices)
    parts = decomposed(copied)
    states = {
        "trace": (EMPTY, trace, "Record what the kernel does."),
        "infer-types": (
            trace,
            types,
            "Give every value its type.\n\n%x = read(%a) -> %x : f32[M, N]",
        ),
        "infer-indices": (types, indices, "Find which elements each lane holds."),
        "expand": (indices, copied, "One node for each piece of a wave."),
        "decompose-reductions": (copied, parts, "Split each reduction into a fold and shuffles."),
        "emit": (parts, parts, "Write MLIR."),
    }
    return Recording(
        kernel="row_max_add",
        bindings={"M": 128, "N": 128 * copies[1], "BLOCK_M": copies[0], "BLOCK_N": 128},
        target="gfx942",
        passes=tuple(
            PassRecord(name, doc, "unchanged" if b is a else "changed", b, a, 0.002 * (i + 1))
            for i, (name, (b, a, doc)) in enumerate(states.items())
        ),
        source=SourceText(FILE, FIRST_LINE, SOURCE),
        mlir="func.func @row_max_add(%a: memref<128x512xf32>) {\n  return\n}\n",
        isa="s_load_dwordx4 s[0:3], s[0:1], 0x0\ns_endpgm\n",
        resources={"registers": 24, "shared memory": 0},
    )


def failed() -> Recording:
    """``expand`` stopped half-way."""
    whole = row_max_add()
    last = whole["expand"]
    half = Snapshot(last.after.nodes[:7], last.after.regions)
    error = "tile does not divide\n  tkw.max(...)\n  ^"
    broken = replace(last, after=half, status="failed", error=error)
    return replace(whole, passes=(*whole.passes[:3], broken), mlir="", isa="")


def hostile() -> Recording:
    """Names and texts that try to leave their place in HTML."""
    bad = "</script><img src=x onerror=alert(1)>"
    whole = row_max_add()
    first = whole.passes[0]
    nodes = tuple(replace(n, attrs={bad: bad}, type=bad) for n in first.after.nodes)
    evil = replace(nodes[0], name=bad, op=bad, family=bad)
    after = Snapshot((evil, *nodes[1:]), first.after.regions)
    step = replace(first, name=bad, doc=bad, after=after, error=bad, notes=(bad,))
    source = SourceText(bad, 1, bad)
    return replace(whole, kernel=bad, target=bad, passes=(step,), source=source, mlir=bad, isa=bad)
