"""One browser and one JupyterLab for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.lab import ROOT, Lab, lab_server

OPTIONS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


@pytest.fixture(scope="session")
def browser(chromium: Path) -> Iterator[Browser]:
    """Debian's chromium, headless."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(chromium), args=OPTIONS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A server on an empty folder."""
    with lab_server(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures are left to be looked at."""
    folder = ROOT / "build" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
