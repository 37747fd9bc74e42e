"""Static HTML, the one-file page, the payload and the bundle: complete, small, nothing escapes."""

# ruff: noqa: RUF001 (the symbols are meant)
from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from explorer.compiler.record import Recording
from explorer.viz import bundle, theme
from explorer.viz.dot import GraphvizMissing, render, to_dot
from explorer.viz.html import export_html, page, recording_html
from explorer.viz.model import History
from explorer.viz.payload import payload
from tests.viz import recordings

SAFE_TAGS = {
    "div", "p", "strong", "span", "table", "tr", "th", "td", "pre", "details", "summary", "br",
}  # fmt: skip
VOID = {"br", "meta"}


class Tags(HTMLParser):
    """Collects elements and attribute names, and checks that they are balanced."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> Tags:
    """The elements of some HTML."""
    parser = Tags()
    parser.feed(text)
    parser.close()
    return parser


@pytest.mark.parametrize(
    "recording",
    [recordings.row_max_add(), recordings.hostile(), recordings.failed()],
    ids=["plain", "hostile", "failed"],
)
def test_static_html_has_no_scripts_and_no_strange_elements(recording: Recording) -> None:
    found = parsed(recording_html(recording))
    assert found.tags <= SAFE_TAGS
    assert found.attributes <= {"style", "title"}
    assert found.open == []


def test_static_html_shows_passes_counts_and_the_last_graph() -> None:
    text = recording_html(recordings.row_max_add())
    assert "decompose-reductions" in text
    assert "20 → 33" in text
    assert "+ add ×4" in text
    assert "row_max over N, 4 steps" in text


def test_static_html_of_nothing_is_still_html() -> None:
    empty = Recording(kernel="k", bindings={}, target="cpu", passes=())
    assert parsed(recording_html(empty)).open == []


def test_data_in_the_page_cannot_end_its_script() -> None:
    text = page(recordings.hostile())
    assert "<img" not in text
    assert text.count("</script>") == 2
    data = text.split('id="recording">')[1].split("</script>")[0]
    assert "<" not in data
    assert json.loads(data)["kernel"] == "</script><img src=x onerror=alert(1)>"


def test_the_page_asks_for_nothing(tmp_path: Path) -> None:
    path = export_html(recordings.row_max_add((16, 16)), tmp_path / "r.html")
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org)", text)
    assert "default-src 'none'" in text
    assert path.stat().st_size < 500_000


def test_the_payload_sends_each_snapshot_once() -> None:
    data = payload(recordings.row_max_add())
    assert len(data["snapshots"]) == 6
    assert data["passes"][-1]["before"] == data["passes"][-1]["after"]


def test_the_payload_of_a_thousand_nodes_is_small() -> None:
    text = json.dumps(payload(recordings.row_max_add((16, 16))), separators=(",", ":"))
    assert len(text) < 200_000


def test_marks_say_what_each_stack_went_through() -> None:
    data = payload(recordings.row_max_add())
    parts = data["passes"][4]
    labels = [s["label"] for s in data["snapshots"][parts["after"]]["stacks"]]
    marks = {labels[i]: mark for i, mark in parts["marksAfter"].items()}
    assert marks["max_fold"] == ["added", "made from max"]
    assert "a" not in marks


def test_modules_are_joined_by_rule() -> None:
    text = 'import { h } from "./dom.js";\nexport function f() {}\nlet export_ = 2;\n'
    assert bundle.joined(text) == "function f() {}\nlet export_ = 2;\n"


def test_the_bundle_holds_every_file_and_needs_no_other() -> None:
    files = {path.stem for path in (bundle.HERE / "js").glob("*.js")}
    assert files == {*bundle.MODULES, "standalone"}
    text = bundle.widget_module()
    assert not re.search(r"^import |^export (?!default)", text, re.MULTILINE)
    assert "innerHTML" not in text


def test_modules_come_after_what_they_import() -> None:
    for at, name in enumerate(bundle.MODULES):
        text = (bundle.HERE / "js" / f"{name}.js").read_text(encoding="utf-8")
        wanted = re.findall(r'^import .* from "\./([a-z]+)\.js";$', text, re.MULTILINE)
        assert set(wanted) <= set(bundle.MODULES[:at])


def test_top_level_names_are_unique() -> None:
    pattern = r"^(?:async )?(?:function|const|class|let) +([A-Za-z_]+)"
    names = re.findall(pattern, bundle.standalone_script(), re.MULTILINE)
    assert len(names) == len(set(names))


def test_families_differ_in_shape_symbol_and_colour() -> None:
    looks = theme.FAMILIES.values()
    for what in ("symbol", "shape", "dot", "light", "dark"):
        assert len({getattr(look, what) for look in looks}) == len(looks), what


def contrast(a: str, b: str) -> float:
    """The contrast ratio of two colours, after WCAG 2."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("look", [*theme.FAMILIES.values(), *theme.DIFFERENCES.values()])
def test_colours_can_be_read(look: theme.Look) -> None:
    assert contrast(look.light, "#ffffff") >= 4.5
    assert contrast(look.dark, "#16181c") >= 4.5


def test_dot_has_clusters_stacks_and_escaped_names() -> None:
    source = to_dot(History(recordings.row_max_add()), 3).source
    assert "subgraph cluster_" in source
    assert "add ×4" in source
    assert "style=dashed" in source
    hostile = to_dot(History(recordings.hostile()), 0).source
    assert re.search(r'label="[^"]*onerror', hostile)


def test_without_graphviz_svg_is_our_own_and_others_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    root = ElementTree.fromstring(render(History(recordings.row_max_add()), 3))
    texts = {e.text for e in root.iter() if e.text}
    assert {"↻ row_max over N, 4 steps", "+ add ×4"} <= texts
    ElementTree.fromstring(render(History(recordings.hostile()), 0))
    with pytest.raises(GraphvizMissing, match="png needs one of the programs"):
        render(History(recordings.row_max_add()), 3, "png")


def test_render_falls_back_to_the_other_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "graphviz-pure"
    program.write_text("#!/bin/sh\nexec /bin/echo drawn $1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert render(History(recordings.row_max_add()), 3) == b"drawn -Tsvg\n"
