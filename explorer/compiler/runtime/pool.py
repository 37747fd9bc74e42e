"""Warm worker processes for everybody in this process who compiles or runs.

A call leases a worker and gives it back; a spare one stays warm, so that after a cancel (which ends
the worker's child process) the next call need not wait for a new one to start.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache

from explorer.compiler.runtime.worker import Worker

IDLE = 2
"""Most workers that are kept while nobody uses them."""


class WorkerPool:
    """Workers that are leased one call at a time."""

    def __init__(self) -> None:
        self._idle: list[Worker] = []
        self._lock = threading.Lock()

    def warm(self, count: int = IDLE) -> None:
        """See to it that ``count`` workers are started; they get ready in the background."""
        with self._lock:
            while len(self._idle) < min(count, IDLE):
                self._idle.append(Worker())
            for worker in self._idle:
                worker.warm()

    @contextmanager
    def lease(self) -> Generator[Worker]:
        """A worker for a while: the warmest there is."""
        with self._lock:
            worker = self._idle.pop() if self._idle else Worker()
        try:
            yield worker
        finally:
            self._give_back(worker)

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            keep, alive = len(self._idle) < IDLE, worker.pid is not None
            if keep:
                # Without a child it needs time to get warm, so the others go first.
                self._idle.insert(len(self._idle) if alive else 0, worker)
        if not keep:
            worker.close()
        elif not alive:
            with suppress(OSError):  # the next call says what is wrong
                worker.warm()

    def close(self) -> None:
        """End all idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()


@cache
def workers() -> WorkerPool:
    """The pool of this process; it is closed when the process ends."""
    pool = WorkerPool()
    atexit.register(pool.close)
    return pool
