"""The worker process: ``python -m explorer.compiler.runtime.child [ALLOWED_PREFIX ...]``.

It reads tasks from its standard input, one at a time, and answers on its standard output. It ends
when its input does, or with the process that started it.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from io import BufferedReader
from typing import BinaryIO

from explorer.compiler.errors import ExplorerError
from explorer.compiler.runtime.tasks import find_task
from explorer.compiler.runtime.wire import Data, Message, encode, receive, send

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>


def main(allowed: Sequence[str]) -> None:
    """Serve tasks until the parent goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    _die_with_parent()
    requests, answers = _take_streams()
    waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests, waiting), daemon=True).start()
    while True:
        _serve(waiting.get(), answers, allowed)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _take_streams() -> tuple[BufferedReader, BinaryIO]:
    """The two pipes to the parent, and nobody else's: what libraries print goes to stderr."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return requests, answers


def _read(requests: BufferedReader, waiting: queue.SimpleQueue[Message]) -> None:
    """Pass requests on. It has its own thread so that the end of input is seen during a task."""
    while (message := receive(requests)) is not None:
        waiting.put(message)
    os._exit(0)


def _serve(request: Message, answers: BinaryIO, allowed: Sequence[str]) -> None:
    def progress(name: str, data: Data) -> None:
        send(answers, encode({"kind": "progress", "name": name, "data": data}))

    try:
        task = find_task(request.data["task"], allowed)
        payload, arrays = task(request.data["payload"], request.arrays, progress)
        parts = encode({"kind": "result", "payload": payload}, arrays)
    except Exception as error:  # whatever a task raises, the parent hears of it
        parts = encode(_describe(error))
    send(answers, parts)


def _describe(error: Exception) -> Data:
    if isinstance(error, ExplorerError):
        kind = type(error)
        name = f"{kind.__module__}.{kind.__qualname__}"
        return {"kind": "error", "class": name, "message": str(error)}
    return {"kind": "failure", "message": traceback.format_exc()}


if __name__ == "__main__":
    main(sys.argv[1:] or ["explorer."])
