"""The cache of compiled code: keys, damage, size, and several users at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from explorer.compiler.runtime import cache as cache_module
from explorer.compiler.runtime.cache import CodeCache, cache_key, default_folder
from explorer.compiler.runtime.executable import Executable


def code(text: str = "s_endpgm", size: int = 100) -> Executable:
    return Executable(os.urandom(size), text, {"vgpr": 7, "compiled_for": "gfx942"}, 0.5)


@pytest.fixture
def cache(tmp_path: Path) -> CodeCache:
    return CodeCache(tmp_path / "code")


def fresh(cache: CodeCache) -> CodeCache:
    """The same folder as another process sees it."""
    return CodeCache(cache.folder)


def test_what_is_put_comes_back_from_memory_and_from_disk(cache: CodeCache) -> None:
    assert cache.get("a") is None
    executable = code("v_add ü")
    cache.put("a", executable)
    assert cache.get("a") is executable
    assert fresh(cache).get("a") == executable
    assert fresh(cache).get("b") is None


@pytest.mark.parametrize("place", [0, 20, 35, 60, -1])
def test_a_damaged_entry_is_dropped(place: int, cache: CodeCache) -> None:
    cache.put("a", code())
    (path,) = cache.folder.iterdir()
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    assert fresh(cache).get("a") is None
    assert not path.exists()


@pytest.mark.parametrize("length", [0, 10, 32, 39, 100])
def test_a_cut_entry_is_dropped(length: int, cache: CodeCache) -> None:
    cache.put("a", code())
    (path,) = cache.folder.iterdir()
    path.write_bytes(path.read_bytes()[:length])
    assert fresh(cache).get("a") is None


def test_a_write_that_fails_leaves_the_old_entry(
    cache: CodeCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = code(), code()
    cache.put("a", old)

    def fail(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "replace", fail)
    cache.put("a", new)
    assert cache.get("a") is new, "it is kept in memory"
    assert fresh(cache).get("a") == old
    assert len(list(cache.folder.iterdir())) == 1, "no half-written file stays behind"


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = CodeCache(tmp_path / "file" / "code")
    executable = code()
    cache.put("a", executable)
    assert cache.get("a") is executable


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = CodeCache(tmp_path, disk_limit=3500)
    for hour, key in enumerate("abc"):
        cache.put(key, code(size=1000))
        os.utime(tmp_path / f"{key}.code", (hour, hour))
    assert CodeCache(tmp_path).get("a") is not None  # used now: no longer the oldest
    cache.put("d", code(size=1000))
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["a", "c", "d"]
    assert cache.disk_bytes <= 3500


def test_memory_is_bounded_too(cache: CodeCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_MEMORY_ENTRIES", 2)
    for key in "abc":
        cache.put(key, code())
    cache.clear()
    assert [cache.get(key) for key in "abc"] == [None, None, None]


def test_clear_forgets_memory_and_disk(cache: CodeCache) -> None:
    cache.put("a", code())
    stranger = cache.folder / "notes.txt"
    stranger.write_text("not ours")
    cache.clear()
    assert cache.get("a") is None
    assert list(cache.folder.iterdir()) == [stranger]


def test_several_threads_on_one_key_see_whole_entries(cache: CodeCache) -> None:
    entries = [code(size=20_000) for _ in range(4)]
    seen: list[bool] = []

    def work(executable: Executable) -> None:
        for _ in range(20):
            cache.put("a", executable)
            seen.append(fresh(cache).get("a") in entries)

    threads = [threading.Thread(target=work, args=(entry,)) for entry in entries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 80
    assert all(seen)


def test_a_key_follows_from_everything() -> None:
    base = cache_key({"m": 1}, target="cpu", options={"a": 1, "b": 2})
    assert base == cache_key({"m": 1}, target="cpu", options={"b": 2, "a": 1})
    others = {
        cache_key({"m": 2}, target="cpu", options={"a": 1, "b": 2}),
        cache_key({"m": 1}, target="gfx942", options={"a": 1, "b": 2}),
        cache_key({"m": 1}, target="cpu", options={"a": 1, "b": 3}),
        cache_key({"m": 1}, target="cpu"),
    }
    assert len(others | {base}) == 5
    assert len(base) == 64


def test_a_key_follows_from_versions_and_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu, gpu = cache_key("m", target="cpu"), cache_key("m", target="gfx942")
    monkeypatch.setattr(cache_module, "_processor", lambda: "another")
    assert cache_key("m", target="cpu") != cpu
    assert cache_key("m", target="gfx942") == gpu
    monkeypatch.setattr(cache_module, "_versions", lambda: {"iree": "next"})
    assert cache_key("m", target="gfx942") != gpu


def test_the_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("EXPLORER_CACHE_DIR", raising=False)
    assert default_folder() == tmp_path / "xdg" / "kernel-explorer"
    monkeypatch.setenv("EXPLORER_CACHE_DIR", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"


@pytest.mark.parametrize("module", ["cache", "devices", "worker"])
def test_the_notebooks_side_loads_no_iree(module: str) -> None:
    program = f"import sys, explorer.compiler.runtime.{module}; print('iree' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False"
