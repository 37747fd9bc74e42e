"""The worker process: tasks, progress, errors, cancelling, crashes, and its end."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from explorer.compiler.errors import InternalError, MissingBinding
from explorer.compiler.runtime.errors import (
    Cancelled,
    CompilerFailed,
    TimeLimit,
    UnknownTask,
    WorkerDied,
)
from explorer.compiler.runtime.wire import encode, receive
from explorer.compiler.runtime.worker import Worker
from runtime.modules import doubled

FAULTS = "runtime.faults"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker(allowed=("explorer.", f"{FAULTS}"))
    yield worker
    worker.close()


def eventually(fact: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not fact() and time.monotonic() < end:
        time.sleep(0.02)
    return fact()


def runs(pid: int) -> bool:
    """Whether a process exists and is no mere entry waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    caught: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    return thread, caught


# --- messages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array(2.5),
        np.zeros((0, 3), np.float16),
        np.arange(9)[::2],
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.ones(3, ml_dtypes.bfloat16),
        np.array([True]),
    ],
    ids=lambda a: f"{a.dtype}{list(a.shape)}",
)
def test_a_message_arrives_as_it_was_sent(array: np.ndarray) -> None:
    stream = io.BytesIO(b"".join(map(bytes, encode({"a": [1, None, "ü"]}, [array, array]))))
    message = receive(stream)
    assert message is not None
    assert message.data == {"a": [1, None, "ü"]}
    for arrived in message.arrays:
        assert (arrived.dtype, arrived.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(arrived, array)
    assert receive(stream) is None


def test_a_cut_message_is_none_at_every_length() -> None:
    whole = b"".join(map(bytes, encode({"a": 1}, [np.arange(3)])))
    assert all(receive(io.BytesIO(whole[:n])) is None for n in range(len(whole)))


def test_objects_cannot_be_sent() -> None:
    with pytest.raises(TypeError, match="array of object"):
        encode({}, [np.array([object()])])
    with pytest.raises(TypeError, match="not JSON serializable"):
        encode({"a": object()})


# --- tasks ----------------------------------------------------------------------------------------


def test_compile_and_run(worker: Worker) -> None:
    code = worker.call("compile", {"mlir": doubled("bf16"), "target": "cpu"})
    assert "\nk:\n" in code.payload["isa"]
    a = np.arange(16).astype(ml_dtypes.bfloat16)
    request = {"entry": "main", "device": "local-task", "repeats": 3, "warmup": 1}
    ran = worker.call("run", request, [code.arrays[0], a, np.zeros_like(a)])
    assert len(ran.payload["seconds"]) == 3
    np.testing.assert_array_equal(ran.arrays[0], a + a)


def test_progress_arrives_in_order_and_in_the_callers_thread(worker: Worker) -> None:
    seen: list[tuple[str, int, threading.Thread]] = []
    reply = worker.call(
        f"{FAULTS}:steps",
        {"count": 50},
        [np.arange(3)],
        on_progress=lambda name, data: seen.append((name, data["i"], threading.current_thread())),
    )
    assert [(name, i) for name, i, _ in seen] == [("step", i) for i in range(50)]
    assert {thread for *_, thread in seen} == {threading.current_thread()}
    assert reply.payload == {"done": True}
    np.testing.assert_array_equal(reply.arrays[0], [0, 2, 4])


def test_what_libraries_print_is_no_answer(worker: Worker) -> None:
    assert worker.call(f"{FAULTS}:chatter", {}).payload == {"stdin": "", "answer": 1}


def test_a_users_error_keeps_its_class_and_text(worker: Worker) -> None:
    with pytest.raises(MissingBinding) as caught:
        worker.call(f"{FAULTS}:user_error", {})
    assert str(caught.value) == str(MissingBinding(missing="BLOCK_{N}", known="M, N"))
    with pytest.raises(CompilerFailed, match="mlir:1:"):
        worker.call("compile", {"mlir": "module {", "target": "cpu"})


def test_another_error_is_internal_and_shows_its_traceback(worker: Worker) -> None:
    with pytest.raises(InternalError, match=r"(?s)Traceback.*in bug.*KeyError: 'no such key'"):
        worker.call(f"{FAULTS}:bug", {})
    with pytest.raises(InternalError, match="not JSON serializable"):
        worker.call(f"{FAULTS}:unsendable", {})


@pytest.mark.parametrize(
    "name", ["nope", "os:abort", "subprocess:run", "explorer.x", ":", "explorer.:x"]
)
def test_only_tasks_of_allowed_modules_run(name: str, worker: Worker) -> None:
    with pytest.raises(UnknownTask, match=r"ping, compile, run"):
        worker.call(name, {})


def test_errors_do_not_cost_the_process(worker: Worker) -> None:
    worker.call("ping", {})
    before = worker.pid
    with pytest.raises(MissingBinding):
        worker.call(f"{FAULTS}:user_error", {})
    with pytest.raises(TypeError):
        worker.call("ping", {"a": object()})
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}
    assert worker.pid == before


# --- stopping and crashing ------------------------------------------------------------------------


def test_cancel_stops_a_call_and_the_next_one_works(worker: Worker) -> None:
    started = threading.Event()
    call, caught = in_thread(
        lambda: worker.call(
            f"{FAULTS}:sleep", {"seconds": 60}, on_progress=lambda *_: started.set()
        )
    )
    assert started.wait(20)
    begin = time.monotonic()
    worker.cancel()
    call.join(10)
    assert time.monotonic() - begin < 5
    assert [type(error) for error in caught] == [Cancelled]
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}


def test_cancel_without_a_call_does_nothing(worker: Worker) -> None:
    worker.call("ping", {})
    before = worker.pid
    worker.cancel()
    worker.call("ping", {})
    assert worker.pid == before


def test_cancel_leaves_the_waiting_call_alone(worker: Worker) -> None:
    started = threading.Event()
    first, caught = in_thread(
        lambda: worker.call(
            f"{FAULTS}:sleep", {"seconds": 60}, on_progress=lambda *_: started.set()
        )
    )
    assert started.wait(20)
    replies: list[object] = []
    second, others = in_thread(lambda: replies.append(worker.call("ping", {"a": 2}).payload))
    worker.cancel()
    first.join(10)
    second.join(20)
    assert [type(error) for error in caught] == [Cancelled]
    assert (replies, others) == ([{"a": 2}], [])


def test_a_time_limit_stops_a_call(worker: Worker) -> None:
    with pytest.raises(TimeLimit, match=r"did not finish within 0.3 s"):
        worker.call(f"{FAULTS}:sleep", {"seconds": 60}, timeout=0.3)
    assert worker.call("ping", {"a": 1}, timeout=60).payload == {"a": 1}


@pytest.mark.parametrize(("task", "name"), [("abort", "SIGABRT"), ("segfault", "SIGSEGV")])
def test_a_crash_is_told_and_the_next_call_works(task: str, name: str, worker: Worker) -> None:
    with pytest.raises(WorkerDied, match=f"was ended by {name} during {FAULTS}:{task}") as caught:
        worker.call(f"{FAULTS}:{task}", {})
    assert ("LLVM ERROR: out of luck" in str(caught.value)) == (task == "abort")
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}


def test_a_process_that_died_between_calls_is_replaced(worker: Worker) -> None:
    worker.call("ping", {})
    before = worker.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    assert eventually(lambda: worker.pid is None)
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}
    assert worker.pid != before


def test_an_error_of_the_listener_stops_the_call(worker: Worker) -> None:
    def listener(name: str, data: object) -> None:
        message = "listener"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="listener"):
        worker.call(f"{FAULTS}:steps", {"count": 3}, on_progress=listener)
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}


def test_an_interrupt_is_the_parents_business(worker: Worker) -> None:
    worker.call("ping", {})
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}
    assert worker.pid == pid
    assert os.getsid(pid) != os.getsid(0), "an interrupt of the notebook's group does not reach it"


def test_calls_of_several_threads_take_turns(worker: Worker) -> None:
    replies: list[int] = []
    work = [
        in_thread(lambda n=n: replies.append(worker.call("ping", {"n": n}).payload["n"]))
        for n in range(12)
    ]
    for thread, _ in work:
        thread.join(30)
    assert sorted(replies) == list(range(12))
    assert [error for _, caught in work for error in caught] == []


def test_a_machine_that_starts_no_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/no/such/python")
        with pytest.raises(FileNotFoundError):
            worker.call("ping", {})
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}
    worker.close()


# --- beginning and end ----------------------------------------------------------------------------


def test_warm_starts_at_once_from_a_thread_that_ends() -> None:
    worker = Worker()
    thread = threading.Thread(target=worker.warm)
    thread.start()
    thread.join()
    pid = worker.pid
    time.sleep(0.5)  # long enough for a death signal that follows the thread
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}
    assert worker.pid == pid
    worker.close()
    assert worker.pid is None


def test_close_ends_the_process_and_a_call_starts_another() -> None:
    worker = Worker()
    worker.close()
    worker.call("ping", {})
    pid = worker.pid
    assert pid is not None
    worker.close()
    assert not runs(pid)
    assert worker.call("ping", {"a": 1}).payload == {"a": 1}
    worker.close()


PARENT = """
from explorer.compiler.runtime.worker import Worker
worker = Worker(allowed=("explorer.", "runtime."))
show = lambda name, data: print(data["pid"], flush=True)
worker.call("runtime.faults:sleep", {"seconds": 60}, on_progress=show)
"""


def test_the_child_dies_with_its_parent_even_in_a_task() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert runs(child)
        parent.kill()
    assert eventually(lambda: not runs(child))
