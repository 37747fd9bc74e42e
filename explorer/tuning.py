"""Trying many tile sizes of a kernel: which are legal, which are right, which is fastest."""

from __future__ import annotations

import hashlib
import platform
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from explorer.arguments import written
from explorer.checking import check
from explorer.compiler.driver import TRACE, Lowered, Options, lower
from explorer.compiler.emit.module import Module
from explorer.compiler.emit.shell import ENTRY
from explorer.compiler.errors import ExplorerError, InternalError
from explorer.compiler.interpret.machine import Array
from explorer.compiler.lang.bindings import Bindings
from explorer.compiler.lang.targets import Target
from explorer.compiler.lang.targets import target as target_row
from explorer.compiler.record import Recording
from explorer.compiler.runtime.cache import cache_key
from explorer.compiler.runtime.devices import devices, driver_of
from explorer.compiler.runtime.errors import TimeLimit
from explorer.compiler.runtime.wire import Data
from explorer.compiler.runtime.worker import Reply, Worker
from explorer.compiler.trace.kernel import Kernel
from explorer.compiling import Benchmark, build, emit, require_for
from explorer.trials import Inputs, Result, Trial
from explorer.tuning_result import Try, TuneResult
from explorer.tuning_space import checked_space, settings_of
from explorer.tuning_store import TuningStore

ROUNDS = 5
"""How often the sweep comes back to each setting to time it."""

VISIT = 0.05
"""Seconds of timed runs that a visit aims at."""

MOST_RUNS = 50
"""Timed runs of one visit at most."""

OnTrial = Callable[[Try, int, int], None]
"""``on_trial(try, done, total)``: a setting was tried, the ``done``-th of ``total``."""


def tune(
    kernel: Kernel,
    bindings: Bindings,
    inputs: Sequence[Any],
    space: Mapping[Any, Sequence[int]],
    target: str | None = None,
    device: str | None = None,
    on_trial: OnTrial | None = None,
    stop: threading.Event | None = None,
    *,
    time_limit: float = 120.0,
    reuse: bool = True,
    **options: Any,
) -> TuneResult:
    """Try every setting of ``space`` and find the fastest right one.

    First each setting is tried once, in order: settings that ``explorer.check`` refuses are told
    with their reason and never compiled; the others are compiled, run in a child process, and
    compared with the interpreter. Then the right ones are timed. A machine's speed drifts and other
    programs disturb it, so no setting is timed in one go: the sweep visits all of them in turn,
    five times, every other time backwards, with one run to warm up and then several timed ones.
    ``seconds`` is the median of all timed runs of a setting, ``spread`` the distance between their
    quarter points: two settings that differ by less than that are equally fast.

    What is found is kept on disk under a key of the kernel's code, its bindings and options, the
    values it reads, target, device, machine and versions. A setting that is found there is not
    run again; failures are not kept. Times of another day were not taken in turn with today's:
    ``reuse=False`` measures all anew.

    Args:
        kernel: what ``@tkw.wave`` made.
        bindings: a number for each symbol that is not swept.
        inputs: one array or tensor for each parameter; the sweep works on copies.
        space: symbols and the values to try; all combinations are tried.
        target: the machine to compile for; left out: ``cpu``.
        device: where to run; left out: the target's own if it is here, else the interpreter.
            Interpreter and emulator tell right from wrong, and give no times.
        on_trial: called with each setting that was tried, and how many of all are done.
        stop: once it is set, the sweep ends after the trial under way and gives what it has.
        time_limit: seconds that one setting may take to compile, run and check. Interpreter and
            emulator look at the clock only between their steps.
        reuse: whether to take what an earlier sweep found.
        options: as for ``compile``.

    Raises:
        UnknownBinding: a symbol that the kernel does not have.
        BadBinding: a value to try is no positive whole number.
        SweptSize: a symbol to sweep is a dimension of the inputs.
        WrongArgument: the inputs do not fit the kernel.
        MissingDevice: the device asked for is not here, or does not run the target's code.
    """
    row = target_row(target or "cpu")
    values = checked_space(kernel, space)
    settings = settings_of(kernel, bindings, values)
    if device is not None and device != "interpreter":
        require_for(row, device)
    with closing(TrialWorker()) as worker:
        sweep = Sweep(
            kernel,
            Inputs(tuple(inputs)),
            row,
            Options.of(options),
            device,
            worker,
            TuningStore(),
            time_limit,
            reuse,
            stop or threading.Event(),
        )
        tries, stopped = sweep.run(settings, on_trial or (lambda *_: None))
    return TuneResult(kernel.name, row.name, values, tuple(tries), stopped)


class TrialWorker(Worker):
    """A worker whose calls end when the time of the trial that they belong to is over."""

    deadline = float("inf")

    def call(
        self,
        task: str,
        payload: Data,
        arrays: Sequence[Array] = (),
        *,
        on_progress: Callable[[str, Data], None] | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """As ``Worker.call``, with what is left of the trial's time as its limit."""
        left = max(self.deadline - time.monotonic(), 1e-3)
        limit = min(left, timeout or left, threading.TIMEOUT_MAX)
        return super().call(task, payload, arrays, on_progress=on_progress, timeout=limit)


@dataclass
class Candidate:
    """A right setting that is still to be timed."""

    place: int
    """Its place among the tries."""
    key: str
    vmfb: Array
    first: float
    """Median of the first few runs, in seconds."""
    runs: list[float] = field(default_factory=list)

    @property
    def repeats(self) -> int:
        """Timed runs of one visit: many of a fast kernel, few of a slow one."""
        return max(1, min(MOST_RUNS, int(VISIT / max(self.first, 1e-9))))


@dataclass
class Sweep:
    """A kernel with all that a sweep needs but its settings."""

    kernel: Kernel
    inputs: Inputs
    target: Target
    options: Options
    device: str | None
    worker: TrialWorker
    store: TuningStore
    time_limit: float
    reuse: bool
    stop: threading.Event
    _arrays: list[Array] = field(default_factory=list)
    _candidates: list[Candidate] = field(default_factory=list)

    def run(self, settings: Sequence[dict[str, Any]], on_trial: OnTrial) -> tuple[list[Try], bool]:
        """All tries as far as they came, and whether the sweep was stopped."""
        tries: list[Try] = []
        for bindings in settings:
            if self.stop.is_set():
                break
            tries.append(self._try(bindings, len(tries)))
            on_trial(tries[-1], len(tries), len(settings))
        self._time(tries)
        return tries, self.stop.is_set()

    # --- one setting ---

    def _try(self, bindings: dict[str, Any], place: int) -> Try:
        """Check, compile, run and compare one setting."""
        if problems := check(self.kernel, bindings, self.target.name, **vars(self.options)):
            return Try(bindings, "illegal", f"{problems[0].summary}; {problems[0].advice}")
        try:
            lowered, module = emit(
                lower(self.kernel, bindings, self.target, self.options), self.options
            )
        except ExplorerError as error:  # a late pass refused it
            return Try(bindings, "illegal", _reason(error))
        self._arrays = self._arrays or self.inputs.copies(self.kernel, lowered)
        key = self._key(lowered, module)
        if self.reuse and (known := self.store.get(key, bindings)):
            return known
        return self._run(bindings, module, key, place)

    def _run(self, bindings: dict[str, Any], module: Module, key: str, place: int) -> Try:
        """Try a legal setting; a right one with a time becomes a candidate."""
        shown: list[Recording] = []
        try:
            result = self._trial(shown.append).run(bindings)
            executable = build(module, self.target, self.worker)
        except TimeLimit:
            limit = TimeLimit(task="this setting", seconds=self.time_limit)
            return Try(bindings, "failed", _reason(limit))
        except ExplorerError as error:
            return Try(bindings, "failed", _reason(error))
        except (InternalError, OSError, RuntimeError) as error:
            return Try(bindings, "failed", f"{type(error).__name__}: {error}")
        tried = _judged(bindings, result, shown[-1].resources)
        if tried.ok and result.seconds is not None:
            vmfb = np.frombuffer(executable.vmfb, np.uint8)
            self._candidates.append(Candidate(place, key, vmfb, result.seconds))
        else:
            self.store.put(key, tried)
        return tried

    def _trial(self, shown: Callable[[Recording], None]) -> Trial:
        """A trial whose time begins now."""
        self.worker.deadline = deadline = time.monotonic() + self.time_limit

        def progress(what: str, share: float) -> None:
            del share
            if time.monotonic() > deadline:
                raise TimeLimit(task=what, seconds=self.time_limit)

        return Trial(
            self.kernel,
            self.inputs,
            self.target,
            self.options,
            self.device,
            self.worker,
            progress,
            shown,
        )

    # --- timing ---

    def _time(self, tries: list[Try]) -> None:
        """Visit all candidates in turn, and put their times into ``tries``."""
        for i in range(ROUNDS):
            for candidate in self._candidates[:: 1 if i % 2 == 0 else -1]:
                if self.stop.is_set():
                    break
                self._visit(candidate, tries)
        for candidate in self._candidates:
            self._settle(candidate, tries)

    def _visit(self, candidate: Candidate, tries: list[Try]) -> None:
        self.worker.deadline = time.monotonic() + self.time_limit
        try:
            reply = self.worker.call(
                "run",
                {
                    "entry": ENTRY,
                    "device": driver_of(self._where),
                    "repeats": candidate.repeats,
                    "warmup": 1,
                },
                [candidate.vmfb, *self._arrays],
            )
        except ExplorerError as error:  # it ran before, and broke now
            self._candidates = [c for c in self._candidates if c is not candidate]
            place = candidate.place
            tries[place] = Try(tries[place].bindings, "failed", _reason(error))
        else:
            candidate.runs += reply.payload["seconds"]

    def _settle(self, candidate: Candidate, tries: list[Try]) -> None:
        """The final times of a setting; they are kept unless the sweep was cut short."""
        if not candidate.runs:
            return
        times = Benchmark(self._where, tuple(candidate.runs))
        tried = replace(
            tries[candidate.place],
            seconds=times.median,
            spread=times.spread,
            runs=len(times.runs),
        )
        tries[candidate.place] = tried
        if not self.stop.is_set():
            self.store.put(candidate.key, tried)

    # --- the key of what is kept ---

    @cached_property
    def _where(self) -> str:
        """The device that runs: the one asked for, else the target's own if it is here."""
        here = {d.name for d in devices().usable}
        own = self.target.device if self.target.device in here else "interpreter"
        return self.device or own

    def _key(self, lowered: Lowered, module: Module) -> str:
        """Key of a try: the code, the meaning that it is compared with, and all else that counts.

        The code's text follows from the kernel's trace, the bindings and the options.
        """
        meaning = str(lowered.recording[TRACE].after)
        content = [module.text, meaning, lowered.recording.bindings, self._read_values(lowered)]
        place = {"device": self._where, "host": platform.node(), "purpose": "tuning"}
        return cache_key(content, target=self.target.name, options=vars(self.options) | place)

    def _read_values(self, lowered: Lowered) -> list[str]:
        """A digest of each argument that the kernel reads; what it writes does not count."""
        outputs = written(lowered.graph)
        pairs = zip(self.kernel.parameters, self._arrays, strict=True)
        return [hashlib.sha256(a.tobytes()).hexdigest() for p, a in pairs if p.name not in outputs]


def _judged(bindings: dict[str, Any], result: Result, resources: Mapping[str, Any]) -> Try:
    return Try(
        bindings,
        "ok" if result.ok else "wrong",
        "" if result.ok else result.message,
        seconds=result.seconds,
        max_error=result.max_error,
        device=result.device,
        resources=dict(resources),
    )


def _reason(error: ExplorerError) -> str:
    return f"{error.summary}; {error.advice}" if error.advice else error.summary
