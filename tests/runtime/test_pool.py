"""The pool of warm workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from explorer.compiler.runtime.pool import IDLE, WorkerPool, workers

ENDING = """
from explorer.compiler.runtime.pool import workers
with workers().lease() as worker:
    worker.call("ping", {})
    print(worker.pid)
"""


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool()
    yield made
    made.close()


def test_a_worker_is_used_again(pool: WorkerPool) -> None:
    with pool.lease() as first:
        first.call("ping", {})
        pid = first.pid
    with pool.lease() as second:
        assert second is first
        assert second.pid == pid


def test_two_leases_at_a_time_are_two_workers(pool: WorkerPool) -> None:
    with pool.lease() as first, pool.lease() as second:
        assert first is not second


def test_a_worker_whose_child_ended_goes_last(pool: WorkerPool) -> None:
    pool.warm()
    with pool.lease() as broken:
        broken.close()
    with pool.lease() as next_one:
        assert next_one is not broken
        assert next_one.call("ping", {"n": 1}).payload == {"n": 1}


def test_no_more_than_a_few_are_kept(pool: WorkerPool) -> None:
    leases = [pool.lease() for _ in range(IDLE + 1)]
    leased = [lease.__enter__() for lease in leases]
    for worker in leased:
        worker.warm()
    for lease in leases:
        lease.__exit__(None, None, None)
    assert sum(worker.pid is not None for worker in leased) == IDLE


def test_the_process_has_one_pool_which_ends_with_it() -> None:
    assert workers() is workers()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ENDING],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not os.path.exists(f"/proc/{int(done.stdout)}")  # noqa: PTH110 (a process, not a file)
