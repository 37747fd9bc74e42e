"""The parent's side of the worker process: tasks go out, results, progress and errors come back."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from typing import BinaryIO, cast

from explorer.compiler.errors import ExplorerError, InternalError
from explorer.compiler.runtime.errors import Cancelled, RemoteError, TimeLimit, WorkerDied
from explorer.compiler.runtime.wire import Array, Data, Message, encode, receive, send

_STDERR_LINES = 12


@dataclass(frozen=True)
class Reply:
    """What a task gave."""

    payload: Data
    arrays: list[Array]


class Worker:
    """One warm child process that compiles and runs, one task at a time.

    Calls from several threads wait for each other. Whatever happens to the child, the next call
    works: it starts a new one.
    """

    def __init__(self, *, allowed: Sequence[str] = ("explorer.",)) -> None:
        """Nothing is started yet.

        Args:
            allowed: what the modules of tasks named ``package.module:function`` may begin with.
        """
        self._allowed = tuple(allowed)
        self._turn = threading.Lock()
        self._state = threading.Lock()
        self._child: _Child | None = None
        self._running: _Call | None = None

    def warm(self) -> None:
        """Start the child ahead of need; it imports IREE while this returns at once."""
        with self._state:
            self._living_child()

    def call(
        self,
        task: str,
        payload: Data,
        arrays: Sequence[Array] = (),
        *,
        on_progress: Callable[[str, Data], None] | None = None,
        timeout: float | None = None,
    ) -> Reply:
        """Run a task in the child and wait for it.

        Args:
            task: a name of ``tasks.TASKS``, or ``package.module:function``.
            payload: JSON data.
            arrays: numpy arrays; bytes travel as an array of uint8.
            on_progress: called with what the task reports, in this thread.
            timeout: seconds, counted from when it is this call's turn.

        Raises:
            TypeError: JSON cannot hold the payload, or no message such an array.
            ExplorerError: the task's own error, of its own class where that is known here, else a
                RemoteError.
            InternalError: the task failed in another way; the message is its traceback.
            Cancelled: ``cancel`` was called meanwhile.
            TimeLimit: the time ran out.
            WorkerDied: the child crashed.
            OSError: this machine can start no process.
        """
        request = encode({"task": task, "payload": payload}, arrays)
        with self._turn, self._begin(task, timeout) as running:
            try:
                running.child.send(request)
                return self._answer(running, on_progress)
            finally:
                # Interrupted before the answer, the child is in the middle of something.
                if not running.answered:
                    running.child.kill()

    def cancel(self) -> None:
        """Stop the running call, if there is one, from any thread. It raises Cancelled."""
        with self._state:
            if self._running is not None:
                self._running.stop(Cancelled(task=self._running.task))

    @property
    def busy(self) -> bool:
        """Whether a call is running now."""
        with self._state:
            return self._running is not None

    def close(self) -> None:
        """End the child. A later call starts a new one."""
        self.cancel()
        with self._state:
            child, self._child = self._child, None
        if child is not None:
            child.dispose()

    @property
    def pid(self) -> int | None:
        """Process id of the child, None when there is none."""
        with self._state:
            return self._child.process.pid if self._child and self._child.alive else None

    @contextlib.contextmanager
    def _begin(self, task: str, timeout: float | None) -> Generator[_Call]:
        with self._state:
            running = self._running = _Call(task, self._living_child())
        clock = None
        if timeout is not None:
            limit = TimeLimit(task=task, seconds=timeout)
            clock = threading.Timer(timeout, running.stop, (limit,))
            clock.daemon = True
            clock.start()
        try:
            yield running
        finally:
            with self._state:
                self._running = None
            if clock is not None:
                clock.cancel()

    def _living_child(self) -> _Child:
        if self._child is not None and not self._child.alive:
            self._child.dispose()
            self._child = None
        self._child = self._child or _Child(self._allowed)
        return self._child

    def _answer(self, running: _Call, on_progress: Callable[[str, Data], None] | None) -> Reply:
        while (message := running.child.receive()) is not None:
            if message.data["kind"] != "progress":
                running.answered = True
                return _reply(message)
            if on_progress is not None:
                on_progress(message.data["name"], message.data["data"])
        how, stderr = running.child.last_words()
        raise running.verdict or WorkerDied(how=how, task=running.task, stderr=stderr)


class _Call:
    """One call under way, and why it was stopped if it was."""

    def __init__(self, task: str, child: _Child) -> None:
        self.task = task
        self.child = child
        self.answered = False
        self.verdict: ExplorerError | None = None

    def stop(self, verdict: ExplorerError) -> None:
        """End the call by ending its child."""
        if not self.answered:
            self.verdict = self.verdict or verdict
            self.child.kill()


class _Child:
    """The process itself, its two pipes, and the last lines of its stderr."""

    process: subprocess.Popen[bytes]

    def __init__(self, allowed: Sequence[str]) -> None:
        self._lines: deque[str] = deque(maxlen=_STDERR_LINES)
        self._refusal: OSError | None = None
        self._started = threading.Event()
        # Linux ends the child when the *thread* that started it ends, so that thread must stay
        # for as long as the child lives: it is the one that collects the child's stderr.
        self._keeper = threading.Thread(target=self._keep, args=(allowed,), daemon=True)
        self._keeper.start()
        self._started.wait()
        if self._refusal is not None:
            raise self._refusal

    def _keep(self, allowed: Sequence[str]) -> None:
        try:
            self.process = _start(allowed)
        except OSError as error:
            self._refusal = error
            return
        finally:
            self._started.set()
        for line in cast("BinaryIO", self.process.stderr):
            self._lines.append(line.decode(errors="replace").rstrip())
        self.process.wait()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def send(self, request: Sequence[bytes | memoryview]) -> None:
        # A dead child is noticed where its answer is awaited; ValueError: it was disposed of.
        with contextlib.suppress(OSError, ValueError):
            send(cast("BinaryIO", self.process.stdin), request)

    def receive(self) -> Message | None:
        with contextlib.suppress(ValueError):
            return receive(cast("BufferedReader", self.process.stdout))
        return None

    def kill(self) -> None:
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)  # the linker that IREE starts, too
        self._keeper.join()

    def dispose(self) -> None:
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):  # what a dead child did not read
                cast("BinaryIO", pipe).close()

    def last_words(self) -> tuple[str, str]:
        """How the process ended, and what it said last."""
        self._keeper.join()
        lines = "".join(f"\n  {line}" for line in self._lines if line)
        return _how(self.process.returncode), f"; its last lines were:{lines}" if lines else ""


def _start(allowed: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "explorer.compiler.runtime.child", *allowed],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": _module_path(), "PYTHONSAFEPATH": "1"},
        start_new_session=True,  # a notebook interrupts its whole process group
    )


def _module_path() -> str:
    """The child finds the modules that this process finds, in the same places."""
    return os.pathsep.join(path or os.getcwd() for path in sys.path)  # noqa: PTH109


def _how(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _reply(message: Message) -> Reply:
    match message.data:
        case {"kind": "result", "payload": payload}:
            return Reply(payload, message.arrays)
        case {"kind": "error", "class": name, "message": text}:
            raise _revive(name, text)
        case data:
            raise InternalError(data["message"])


def _revive(name: str, text: str) -> ExplorerError:
    """The child's error here: of the same class when this process knows it, with the same text."""
    for kind in _error_classes(ExplorerError):
        if f"{kind.__module__}.{kind.__qualname__}" == name:
            error = kind.__new__(kind, text)
            error.summary, error.advice, error.location, error.facts = text, "", None, {}
            return error
    return RemoteError(message=text)


def _error_classes(base: type[ExplorerError]) -> Iterator[type[ExplorerError]]:
    yield base
    for derived in base.__subclasses__():
        yield from _error_classes(derived)
