"""The Python side of the widget: what code and the browser may ask of it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from nbconvert import HTMLExporter
from nbformat.v4 import new_code_cell, new_notebook, new_output

from explorer.viz.widgets.explorer_widget import VIEW, ExplorerWidget, TileSlider, UnknownName
from tests.viz import recordings

SLIDER = TileSlider("BLOCK_N", (64, 128, 192), 128, {192: "does not divide"})


@pytest.fixture
def asked() -> list[Any]:
    """What reached ``on_request`` and ``on_stop``."""
    return []


@pytest.fixture
def widget(asked: list[Any]) -> ExplorerWidget:
    """A widget with one slider."""
    return ExplorerWidget(
        recordings.row_max_add(),
        sliders=[SLIDER],
        on_request=asked.append,
        on_stop=lambda: asked.append("stop"),
    )


def test_it_starts_at_the_last_pass(widget: ExplorerWidget) -> None:
    assert widget.shown == "emit"
    assert repr(widget) == "<ExplorerWidget of row_max_add: emit>"


def test_a_request_is_handed_on(widget: ExplorerWidget, asked: list[Any]) -> None:
    widget.set_state({"request": {"serial": 1, "set": {"BLOCK_N": 64}}})
    widget.set_state({"request": {"serial": 2, "stop": True}})
    assert asked == [{"BLOCK_N": 64}, "stop"]
    assert widget.error == ""


@pytest.mark.parametrize(
    "request_",
    [
        {"set": {"BLOCK_N": 192}},
        {"set": {"BLOCK_N": 65}},
        {"set": {"BLOCK_Q": 64}},
        {"set": {"BLOCK_N": "64"}},
        {"set": {}},
        {"set": [1]},
        {"run": "rm"},
    ],
)
def test_a_request_is_checked(
    widget: ExplorerWidget, asked: list[Any], request_: dict[str, Any]
) -> None:
    widget.set_state({"request": {"serial": 1, **request_}})
    assert asked == []
    assert "not a position of these sliders" in widget.error


def test_step_and_select_check_names(widget: ExplorerWidget) -> None:
    widget.step("expand")
    widget.select("add_2x")
    assert (widget.shown, widget.selected) == ("expand", "add_2x")
    with pytest.raises(UnknownName, match="no pass 'expnd' here; did you mean 'expand'"):
        widget.step("expnd")
    with pytest.raises(UnknownName, match="no node 'zzz' here; there are a, c, start"):
        widget.select("zzz")


def test_describe_is_what_is_seen(widget: ExplorerWidget) -> None:
    widget.step("expand")
    widget.select("add_2x")
    assert widget.describe().startswith("expand (changed): 11 nodes -> 20")
    assert "This is the copy M = 0, N = 2." in widget.describe()


def test_a_new_recording_keeps_the_pass_where_it_can(widget: ExplorerWidget) -> None:
    widget.step("expand")
    widget.show_recording(recordings.row_max_add((1, 16)))
    assert widget.shown == "expand"
    widget.step("emit")
    widget.show_recording(recordings.failed())
    assert widget.shown == "expand"


def test_results_and_errors_take_turns(widget: ExplorerWidget) -> None:
    widget.show_progress("running", 0.5)
    assert widget.progress == {"state": "busy", "text": "running", "fraction": 0.5}
    widget.show_error("wrong")
    assert (widget.error, widget.result, widget.progress["state"]) == ("wrong", {}, "idle")
    widget.show_result(ok=True, max_error=0.0, seconds=0.1, device="cpu")
    assert widget.error == ""
    assert widget.result["ok"] is True


def test_it_can_be_set_from_another_thread(widget: ExplorerWidget) -> None:
    thread = threading.Thread(target=lambda: widget.show_result(ok=False, device="cpu"))
    thread.start()
    thread.join()
    assert widget.result["ok"] is False


def test_static_forms_are_there_without_a_kernel(widget: ExplorerWidget) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "row_max over N" in data["text/html"]
    assert data["text/plain"].startswith("row_max_add for gfx942")
    assert VIEW in data


def test_the_static_form_is_an_output_of_its_own_before_the_live_one(
    widget: ExplorerWidget,
) -> None:
    standby, live = widget.outputs()
    assert set(standby) == {"text/html", "text/plain"}
    assert set(live) == {VIEW, "text/html"}
    assert live["text/html"] == ""
    assert '<div class="kx-static">' in standby["text/html"]
    assert "row_max over N" in standby["text/html"]


def test_display_shows_both_outputs(widget: ExplorerWidget, asked: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "explorer.viz.widgets.explorer_widget.display", lambda data, raw: asked.append(data)
        )
        widget._ipython_display_()
    assert asked == list(widget.outputs())


def test_nbconvert_shows_the_static_form(widget: ExplorerWidget) -> None:
    outputs = [new_output("display_data", data=data) for data in widget.outputs()]
    notebook = new_notebook(cells=[new_code_cell("w", outputs=outputs)])
    text, _ = HTMLExporter().from_notebook_node(notebook)
    assert '<div class="kx-static">' in text
    assert "row_max over N" in text


def test_a_slider_must_stand_on_one_of_its_values() -> None:
    with pytest.raises(ValueError, match=r"BLOCK_N: 5 is none of its values \[64, 128\]"):
        TileSlider("BLOCK_N", (64, 128), 5)
