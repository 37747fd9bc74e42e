"""The one-file page: complete without a server and without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from explorer.viz.html import export_html
from tests.browser.lab import Watched, watched_page
from tests.viz import recordings

pytestmark = pytest.mark.browser


def opened(watched: Watched, path: Path) -> Page:
    """The page with the network off, once it is drawn."""
    watched.page.context.set_offline(True)
    watched.page.goto(path.as_uri())
    watched.page.wait_for_selector(".kx-canvas[data-drawn]")
    return watched.page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [800, 1600])
def test_page_shows_passes_and_nodes_offline(
    browser: Browser, tmp_path: Path, screenshots: Path, width: int, scheme: str
) -> None:
    path = export_html(recordings.row_max_add((2, 4)), tmp_path / "row.html")
    with watched_page(browser, ("file:",), width=width, scheme=scheme) as watched:
        page = opened(watched, path)
        page.locator("[data-pass=expand]").click()
        expect(page.locator("[data-pass=expand]")).to_have_attribute("aria-current", "step")
        add = page.locator(".kx-pane:nth-child(2) [data-node=add]").first
        expect(add).to_have_text("add, add, f32[M, N], 8 copies, copied")
        add.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".kx-details h3")).to_contain_text("add")
        expect(page.locator(".kx-lit")).to_contain_text("tkw.write(tkw.read(a")
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) <= 0
        page.wait_for_timeout(300)
        page.screenshot(path=screenshots / f"page_{scheme}_{width}.png")
        assert (watched.errors, watched.strangers) == ([], [])


def test_arrow_keys_step_and_stay_on_the_timeline(browser: Browser, tmp_path: Path) -> None:
    path = export_html(recordings.row_max_add(), tmp_path / "row.html")
    with watched_page(browser, ("file:",)) as watched:
        page = opened(watched, path)
        page.locator("[data-pass=trace]").click()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.locator("[aria-current=step]")).to_have_attribute("data-pass", "infer-indices")
        expect(page.locator("[data-pass=infer-indices]")).to_be_focused()


def test_click_on_the_canvas_opens_a_stack_and_selects_a_copy(
    browser: Browser, tmp_path: Path
) -> None:
    path = export_html(recordings.row_max_add(), tmp_path / "row.html")
    with watched_page(browser, ("file:",)) as watched:
        page = opened(watched, path)
        page.locator("[data-pass=expand]").click()
        page.get_by_role("button", name="After", exact=True).click()
        page.get_by_role("button", name="Open stacks").click()
        copy = page.locator(".kx-pane:nth-child(2) [data-node=add_2x]")
        expect(copy).to_have_count(1)
        copy.focus()
        page.keyboard.press("Enter")
        expect(page.locator(".kx-why")).to_contain_text("This is the copy M = 0, N = 2.")
        expect(page.locator(".kx-details")).to_contain_text("lane*2 + element_N + 256")


def test_search_counts_steps_and_refuses(browser: Browser, tmp_path: Path) -> None:
    path = export_html(recordings.row_max_add((1, 16)), tmp_path / "row.html")
    with watched_page(browser, ("file:",), width=900) as watched:
        page = opened(watched, path)
        page.get_by_role("button", name="After", exact=True).click()
        query = page.get_by_role("searchbox", name="Find nodes")
        query.fill("shuffle")
        count = page.locator(".kx-found")
        expect(count).to_have_text("6")
        query.press("Enter")
        expect(count).to_have_text("1 of 6")
        expect(page.locator(".kx-details h3")).to_contain_text("max_shuffle_1")
        query.press("Shift+Enter")
        expect(page.locator(".kx-details h3")).to_contain_text("max_shuffle_32")
        expect(query).to_be_focused()
        query.fill("/^(read|write)$/")
        expect(count).to_have_text("33")
        query.fill("/(")
        expect(count).to_have_text("not a regular expression")
        query.fill("")
        expect(count).to_have_text("")


def test_play_shows_the_passes_that_changed_something(browser: Browser, tmp_path: Path) -> None:
    path = export_html(recordings.row_max_add(), tmp_path / "row.html")
    with watched_page(browser, ("file:",)) as watched:
        page = opened(watched, path)
        current = page.locator("[aria-current=step]")
        page.locator("[data-pass=infer-indices]").click()
        page.get_by_role("button", name="Play").click()
        expect(current).to_have_attribute("data-pass", "expand", timeout=1000)
        expect(current).to_have_attribute("data-pass", "decompose-reductions")
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        page.get_by_role("button", name="Play").click()
        expect(current).to_have_attribute("data-pass", "trace", timeout=1000)
        page.get_by_role("button", name="Pause").click()
        page.wait_for_timeout(1600)
        expect(current).to_have_attribute("data-pass", "trace")


def test_a_minimap_stands_where_the_graph_is_larger_than_the_view(
    browser: Browser, tmp_path: Path
) -> None:
    path = export_html(recordings.row_max_add((1, 16)), tmp_path / "row.html")
    with watched_page(browser, ("file:",), width=900) as watched:
        page = opened(watched, path)
        small = page.locator(".kx-minimap:visible")
        expect(small).to_have_count(1)
        page.get_by_role("button", name="Fit").click()
        expect(small).to_have_count(0)
        page.get_by_role("button", name="Zoom in").click(click_count=3)
        expect(small).to_have_count(1)
        small.click(position={"x": 75, "y": 5})
        expect(small).to_have_count(1)


def test_hostile_names_stay_text(browser: Browser, tmp_path: Path) -> None:
    path = export_html(recordings.hostile(), tmp_path / "hostile.html")
    with watched_page(browser, ("file:",)) as watched:
        page = opened(watched, path)
        assert page.locator("img").count() == 0
        expect(page.locator(".kx-head strong")).to_contain_text("<img src=x")
        assert (watched.errors, watched.strangers) == ([], [])


def test_five_hundred_drawn_nodes_step_quickly(browser: Browser, tmp_path: Path) -> None:
    path = export_html(recordings.row_max_add((16, 16)), tmp_path / "big.html")
    with watched_page(browser, ("file:",)) as watched:
        page = opened(watched, path)
        page.locator("[data-pass=expand]").click()
        page.get_by_role("button", name="After", exact=True).click()
        page.get_by_role("button", name="Open stacks").click()
        page.get_by_role("button", name="Fit").click()
        page.wait_for_timeout(500)
        canvas = page.locator(".kx-pane:nth-child(2) .kx-canvas")
        assert int(canvas.get_attribute("data-drawn") or 0) >= 500
        assert float(canvas.get_attribute("data-paint-ms") or 1e9) < 50
