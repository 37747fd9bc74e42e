"""A JupyterLab of our own, driven by a browser that may talk to nothing else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import Browser, Locator, Page

TOKEN = "test"
ROOT = Path(__file__).parents[2]
IDLE = "Python 3 (ipykernel) | Idle"
START_SECONDS = 60


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@dataclass(frozen=True)
class Lab:
    """A running server: where it listens and the folder it shows."""

    port: int
    folder: Path

    @property
    def address(self) -> str:
        """The server's URL."""
        return f"http://127.0.0.1:{self.port}"

    def notebook(self, name: str, cells: Sequence[str]) -> None:
        """Write a notebook of code cells."""
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        made = new_notebook(
            cells=[new_code_cell(c) for c in cells], metadata={"kernelspec": kernel}
        )
        nbformat.write(made, self.folder / f"{name}.ipynb")

    def open(self, page: Page, name: str) -> None:
        """Open a notebook and wait until its kernel can run cells."""
        page.goto(
            f"{self.address}/lab/tree/{name}.ipynb?token={TOKEN}&reset",
            wait_until="domcontentloaded",
        )
        page.locator(".jp-Notebook .jp-CodeCell").first.wait_for(timeout=90_000)
        page.get_by_text(IDLE).wait_for(timeout=90_000)

    def run_first_cell(self, page: Page) -> Locator:
        """Run the first cell; its output area."""
        page.locator(".jp-Notebook .jp-CodeCell .jp-InputArea-editor").first.click()
        page.keyboard.press("Shift+Enter")
        return page.locator(".jp-CodeCell .jp-OutputArea").first


@contextmanager
def lab_server(folder: Path) -> Iterator[Lab]:
    """Start JupyterLab on ``folder`` and end it afterwards."""
    lab = Lab(free_port(), folder)
    command = [
        *(sys.executable, "-m", "jupyter", "lab", "--no-browser", "--ip=127.0.0.1"),
        *(f"--port={lab.port}", "--allow-root", f"--IdentityProvider.token={TOKEN}"),
        *(f"--ServerApp.root_dir={folder}", "--LabApp.news_url=", "--ServerApp.log_level=WARN"),
        "--LabApp.expose_app_in_browser=True",
    ]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=_environment(folder), stdout=log, stderr=log)
        try:
            _wait(lab)
            yield lab
        finally:
            server.terminate()
            server.wait(30)


def _environment(folder: Path) -> dict[str, str]:
    # News and update checks would go to the network; windowing takes cells out of the page.
    _settings(
        folder, "apputils", "notification", '{"fetchNews": "false", "checkForUpdates": false}'
    )
    _settings(folder, "notebook", "tracker", '{"windowingMode": "none"}')
    private = {
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "PYTHONPATH": str(ROOT),
    }
    return os.environ | private


def _settings(folder: Path, extension: str, plugin: str, text: str) -> None:
    place = folder / "settings" / "@jupyterlab" / f"{extension}-extension"
    place.mkdir(parents=True)
    (place / f"{plugin}.jupyterlab-settings").write_text(text)


def _wait(lab: Lab) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(f"{lab.address}/api/status?token={TOKEN}", timeout=1):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


@dataclass(frozen=True)
class Watched:
    """A page that notes its errors and every request to elsewhere."""

    page: Page
    errors: list[str]
    strangers: list[str]


@contextmanager
def watched_page(
    browser: Browser, allowed: Sequence[str], *, width: int = 1600, scheme: str = "light"
) -> Iterator[Watched]:
    """A fresh page; ``allowed`` are the beginnings of addresses it may ask for."""
    context = browser.new_context(
        viewport={"width": width, "height": 1000},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    watched = Watched(context.new_page(), [], [])
    fine = (*allowed, "data:", "blob:")
    watched.page.on("pageerror", lambda e: watched.errors.append(str(e)))
    watched.page.on(
        "request",
        lambda r: None if r.url.startswith(fine) else watched.strangers.append(r.url),
    )
    try:
        yield watched
    finally:
        context.close()
