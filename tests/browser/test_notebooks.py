"""The shipped notebooks in a real JupyterLab: run, moved by keyboard, and opened unrun."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.lab import ROOT, Lab, Watched, watched_page

NAMES = ("01_the_issue", "02_online_softmax")

RUN_MS = 300_000
"""Time for all cells of a notebook, on a busy machine."""


def shipped(name: str) -> nbformat.NotebookNode:
    """A notebook as the repository holds it."""
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Its cells that can be run."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def put(lab: Lab, name: str, notebook: nbformat.NotebookNode) -> None:
    """Leave a notebook where the server shows it."""
    nbformat.write(notebook, lab.folder / f"{name}.ipynb")


@contextmanager
def opened(browser: Browser, lab: Lab, name: str, scheme: str = "light") -> Iterator[Watched]:
    """A page that shows the notebook, and had no errors and no strange requests at its end."""
    allowed = (lab.address, lab.address.replace("http", "ws"))
    with watched_page(browser, allowed, width=1280, scheme=scheme) as watched:
        lab.open(watched.page, name)
        yield watched
        assert (watched.errors, watched.strangers) == ([], [])


def run_all(page: Page, count: int) -> None:
    """Run all cells and wait until the last of the ``count`` code cells is done."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    prompt = page.locator(".jp-InputPrompt").filter(has_text=f"[{count}]:")
    expect(prompt).to_be_attached(timeout=RUN_MS)


def in_sight(page: Page) -> Locator:
    """The explorer, scrolled to."""
    widget = page.locator(".kx")
    widget.scroll_into_view_if_needed()
    widget.locator(".kx-canvas[data-drawn]").first.wait_for()
    return widget


@pytest.mark.browser
def test_a_slider_of_the_first_notebook_gives_new_copies_and_a_check(
    browser: Browser, lab: Lab
) -> None:
    notebook = shipped("01_the_issue")
    for cell in code_cells(notebook):
        cell.outputs = []
    put(lab, "run", notebook)
    with opened(browser, lab, "run") as watched:
        run_all(watched.page, len(code_cells(notebook)))
        widget = in_sight(watched.page)
        add = widget.locator(".kx-pane:nth-child(2) [data-node^=add]").first
        expect(add).to_contain_text("8 copies")
        slider = widget.get_by_role("slider", name="BLOCK_N")
        slider.focus()
        slider.press("ArrowRight")
        expect(add).to_contain_text("4 copies", timeout=60_000)
        status = widget.locator(".kx-status-text")
        expect(status).to_have_text(re.compile("^✓ matches"), timeout=60_000)
        expect(widget.locator(".kx-bindings")).to_contain_text("BLOCK_N = 128")


@pytest.mark.browser
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_that_nobody_ran_shows_its_pictures(
    browser: Browser, lab: Lab, name: str
) -> None:
    put(lab, name, shipped(name))
    with opened(browser, lab, name) as watched:
        page = watched.page
        outputs = page.locator(".jp-OutputArea .jp-RenderedHTMLCommon")
        pictures = outputs.filter(has_text="decompose-reductions")
        expect(pictures).to_have_count(2)
        for picture in pictures.all():
            node = picture.get_by_text(re.compile("^↑ write")).first.locator("..")
            assert node.evaluate("e => getComputedStyle(e).position") == "absolute"
        expect(page.locator(".kx")).to_have_count(0)
        expect(page.get_by_text("Error displaying widget")).to_have_count(0)


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_of_no_machine(name: str) -> None:
    outputs = [output for cell in code_cells(shipped(name)) for output in cell.outputs]
    assert outputs
    assert not re.search(r"ipykernel_|/tmp/|site-packages|widget-view|Traceback", str(outputs))
    assert all("execution" not in cell.metadata for cell in shipped(name).cells)
