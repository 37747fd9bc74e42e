"""The widget in a real JupyterLab with a real kernel."""

from __future__ import annotations

import re
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Browser, Locator, Page, expect

from explorer.viz.html import recording_html
from tests.browser.lab import IDLE, Lab, Watched, watched_page
from tests.viz import recordings

pytestmark = pytest.mark.browser

CELL = """
from explorer.viz.widgets.explorer_widget import ExplorerWidget, TileSlider
from tests.viz import recordings

def asked(values):
    copies = 512 // values["BLOCK_N"]
    w.show_progress("compiling", 0.5)
    w.show_recording(recordings.row_max_add((1, copies)))
    w.show_sliders([TileSlider("BLOCK_N", (32, 64, 128, 192), values["BLOCK_N"], illegal)])
    w.show_result(ok=True, max_error=1.2e-7, seconds=3.4e-4, device="local")

illegal = {192: "192 does not divide N = 512; 128 or 256 do"}
w = ExplorerWidget(
    recordings.row_max_add(),
    sliders=[TileSlider("BLOCK_N", (32, 64, 128, 192), 128, illegal)],
    on_request=asked,
    on_stop=lambda: w.show_idle("stopped"),
)
w.step("expand")
w
"""
BUSY = 'w.show_progress("compiling for gfx942", 0.4)'
FAILS = r"""
w.show_error("a tile does not divide\n  tkw.max(x, m, dim=N)\n  ^^^^^^^\n  hint: try 128")
"""
DRIVES = 'w.step("decompose-reductions"); w.select("max_fold"); print(w.describe())'


def ready(watched: Watched, lab: Lab, name: str, cells: list[str]) -> Locator:
    """The widget of a fresh notebook."""
    lab.notebook(name, cells)
    lab.open(watched.page, name)
    lab.run_first_cell(watched.page)
    widget = watched.page.locator(".kx")
    widget.locator(".kx-canvas[data-drawn]").first.wait_for(timeout=60_000)
    return widget


def run(page: Page, number: int) -> None:
    """Run a cell by its number, counted from 0."""
    page.locator(".jp-Notebook .jp-CodeCell .jp-InputArea-editor").nth(number).click()
    page.keyboard.press("Shift+Enter")


def dark(page: Page) -> None:
    """Switch JupyterLab to its dark theme."""
    theme = "{theme: 'JupyterLab Dark'}"
    page.evaluate(f"jupyterapp.commands.execute('apputils:change-theme', {theme})")
    page.locator("body[data-jp-theme-light=false]").wait_for(state="attached")


def test_slider_error_stop_and_code_drive_the_widget(
    browser: Browser, lab: Lab, screenshots: Path
) -> None:
    allowed = (lab.address, lab.address.replace("http", "ws"))
    with watched_page(browser, allowed) as watched:
        page = watched.page
        widget = ready(watched, lab, "drive", [CELL, BUSY, FAILS, DRIVES])
        slider_asks_and_refuses(widget)
        page.screenshot(path=screenshots / "lab_result.png")
        run(page, 1)
        expect(widget.get_by_role("progressbar")).to_have_attribute("value", "0.4")
        widget.get_by_role("button", name="Stop").dispatch_event("click")
        expect(widget.get_by_role("button", name="Stop")).to_be_hidden()
        run(page, 2)
        expect(widget.locator(".kx-error pre")).to_contain_text("^^^^^^^\n  hint: try 128")
        run(page, 3)
        expect(widget.locator("[aria-current=step]")).to_have_attribute(
            "data-pass", "decompose-reductions"
        )
        expect(widget.locator(".kx-details h3")).to_contain_text("max_fold")
        expect(page.locator(".jp-OutputArea pre").last).to_contain_text("max_fold = fold(")
        assert (watched.errors, watched.strangers) == ([], [])


def slider_asks_and_refuses(widget: Locator) -> None:
    """A legal position is asked for and done; an illegal one springs back and says why."""
    slider = widget.get_by_role("slider", name="BLOCK_N")
    slider.focus()
    start = time.monotonic()
    slider.press("ArrowLeft")
    expect(widget.locator(".kx-status-text")).to_have_text(
        "✓ matches · largest error 1.2e-7 · 0.3 ms · local"
    )
    assert time.monotonic() - start < 5
    expect(widget.locator(".kx-pane:nth-child(2) [data-node=add]")).to_contain_text("8 copies")
    slider.press("End")
    expect(widget.locator(".kx-reason")).to_contain_text("192 does not divide N = 512")
    expect(widget.locator(".kx-value")).to_have_text("64")


def test_dark_theme_and_narrow_windows_are_followed(
    browser: Browser, lab: Lab, screenshots: Path
) -> None:
    with watched_page(browser, (lab.address, lab.address.replace("http", "ws"))) as watched:
        page = watched.page
        widget = ready(watched, lab, "dark", [CELL])
        light = widget.evaluate("e => getComputedStyle(e).getPropertyValue('--kx-memory')")
        for scheme in ("light", "dark"):
            for width in (800, 1600):
                page.set_viewport_size({"width": width, "height": 1000})
                widget.scroll_into_view_if_needed()
                page.wait_for_timeout(500)
                page.screenshot(path=screenshots / f"lab_{scheme}_{width}.png")
                assert widget.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
            if scheme == "light":
                dark(page)
        now = widget.evaluate("e => getComputedStyle(e).getPropertyValue('--kx-memory')")
        assert (light, now) == ("#0072b2", "#56b4e9")


EXPLORES = """
import numpy as np
import explorer
import explorer.lang as tkl
import explorer.wave as tkw

N, B = tkl.sym.N, tkl.sym.B
constraints = [
    tkw.HardwareConstraint(threads_per_wave=64, vector_shapes={N: 64}),
    tkw.WorkgroupConstraint(N, B, 0),
]

@tkw.wave(constraints)
def twice(a: tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
          c: tkl.Memory[N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32]):
    tkw.write(tkw.read(a) + tkw.read(a), c)

arrays = np.ones(256, np.float32), np.zeros(256, np.float32)
explorer.explore(twice, {N: 256, B: 128}, inputs=arrays, sliders={B: [64, 128]})
"""


def run_lab_command(page: Page, command: str) -> None:
    """Run a command of JupyterLab and wait for it."""
    page.evaluate("name => window.jupyterapp.commands.execute(name)", command)


def reload(page: Page, lab: Lab, name: str) -> None:
    """Open a notebook again and wait for its first output."""
    page.goto(f"{lab.address}/lab/tree/{name}.ipynb?token=test&reset")
    page.locator(".jp-OutputArea-child").first.wait_for(timeout=90_000)
    page.get_by_text(IDLE).wait_for(timeout=90_000)


def sees_only_the_picture(page: Page) -> None:
    """The static form is there with passes, counts and nodes, and no word of a missing model."""
    picture = page.locator(".kx-static")
    expect(picture.locator("tr").filter(has_text="expand").first).to_contain_text("6 → 10")
    node = picture.get_by_text(re.compile("^↑ write")).first.locator("..")
    expect(node).to_be_visible()
    assert node.evaluate("e => getComputedStyle(e).position") == "absolute"
    expect(page.locator(".kx")).to_have_count(0)
    expect(page.get_by_text("Error displaying widget")).to_be_hidden()


def test_a_saved_notebook_shows_its_picture_without_its_kernel(
    browser: Browser, lab: Lab, screenshots: Path
) -> None:
    lab.notebook("own", [EXPLORES])
    with watched_page(browser, (lab.address, lab.address.replace("http", "ws"))) as watched:
        page = watched.page
        lab.open(page, "own")
        lab.run_first_cell(page)
        widget = page.locator(".kx")
        expect(widget.locator(".kx-status-text")).to_contain_text("matches", timeout=60_000)
        expect(page.locator(".kx-static")).to_be_hidden()
        run_lab_command(page, "docmanager:save")
        reload(page, lab, "own")
        expect(page.locator(".kx")).to_have_count(1, timeout=60_000)
        expect(page.locator(".kx-static")).to_be_hidden()
        run_lab_command(page, "docmanager:save")
        run_lab_command(page, "notebook:shutdown-kernel")
        reload(page, lab, "own")
        sees_only_the_picture(page)
        page.screenshot(path=screenshots / "static_own.png")
        saved = nbformat.read(lab.folder / "own.ipynb", as_version=4)
        saved.cells[0].outputs[0].data["text/html"] += "<!-- of somebody else -->"
        nbformat.write(saved, lab.folder / "foreign.ipynb")
        reload(page, lab, "foreign")
        sees_only_the_picture(page)
        lab.run_first_cell(page)
        expect(page.locator(".kx")).to_have_count(1, timeout=60_000)
        expect(page.locator(".kx-static")).to_be_hidden()
        assert (watched.errors, watched.strangers) == ([], [])


def test_untrusted_notebook_without_a_kernel_shows_the_picture(
    browser: Browser, lab: Lab, screenshots: Path
) -> None:
    html = {"text/html": recording_html(recordings.row_max_add()), "text/plain": "a recording"}
    cell = new_code_cell("w", outputs=[new_output("display_data", data=html)])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = new_notebook(cells=[cell], metadata={"kernelspec": kernel})
    nbformat.write(made, lab.folder / "dead.ipynb")
    with watched_page(browser, (lab.address, lab.address.replace("http", "ws"))) as watched:
        page = watched.page
        page.goto(f"{lab.address}/lab/tree/dead.ipynb?token=test&reset")
        output = page.locator(".jp-OutputArea .jp-RenderedHTMLCommon").first
        node = output.get_by_text("⊕ max_fold", exact=True).locator("..")
        place = node.evaluate("e => getComputedStyle(e).position", timeout=60_000)
        assert place == "absolute"
        expect(output.locator("table")).to_contain_text("decompose-reductions")
        page.screenshot(path=screenshots / "static_untrusted.png")
