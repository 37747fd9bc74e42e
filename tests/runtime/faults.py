"""Tasks that go wrong on purpose, for the tests of the worker."""

from __future__ import annotations

import os
import signal
import sys
import time

from explorer.compiler.errors import MissingBinding
from explorer.compiler.runtime.tasks import Outcome, Progress
from explorer.compiler.runtime.wire import Array, Data


def sleep(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    progress("asleep", {"pid": os.getpid()})
    time.sleep(payload["seconds"])
    return {}, []


def abort(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    sys.stderr.write("LLVM ERROR: out of luck\n")
    sys.stderr.flush()
    os.abort()


def segfault(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    os.kill(os.getpid(), signal.SIGSEGV)
    return {}, []


def user_error(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    raise MissingBinding(missing="BLOCK_{N}", known="M, N")


def bug(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    return payload["no such key"], []


def unsendable(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    return {"what": object()}, []


def steps(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    for i in range(payload["count"]):
        progress("step", {"i": i})
    return {"done": True}, [array * 2 for array in arrays]


def chatter(payload: Data, arrays: list[Array], progress: Progress) -> Outcome:
    """Writes where libraries write, which must not reach the parent as an answer."""
    os.write(1, b"noise of a library\n")
    sys.stdout.write("noise of a print\n")
    sys.stdout.flush()
    return {"stdin": sys.stdin.read(), "answer": 1}, []
