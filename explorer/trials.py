"""One trial of a kernel: lower, compile, run and check it, with its settings as they are.

This is what a slider's move sets off and what a sweep repeats. It works on private copies: the
caller's arrays stay as they are.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from explorer.arguments import check_arguments, sized, written
from explorer.compiler.driver import Lowered, Options, lower
from explorer.compiler.emit.shell import ENTRY
from explorer.compiler.errors import ExplorerError
from explorer.compiler.interpret.lanes import LaneMachine
from explorer.compiler.interpret.machine import Array
from explorer.compiler.lang.bindings import Bindings
from explorer.compiler.lang.targets import Target
from explorer.compiler.passes.infer_types import infer_types
from explorer.compiler.record import Recording
from explorer.compiler.runtime.devices import devices, driver_of
from explorer.compiler.runtime.executable import Executable
from explorer.compiler.runtime.worker import Worker
from explorer.compiler.trace.kernel import Kernel
from explorer.compiling import CompiledKernel, build, emit, require_for
from explorer.interpreting import Workgroup, all_workgroups, run_graph

TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}
"""Largest difference accepted between two ways to compute the same, relative to the largest value
of the row (at least 1): reductions add up in other orders, exponentials differ in the last bits."""

SAMPLED = 3
"""Workgroups that are run lane by lane: the first, the last and one between."""

REPEATS = 5
"""Timed runs of a trial, after one that warms up."""


@dataclass(frozen=True)
class Result:
    """What came of a trial. ``seconds`` is the median of a few runs; None if nothing could run."""

    ok: bool
    max_error: float | None
    seconds: float | None
    device: str
    message: str


@dataclass
class Inputs:
    """A kernel's arguments, and what it should make of them, computed once for each meaning."""

    arrays: Sequence[Any]
    _expected: dict[tuple[Any, ...], list[Array]] = field(default_factory=dict)

    def copies(self, kernel: Kernel, lowered: Lowered) -> list[Array]:
        """Private copies, checked.

        Raises:
            WrongArgument: they do not fit the kernel.
        """
        arrays = check_arguments(kernel, lowered.tiling, lowered.graph, self.arrays)
        return [a.copy() for a in arrays]

    def expected(
        self, kernel: Kernel, bindings: Bindings, target: Target, dynamic: Sequence[str] = ()
    ) -> list[Array]:
        """The arguments after the traced kernel ran on whole tiles, all workgroups at once.

        A loop's tile is part of the meaning; nothing else of the settings is.
        """
        options = Options(dynamic=tuple(dynamic))
        traced = lower(kernel, bindings, target, options, after=infer_types.name)
        key = tuple((d.name, d.size, d.loop_tile) for d in traced.tiling.dims)
        if key not in self._expected:
            arrays = self.copies(kernel, traced)
            run_graph(traced, arrays)
            self._expected = {key: arrays}
        return self._expected[key]


Progress = Callable[[str, float], None]
"""``progress(what, share)``: what is being done, and how much of all is done (0 to 1)."""


class Superseded(Exception):
    """No error: a trial was given up because a newer one was asked for."""


@dataclass(frozen=True)
class Trial:
    """A kernel with everything that a trial needs but its bindings.

    ``shown`` is called with each recording as it becomes known, ``progress`` before each stage;
    either may raise ``Superseded`` to stop.
    """

    kernel: Kernel
    inputs: Inputs
    target: Target
    options: Options
    device: str | None
    """Where to run; None: on the target's own device if it is here, else in the interpreter."""
    worker: Worker
    progress: Progress
    shown: Callable[[Recording], None]

    def run(self, bindings: Bindings) -> Result:
        """Lower, compile, run and check.

        Raises:
            ExplorerError: the settings are refused, or compiling or running failed.
        """
        self.progress("running the passes", 0.0)
        lowered, module = emit(
            lower(self.kernel, bindings, self.target, self.options), self.options
        )
        self.shown(lowered.recording)
        self.progress("compiling", 0.2)
        executable = build(module, self.target, self.worker)
        self.shown(replace(lowered.recording, isa=executable.isa, resources=executable.resources))
        self.progress("computing what it should give", 0.6)
        want = self.inputs.expected(self.kernel, bindings, self.target, self.options.dynamic)
        device = self._device()
        if device == "interpreter":
            return self._only_lanes(lowered, want)
        self.progress("running", 0.7)
        if device == "emulator":
            compiled = CompiledKernel(self.kernel, lowered, module, executable)
            seconds, got = None, self._emulate(compiled)
        else:
            seconds, got = self._execute(lowered, executable, device)
        self.progress("checking", 0.9)
        return _verdict(device, compare(want, got), self._lanes(lowered, want), seconds)

    def _device(self) -> str:
        """Where to run.

        Raises:
            MissingDevice: the device asked for is not here, or does not run the target's code.
        """
        if self.device == "interpreter":
            return self.device
        if self.device is not None:
            require_for(self.target, self.device)
            return self.device
        here = {d.name for d in devices().usable}
        return self.target.device if self.target.device in here else "interpreter"

    def _execute(
        self, lowered: Lowered, executable: Executable, device: str
    ) -> tuple[float, list[Array]]:
        arrays = self.inputs.copies(self.kernel, lowered)
        payload = {"entry": ENTRY, "device": driver_of(device), "repeats": REPEATS, "warmup": 1}
        module = np.frombuffer(executable.vmfb, np.uint8)
        reply = self.worker.call("run", payload, [module, *arrays])
        outputs = written(lowered.graph)
        results = iter(reply.arrays)
        for i, p in enumerate(self.kernel.parameters):
            if p.name in outputs:
                arrays[i] = next(results)
        return statistics.median(reply.payload["seconds"]), arrays

    def _emulate(self, compiled: CompiledKernel) -> list[Array]:
        """What the machine code makes of the arguments, executed here; its time is no GPU's."""
        arrays = self.inputs.copies(self.kernel, compiled.lowered)
        compiled.run(*arrays, device="emulator")
        return arrays

    def _only_lanes(self, lowered: Lowered, want: list[Array]) -> Result:
        self.progress("running sampled workgroups in the interpreter", 0.7)
        lanes = self._lanes(lowered, want)
        verdict = _verdict("interpreter", lanes, lanes, None)
        why = "" if self.device else f"{self.target.name} code compiled, no such device is here; "
        text = f"{why}{SAMPLED} sampled workgroups in the interpreter; {verdict.message}"
        return replace(verdict, message=text)

    def _lanes(self, lowered: Lowered, want: list[Array]) -> Difference:
        """Run sampled workgroups lane by lane: the worst element of what they wrote."""
        arrays = self.inputs.copies(self.kernel, lowered)
        counts = {
            i: np.zeros(a.shape, np.int64)
            for i, (p, a) in enumerate(zip(self.kernel.parameters, arrays, strict=True))
            if p.name in written(lowered.graph)
        }
        tiling = sized(lowered.tiling, lowered.graph, arrays)
        for workgroup in sample(list(all_workgroups(tiling))):
            self.progress(f"checking workgroup {workgroup}", 0.9)
            LaneMachine(lowered.graph, tiling, arrays, workgroup, counts).run()
        got = [np.where(count > 0, arrays[i], want[i]) for i, count in counts.items()]
        return compare([want[i] for i in counts], got)


def sample(workgroups: Sequence[Workgroup]) -> Iterable[Workgroup]:
    """The first, the last and one between, each once."""
    last = len(workgroups) - 1
    return [workgroups[i] for i in sorted({0, last // 2, last})]


Difference = tuple[float, float]
"""The error of the worst element, and the error that was allowed for it."""


def compare(want: Sequence[Array], got: Sequence[Array]) -> Difference:
    """The worst element of all arguments."""
    pairs = [difference(w, g) for w, g in zip(want, got, strict=True)]
    return max(pairs, key=lambda pair: _share(np.asarray(pair[0]), np.asarray(pair[1])))


def difference(want: Array, got: Array) -> Difference:
    """The worst element of two arrays. Equal infinities do not differ, nor do two NaN.

    An element may be off by a share of the largest finite value of its row (at least of 1): what
    one huge row may lose says nothing about the others.
    """
    tolerance = TOLERANCE.get(_name(want), 0.0)
    wide = np.float64 if want.dtype.kind not in "iub" else np.int64
    w, g = want.astype(wide), got.astype(wide)
    with np.errstate(all="ignore"):
        same = (w == g) | ((w != w) & (g != g))
        off = np.where(same, 0.0, np.abs(w - g))
        finite = np.where(np.isfinite(w), np.abs(w), 0)
        row = finite.max(axis=-1, keepdims=True, initial=1)
        allowed = np.broadcast_to(tolerance * row, off.shape)
        off = np.where(np.isnan(off), np.inf, off)
    if not off.size:
        return 0.0, tolerance
    worst = int(np.argmax(_share(off, allowed)))
    return float(off.flat[worst]), float(allowed.flat[worst])


def _share(off: Array, allowed: Array) -> Array:
    """How much of what is allowed was used; infinite where nothing is allowed and something off."""
    with np.errstate(all="ignore"):
        return np.where(off == 0, 0.0, off / allowed)


def _name(array: Array) -> str:
    return {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}.get(
        array.dtype.name, ""
    )


def _verdict(device: str, run: Difference, lanes: Difference, seconds: float | None) -> Result:
    """What to say of the worst elements of a run and of the lanes' interpreter."""
    for what, (error, allowed) in (("WRONG", run), ("WRONG lane by lane", lanes)):
        if not error <= allowed:
            message = f"{what}: max error {error:.3g}, allowed {allowed:.3g}"
            return Result(False, error, seconds, device, message)
    error, allowed = max(run, lanes)
    return Result(True, error, seconds, device, f"allowed {allowed:.2g}")


def failed(error: ExplorerError, device: str) -> Result:
    """The result of a trial that was refused or broke."""
    return Result(False, None, None, device, str(error))
