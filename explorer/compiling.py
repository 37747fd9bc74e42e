"""Compiling a kernel and calling it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from explorer.arguments import check_arguments, sized, written
from explorer.compiler.driver import EMIT, Lowered, Options, lower
from explorer.compiler.emit.module import Module, emit_module
from explorer.compiler.emit.shell import ENTRY
from explorer.compiler.emulator.launch import run as run_code
from explorer.compiler.emulator.report import EmulatorReport
from explorer.compiler.errors import BadOption, ExplorerError
from explorer.compiler.interpret.machine import Array
from explorer.compiler.ir.snapshot import forget_origins, snapshot
from explorer.compiler.lang.bindings import Bindings
from explorer.compiler.lang.targets import Target
from explorer.compiler.lang.targets import target as target_row
from explorer.compiler.lang.tiling import Tiling, check_grid
from explorer.compiler.record import PassRecord, Recording
from explorer.compiler.runtime.cache import cache_key, shared_cache
from explorer.compiler.runtime.devices import driver_of, require
from explorer.compiler.runtime.errors import MissingDevice
from explorer.compiler.runtime.executable import Executable
from explorer.compiler.runtime.pool import workers
from explorer.compiler.runtime.worker import Worker
from explorer.compiler.trace.kernel import Kernel
from explorer.interpreting import run_graph

_EMIT_DOC = """Write the lowered graph as MLIR, every operation with its place in the source.

    %y = maximum(%x, %p)
    ->
    %3 = arith.maximumf %1, %2 : vector<2xf32>   loc("kernel.py":12:8)
"""


def compile(  # noqa: A001 (the name people know)
    kernel: Kernel, bindings: Bindings, target: str | None = None, **options: Any
) -> CompiledKernel:
    """Compile ``kernel`` for ``target``.

    Args:
        kernel: what ``@tkw.wave`` made.
        bindings: a number for each symbol (or symbol name) of the kernel.
        target: ``cpu``, ``gfx942``, ``gfx1100``, ``sm_89``, ...; left out: ``cpu``.
        options: ``unroll_limit`` (most copies of a node before a loop is formed, 16),
            ``fast_math`` (let machine code reorder, contract and approximate float operations,
            False) and ``dynamic`` (dims left out of the bindings: one compiled kernel takes
            tensors of every size along them, masked at the edges)

    Raises:
        ExplorerError: the kernel or its numbers are refused. Its ``recording`` holds the passes up
            to the one that failed.
    """
    row = target_row(target or "cpu")
    chosen = Options.of(options)
    lowered, module = emit(lower(kernel, bindings, row, chosen), chosen)
    with workers().lease() as worker:
        executable = build(module, row, worker)
    return CompiledKernel(kernel, lowered, module, executable)


def emit(lowered: Lowered, options: Options) -> tuple[Lowered, Module]:
    """Emit MLIR and record it as the last pass."""
    before = lowered.recording.passes[-1].after
    forget_origins(lowered.graph)
    graph = snapshot(lowered.graph)
    start = time.perf_counter()
    try:
        module = emit_module(
            lowered.graph, lowered.tiling, lowered.target, fast_math=options.fast_math
        )
    except ExplorerError as error:
        failed = PassRecord(EMIT, _EMIT_DOC, "failed", before, graph, 0.0, str(error))
        error.recording = _with(lowered.recording, failed)
        raise
    record = PassRecord(EMIT, _EMIT_DOC, "unchanged", before, graph, time.perf_counter() - start)
    recording = replace(_with(lowered.recording, record), mlir=module.text)
    return replace(lowered, recording=recording), module


def _with(recording: Recording, record: PassRecord) -> Recording:
    return replace(recording, passes=(*recording.passes, record))


def build(module: Module, target: Target, worker: Worker) -> Executable:
    """Machine code for a module: from the cache, else compiled in the worker's process."""
    cache = shared_cache()
    key = cache_key(module.text, target=target.name)
    if (found := cache.get(key)) is not None:
        return found
    reply = worker.call("compile", {"mlir": module.located, "target": target.name})
    made = Executable(
        reply.arrays[0].tobytes(),
        reply.payload["isa"],
        reply.payload["resources"],
        reply.payload["seconds"],
    )
    cache.put(key, made)
    return made


@dataclass(frozen=True)
class Benchmark:
    """Times of several runs, in seconds."""

    device: str
    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle time."""
        return statistics.median(self.runs)

    @property
    def spread(self) -> float:
        """The distance between the quarter and three-quarter points."""
        if len(self.runs) == 1:
            return 0.0
        low, _, high = statistics.quantiles(self.runs, n=4)
        return high - low

    def __str__(self) -> str:
        note = " (emulation on this machine, not a GPU's time)" * (self.device == "emulator")
        return (
            f"{self.device}{note}: median {self.median * 1e3:.3f} ms, "
            f"spread {self.spread * 1e3:.3f} ms, {len(self.runs)} runs"
        )


class CompiledKernel:
    """A kernel compiled for one target. Call it with one array for each parameter."""

    def __init__(
        self, kernel: Kernel, lowered: Lowered, module: Module, executable: Executable
    ) -> None:
        self.kernel = kernel
        self.lowered = lowered
        self.executable = executable
        self.mlir = module.text
        self.recording = replace(
            lowered.recording, isa=executable.isa, resources=executable.resources
        )

    @property
    def target(self) -> Target:
        """The machine it was compiled for."""
        return self.lowered.target

    @property
    def isa(self) -> str:
        """Assembly text."""
        return self.executable.isa

    @property
    def resources(self) -> dict[str, Any]:
        """Registers, spills, shared memory, ... as far as the target's code tells."""
        return self.executable.resources

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n}={v}" for n, v in self.recording.bindings.items())
        return f"<{self.kernel.name} compiled for {self.target.name}: {sizes}>"

    def _repr_html_(self) -> str:
        return self.recording._repr_html_()

    def __call__(self, *arguments: Any) -> None:
        """Run on the target's device; for target cpu in this process, in place, without copies.

        Raises:
            WrongArgument: an argument of another shape, element type or device.
            MissingDevice: no device here runs this target's code.
        """
        self._run(self._check(arguments), self.target.device, repeats=1)

    def run(self, *arguments: Any, device: str | None = None) -> None:
        """Run on ``device``; written arguments change in place.

        Args:
            arguments: one array or tensor of this process for each parameter.
            device: ``local`` (the processor, for target cpu), ``hip`` or ``cuda`` (a GPU that runs
                the target's code; arguments are copied there and back), ``emulator`` (AMD machine
                code, executed on the processor), or ``interpreter`` (the graph itself, for every
                target); left out: the target's own.

        Raises:
            WrongArgument: an argument of another shape, element type or device.
            MissingDevice: the device is not here, or cannot run this target's code.
        """
        self._run(self._check(arguments), device or self.target.device, repeats=1)

    def _run(self, arrays: list[Array], device: str, *, repeats: int) -> tuple[float, ...]:
        """Run ``repeats`` times; the arrays hold what the first run gave. Seconds of each run."""
        kind = device.partition(":")[0]
        if kind == "interpreter":
            return tuple(_seconds(lambda: run_graph(self.lowered, arrays)) for _ in range(repeats))
        require_for(self.target, device)
        if kind == "emulator":
            return tuple(self._emulate(arrays).seconds for _ in range(repeats))
        if kind == "local":
            return tuple(_seconds(lambda: self._in_process(*arrays)) for _ in range(repeats))
        return self._run_on_gpu(arrays, device, repeats)

    def emulate(self, *arguments: Any) -> EmulatorReport:
        """Run AMD machine code on this machine's processor; written arguments change in place.

        Returns:
            What it counted: instructions, transactions, bank conflicts, idle lanes, ...

        Raises:
            WrongArgument: an argument of another shape, element type or device.
            MissingDevice: the code is for no AMD target.
            EmulationFault: the code did something wrong: an access outside of the arguments, a
                race in shared memory, a value that was never written, ...
        """
        require_for(self.target, "emulator")
        return self._emulate(self._check(arguments))

    def _emulate(self, arrays: Sequence[Array]) -> EmulatorReport:
        outputs, names = written(self.lowered.graph), [p.name for p in self.kernel.parameters]
        flags, tiling = [name in outputs for name in names], self._sized(arrays)
        sizes = [tiling[d].known for d in self.lowered.tiling.dynamic]
        return run_code(self.isa, arrays, written=flags, grid=tiling.grid, names=names, sizes=sizes)

    def _sized(self, arrays: Sequence[Array]) -> Tiling:
        return sized(self.lowered.tiling, self.lowered.graph, arrays)

    def _run_on_gpu(self, arrays: list[Array], device: str, repeats: int) -> tuple[float, ...]:
        payload = {"entry": ENTRY, "device": driver_of(device), "repeats": repeats, "warmup": 0}
        module = np.frombuffer(self.executable.vmfb, np.uint8)
        with workers().lease() as worker:
            reply = worker.call("run", payload, [module, *arrays])
        for array, result in zip(self._outputs(arrays), reply.arrays, strict=True):
            array[...] = result
        return tuple(reply.payload["seconds"])

    def _outputs(self, arrays: Sequence[Array]) -> list[Array]:
        names = written(self.lowered.graph)
        pairs = zip(self.kernel.parameters, arrays, strict=True)
        return [a for p, a in pairs if p.name in names]

    def benchmark(
        self, *arguments: Any, device: str | None = None, repeats: int = 20, warmup: int = 2
    ) -> Benchmark:
        """Time ``repeats`` runs on copies of the arguments, after ``warmup`` runs.

        Raises:
            BadOption: no repeats.
            WrongArgument: an argument of another shape, element type or device.
            MissingDevice: the device is not here, or cannot run this target's code.
        """
        if repeats < 1 or warmup < 0:
            raise BadOption(name="repeats", value=repeats, want="at least 1, and warmup at least 0")
        arrays = [a.copy() for a in self._check(arguments)]
        device = device or self.target.device
        runs = self._run(arrays, device, repeats=warmup + repeats)
        return Benchmark(device, runs[warmup:])

    def _check(self, arguments: Sequence[Any]) -> list[Array]:
        arrays = check_arguments(self.kernel, self.lowered.tiling, self.lowered.graph, arguments)
        if self.lowered.tiling.dynamic:
            check_grid(self._sized(arrays), self.target)
        return arrays

    @cached_property
    def _in_process(self) -> Any:
        from explorer.compiler.runtime.call import InProcess  # noqa: PLC0415 (loads IREE's runtime)

        outputs = written(self.lowered.graph)
        flags = [p.name in outputs for p in self.kernel.parameters]
        return InProcess(self.executable.vmfb, ENTRY, written=flags)


def _seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def require_for(target: Target, device: str) -> None:
    """Check that ``device`` is here and runs the target's code.

    Raises:
        MissingDevice: it is not, or does not.
    """
    emulator = "emulator, for this very code; " if target.family == "rocm" else ""
    if device == target.device == "local":
        return  # always here; looking for other devices would cost more than a small kernel
    instead = f"{emulator}interpreter, for the lanes of any target; or compile with target='cpu'"
    kind = device.partition(":")[0]
    try:
        require(kind, shown=device)
    except MissingDevice as error:
        raise MissingDevice(**{**error.facts, "usable": instead}) from None
    if kind == "emulator" and target.family == "rocm":
        return
    if kind != target.device:
        reason = f"the code is for {target.name}"
        raise MissingDevice(name=device, reason=reason, usable=instead)
