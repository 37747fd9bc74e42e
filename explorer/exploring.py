"""The explorer widget at work: requests in, recordings and results out, nothing blocked.

Whoever asks for new settings (a slider, ``set``) only leaves a request; the latest wins. One thread
takes requests and does the work; machine code is compiled and run in a child process of the pool,
which is ended when a newer request comes. The pool keeps a spare one warm for that.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from explorer.checking import check
from explorer.compiler.driver import Options, lower
from explorer.compiler.errors import (
    BadBinding,
    ExplorerError,
    UnknownBinding,
    did_you_mean,
)
from explorer.compiler.lang.bindings import Bindings
from explorer.compiler.lang.targets import target as target_row
from explorer.compiler.record import Recording
from explorer.compiler.runtime.errors import Cancelled
from explorer.compiler.runtime.pool import workers
from explorer.compiler.runtime.worker import Worker
from explorer.compiler.trace.kernel import Kernel
from explorer.trials import Inputs, Result, Superseded, Trial, failed
from explorer.viz.widgets.explorer_widget import ExplorerWidget, TileSlider


def explore(
    kernel: Kernel,
    bindings: Bindings,
    inputs: Sequence[Any],
    sliders: Mapping[Any, Sequence[int]] | None = None,
    target: str | None = None,
    device: str | None = None,
    **options: Any,
) -> Exploration:
    """Show ``kernel`` pass by pass, with sliders that recompile and rerun it.

    Args:
        kernel: what ``@tkw.wave`` made.
        bindings: a number for each symbol; where the sliders start.
        inputs: one array or tensor for each parameter; the explorer works on copies.
        sliders: symbols and the values their sliders offer.
        target: the machine to compile for; left out: ``cpu``.
        device: where to run; left out: the target's own if it is here, else the interpreter.
        options: as for ``compile``.

    Raises:
        UnknownBinding: a slider for a symbol that the kernel does not have.
        BadBinding: a slider's value is no positive whole number.
    """
    made = Exploration(
        kernel, bindings, inputs, sliders or {}, target or "cpu", Options.of(options), device
    )
    made.start()
    return made


@dataclass(frozen=True)
class Request:
    """Settings that somebody asked for; a higher serial number is newer."""

    serial: int
    bindings: dict[str, Any]


class Exploration:
    """A kernel under exploration. Shown in a notebook, it is the widget."""

    def __init__(
        self,
        kernel: Kernel,
        bindings: Bindings,
        inputs: Sequence[Any],
        sliders: Mapping[Any, Sequence[int]],
        target: str,
        options: Options,
        device: str | None = None,
    ) -> None:
        self.kernel = kernel
        self.target = target_row(target)
        self.options = options
        self.device = device
        self.inputs = Inputs(tuple(inputs))
        self.sliders = _checked_sliders(kernel, sliders)
        self.result: Result | None = None
        start = {str(k): v for k, v in bindings.items()}
        self._changed = threading.Condition()
        self._newest = Request(0, start)
        self._done = 0
        self._closed = False
        self._worker: Worker | None = None
        self.recording, problem = self._first_look()
        self.widget = ExplorerWidget(
            self.recording,
            sliders=self._slider_states(start),
            on_request=_weakly(self, lambda exploration, values: exploration.set(**values)),
            on_stop=_weakly(self, lambda exploration: exploration.stop()),
        )
        if problem:
            self.widget.show_error(problem)

    # --- what people call ---

    @property
    def bindings(self) -> dict[str, Any]:
        """The newest settings asked for, by symbol name."""
        return dict(self._newest.bindings)

    def set(self, **values: int) -> None:
        """Ask for new values of some symbols, as a slider does. Returns at once.

        Raises:
            UnknownBinding: the kernel has no such symbol.
            BadBinding: a value is no positive whole number.
        """
        known = sorted(self.kernel.size_symbols)
        for name, value in values.items():
            if name not in known:
                raise UnknownBinding(
                    name=name, guess=did_you_mean(name, known), known=", ".join(known)
                )
            if type(value) is not int or value <= 0:
                raise BadBinding(name=name, value=value, want="it must be a positive whole number")
        with self._changed:
            self._newest = Request(self._newest.serial + 1, {**self._newest.bindings, **values})
            self._changed.notify_all()
            self._interrupt()

    def wait(self, timeout: float | None = None) -> Result | None:
        """Block until the newest request is done and return its result.

        Raises:
            TimeoutError: it took longer than ``timeout`` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._done >= self._newest.serial, timeout):
                msg = f"no result within {timeout} s"
                raise TimeoutError(msg)
        return self.result

    def stop(self) -> None:
        """Give up the running request; what was shown before stays."""
        with self._changed:
            self._newest = Request(self._newest.serial + 1, self._newest.bindings)
            self._done = self._newest.serial
            self._changed.notify_all()
        self._interrupt()
        self.widget.show_idle("stopped")

    def step(self, name: str) -> None:
        """Show the pass called ``name``."""
        self.widget.step(name)

    def select(self, node: str) -> None:
        """Select a node of the shown graph."""
        self.widget.select(node)

    def describe(self) -> str:
        """What is shown, in words."""
        return self.widget.describe()

    def close(self) -> None:
        """End the thread, and the child process if one is at work."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._interrupt()

    def __repr__(self) -> str:
        return f"<exploration of {self.kernel.name} for {self.target.name}>"

    def _ipython_display_(self) -> None:
        self.widget._ipython_display_()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.widget._repr_mimebundle_(**kwargs)

    # --- the working thread ---

    def start(self) -> None:
        """Begin with the first settings."""
        workers().warm()
        with self._changed:
            self._newest = Request(1, self._newest.bindings)
        thread = threading.Thread(target=_work, args=(weakref.ref(self),), daemon=True)
        thread.start()

    def next_request(self, patience: float) -> Request | None:
        """The newest request that is not done, waiting up to ``patience`` seconds for one."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._done < self._newest.serial, patience
            )
            return self._newest if self._done < self._newest.serial else None

    def handle(self, request: Request) -> None:
        """Do what a request asks for and show it."""
        try:
            with workers().lease() as worker, self._working_with(worker):
                result = self._trial(request, worker).run(request.bindings)
        except (Superseded, Cancelled):
            return
        except ExplorerError as error:
            result = failed(error, self.target.device)
            self._show_error(request, error)
        except Exception as error:
            result = self._flaw(error)
        self._finish(request, result)

    def _flaw(self, error: Exception) -> Result:
        message = f"internal error: {type(error).__name__}: {error}"
        self.widget.show_error(message)
        return Result(False, None, None, self.target.device, message)

    def _finish(self, request: Request, result: Result) -> None:
        if request.serial != self._newest.serial:
            return
        if result.max_error is not None:
            self.widget.show_result(**vars(result))
        try:
            self.widget.show_sliders(self._slider_states(request.bindings, grey=True))
        except Exception as error:
            result = self._flaw(error)
        with self._changed:
            self.result = result
            self._done = max(self._done, request.serial)
            self._changed.notify_all()

    def _trial(self, request: Request, worker: Worker) -> Trial:
        def progress(what: str, share: float) -> None:
            self._stop_if_old(request)
            self.widget.show_progress(what, share)

        def shown(recording: Recording) -> None:
            self._stop_if_old(request)
            self.recording = recording
            self.widget.show_recording(recording)

        return Trial(
            self.kernel,
            self.inputs,
            self.target,
            self.options,
            self.device,
            worker,
            progress,
            shown,
        )

    def _stop_if_old(self, request: Request) -> None:
        if request.serial != self._newest.serial or self._closed:
            raise Superseded

    def _show_error(self, request: Request, error: ExplorerError) -> None:
        if request.serial != self._newest.serial:
            return
        if error.recording is not None and error.recording.passes:
            self.recording = error.recording
            self.widget.show_recording(error.recording)
        self.widget.show_error(str(error))

    def _interrupt(self) -> None:
        """End the child that works for an older request; a spare one takes its place."""
        with self._changed:
            if self._worker is not None:
                self._worker.cancel()

    @contextmanager
    def _working_with(self, worker: Worker) -> Generator[None]:
        with self._changed:
            self._worker = worker
        try:
            yield
        finally:
            with self._changed:
                self._worker = None  # from here on it may work for others

    def _first_look(self) -> tuple[Recording, str]:
        """What the passes make of the first settings, and what they say against them."""
        try:
            lowered = lower(self.kernel, self._newest.bindings, self.target, self.options)
        except ExplorerError as error:
            if error.recording is None:  # it has nothing to do with the settings
                raise
            return error.recording, str(error)
        return lowered.recording, ""

    def _slider_states(self, now: Mapping[str, Any], *, grey: bool = False) -> list[TileSlider]:
        """All sliders where they stand; with ``grey`` also which positions are illegal, and why."""
        return [
            TileSlider(
                name,
                tuple(sorted({*values, now[name]})),
                now[name],
                self._illegal(now, name, values) if grey else {},
            )
            for name, values in self.sliders.items()
            if isinstance(now.get(name), int)
        ]

    def _illegal(self, now: Mapping[str, Any], name: str, values: Sequence[int]) -> dict[int, str]:
        """Values of one slider that the kernel refuses while the others stay, with the reason."""
        found: dict[int, str] = {}
        for value in values:
            settings = {**now, name: value}
            if problems := check(self.kernel, settings, self.target.name, **vars(self.options)):
                found[value] = f"{problems[0].summary}; {problems[0].advice}"
        return found


def _weakly(exploration: Exploration, call: Callable[..., None]) -> Callable[..., None]:
    """``call`` on the exploration as long as somebody keeps it: the widget alone does not."""
    reference = weakref.ref(exploration)

    def called(*args: Any) -> None:
        if (alive := reference()) is not None:
            call(alive, *args)

    return called


def _work(reference: weakref.ref[Exploration]) -> None:
    """Handle requests until the exploration is closed or forgotten."""
    while (exploration := reference()) is not None and not exploration._closed:
        request = exploration.next_request(1.0)
        if request is not None:
            exploration.handle(request)
        del exploration, request


def _checked_sliders(
    kernel: Kernel, sliders: Mapping[Any, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    known = sorted(kernel.size_symbols)
    made: dict[str, tuple[int, ...]] = {}
    for symbol, values in sliders.items():
        name = str(symbol)
        if name not in known:
            raise UnknownBinding(name=name, guess=did_you_mean(name, known), known=", ".join(known))
        for value in values:
            if not isinstance(value, int) or value <= 0:
                raise BadBinding(
                    name=name, value=value, want="a slider's values are positive whole numbers"
                )
        made[name] = tuple(values)
    return made
