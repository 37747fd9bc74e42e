"""A whole module for a lowered graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from explorer.compiler.emit.emitter import Emitter
from explorer.compiler.emit.mlir import arith, gpu, ir
from explorer.compiler.emit.shell import Argument, shell
from explorer.compiler.errors import SharedMemoryTooLarge
from explorer.compiler.ir.graph import Node, TileGraph
from explorer.compiler.lang.targets import Target
from explorer.compiler.lang.tiling import Tiling
from explorer.compiler.ops.lanes import SharedStore
from explorer.compiler.ops.memory import Parameter, Scalar, Write


@dataclass(frozen=True)
class Module:
    """MLIR text: ``text`` for people, ``located`` with the source place of every operation."""

    text: str
    located: str


def arguments_of(graph: TileGraph) -> tuple[Argument, ...]:
    """The kernel's tensors and numbers in order, and which of them it writes."""
    written = {n.op.memory for n in graph.nodes if isinstance(n.op, Write)}
    found: list[Argument] = []
    for node in _parameters(graph):
        assert node.type is not None
        found.append(Argument(node.name, node.type, node in written))
    return tuple(found)


def emit_module(graph: TileGraph, tiling: Tiling, target: Target, *, fast_math: bool) -> Module:
    """Emit a graph in which every op has code of its own.

    Raises:
        SharedMemoryTooLarge: reductions across waves need more than the target has.
        NotLowered: an op that an earlier pass should have taken apart is left.
    """
    buffers = _shared_buffers(graph)
    _check_shared(buffers, tiling, target)
    with _context(), ir.Location.unknown():
        module = ir.Module.parse(shell(arguments_of(graph), tiling, target))
        block = _device_block(module)
        emitter = Emitter(tiling, target, fast_math=fast_math)
        *before, last = list(block.operations)
        tensors = [n for n in _parameters(graph) if isinstance(n.op, Parameter)]
        for node, op in zip(tensors, before[1:], strict=True):
            emitter.values[node] = op.results[0]
        with ir.InsertionPoint(last):
            _bind_numbers(emitter, graph, tiling, list(block.arguments)[len(tensors) :])
            _bind_symbols(emitter, tiling, target)
            for name, source in buffers.items():
                emitter.allocate(name, source.tile.dtype, _elements(source))
            emitter.region(graph.root)
        module.operation.verify()
        located = module.operation.get_asm(enable_debug_info=True)
        return Module(module.operation.get_asm(), located)


@cache
def _context() -> Any:
    """One MLIR context for the process: making one loads every dialect, which takes a while."""
    return ir.Context()


def _parameters(graph: TileGraph) -> list[Node]:
    return [n for n in graph.root.nodes if isinstance(n.op, Parameter | Scalar)]


def _shared_buffers(graph: TileGraph) -> dict[str, Node]:
    return {n.op.buffer: n.op.source for n in graph.nodes if isinstance(n.op, SharedStore)}


def _elements(node: Node) -> int:
    total = 1
    for n in node.placed.elements:
        total *= n
    return total


def _check_shared(buffers: dict[str, Node], tiling: Tiling, target: Target) -> None:
    threads = tiling.waves * tiling.lanes
    sizes = {b: threads * _elements(n) * n.tile.dtype.bytes for b, n in buffers.items()}
    if sum(sizes.values()) > target.shared_memory_bytes:
        raise SharedMemoryTooLarge(
            need=sum(sizes.values()),
            target=target.name,
            limit=target.shared_memory_bytes,
            parts=", ".join(f"{b} {n}" for b, n in sizes.items()),
        )


def _device_block(module: Any) -> Any:
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "func.func" and op.attributes["sym_name"].value == "kernel":
            found.append(op.regions[0].blocks[0])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found[0]


def _bind_numbers(
    emitter: Emitter, graph: TileGraph, tiling: Tiling, arguments: Sequence[Any]
) -> None:
    """The numbers of the entry after its tensors: those of the kernel, then sizes."""
    scalars = [n for n in _parameters(graph) if isinstance(n.op, Scalar)]
    for node, argument in zip(scalars, arguments, strict=False):
        emitter.bind_scalar(node, argument)
    for dim, argument in zip(tiling.dynamic, arguments[len(scalars) :], strict=True):
        emitter.positions.symbols[f"size_{dim}"] = argument


def _bind_symbols(emitter: Emitter, tiling: Tiling, target: Target) -> None:
    """Define the symbols of index formulas: workgroup, wave and lane numbers."""
    symbols = emitter.positions.symbols
    for dim in tiling.dims:
        if dim.split:
            assert dim.workgroup_dim is not None
            symbols[f"workgroup_{dim.workgroup_dim}"] = _workgroup_id(dim.workgroup_dim)
    if target.family == "cpu":
        symbols["lane"] = emitter.positions.index(0)
        return
    thread = gpu.thread_id(gpu.Dimension.x)
    index = emitter.positions.index
    if tiling.waves == 1:
        symbols["lane"] = thread
        return
    symbols["lane"] = arith.remui(thread, index(tiling.lanes))
    wave = arith.divui(thread, index(tiling.lanes))
    for dim in tiling.dims:
        if dim.waves > 1:
            own = arith.divui(wave, index(tiling.wave_stride(dim.name)))
            symbols[f"wave_{dim.name}"] = arith.remui(own, index(dim.waves))


def _workgroup_id(axis: int) -> Any:
    dimension = ir.IntegerAttr.get(ir.IndexType.get(), axis)
    made: Sequence[Any] = ir.Operation.create(
        "stream.dispatch.workgroup.id",
        results=[ir.IndexType.get()],
        attributes={"dimension": dimension},
    ).results
    return made[0]
