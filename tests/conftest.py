"""What all tests share: private folders, and Debian's chromium for those that drive a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NO_BROWSER = "no chromium on this machine (Debian: apt-get install chromium fonts-dejavu)"


def browser() -> Path | None:
    """The chromium of this machine, or None."""
    found = (shutil.which(name) for name in BROWSERS)
    return next((Path(path) for path in found if path), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave browser tests out where there is no browser; in CI that is a failure."""
    if item.get_closest_marker("browser") is None or browser() is not None:
        return
    if os.environ.get("CI"):
        pytest.fail(f"CI must run the browser tests: {NO_BROWSER}", pytrace=False)
    pytest.skip(NO_BROWSER)


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser's executable; only for tests marked ``browser``."""
    found = browser()
    assert found is not None, NO_BROWSER
    return found


@pytest.fixture(scope="session", autouse=True)
def private_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep caches and Jupyter's settings of the person who runs the tests out of them."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(home / name.lower()))
        yield
