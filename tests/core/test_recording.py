"""A recording is a value: it survives JSON, says where every node comes from, and opens alone."""

import json
import linecache
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.lang as tkl
import explorer.wave as tkw
from core.cases import SPACE, M, N, rows
from core.kernels import ADDRESS_SPACE, ELEMS_PER_THREAD, ZOO, case, issue_kernel
from explorer.compiler.driver import PASS_NAMES, Options, lower
from explorer.compiler.errors import ExplorerError
from explorer.compiler.lang.targets import target
from explorer.compiler.record import Recording, Snapshot, from_json, load, to_json
from explorer.compiling import emit

ALL = ("row_max_add", "online_softmax", "naive_softmax", "nested_loops", "matmul", "layer_norm")


def recorded(name: str, to: str = "gfx942", **options: Any) -> Recording:
    """What is recorded of a case, up to and with ``emit``."""
    made, chosen = case(name, m=4, n=500), Options.of(options)
    return emit(lower(made.kernel, made.bindings, target(to), chosen), chosen)[0].recording


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_recording_survives_json(name: str) -> None:
    recording = recorded(name)
    assert from_json(json.loads(json.dumps(to_json(recording)))) == recording


def test_a_recording_survives_a_file(tmp_path: Path) -> None:
    made = case("online_softmax", m=4, n=500)
    recording = explorer.compile(made.kernel, made.bindings, target="cpu").recording
    recording.save(tmp_path / "softmax.json")
    again = explorer.load(tmp_path / "softmax.json")
    assert again == recording
    assert again.isa
    assert again.mlir
    assert again.source is not None
    assert "def online_softmax" in again.source.text


def test_snapshots_that_passes_share_are_written_once() -> None:
    data = to_json(recorded("online_softmax"))
    assert len(data["snapshots"]) <= len(data["passes"]) + 1
    for earlier, later in zip(data["passes"], data["passes"][1:], strict=False):
        assert earlier["after"] == later["before"]


def spoiled(change: str) -> str:
    """JSON text that is no recording, or no longer one."""
    data = json.loads(json.dumps(to_json(recorded("row_sum"))))
    node = data["snapshots"][-1]["nodes"][-1]
    match change:
        case "other version":
            data["format"] = 99
        case "no version":
            del data["format"]
        case "passes missing":
            del data["passes"]
        case "passes of another kind":
            data["passes"] = 7
        case "snapshot out of range":
            data["passes"][0]["after"] = 1000
        case "index formula of another kind":
            next(iter(node["index"].values()))[0] = {"exec": "import os"}
        case "unknown operator":
            next(iter(node["index"].values()))[0] = ["**", 2, 3]
        case "node without a name":
            del node["name"]
        case _:
            return change
    return json.dumps(data)


@pytest.mark.parametrize(
    "change",
    [
        "other version",
        "no version",
        "passes missing",
        "passes of another kind",
        "snapshot out of range",
        "index formula of another kind",
        "unknown operator",
        "node without a name",
        "",
        "{}",
        "[]",
        "null",
        "3",
        '"text"',
        "not json",
        "\x00",
        '{"format": 1}',
    ],
)
def test_what_is_no_recording_is_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(spoiled(change), encoding="utf-8")
    with pytest.raises(ValueError, match=r".+"):
        load(path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match="not a recording"):
        load(path)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.json")


def test_opening_a_recording_needs_no_compiler(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    recorded("online_softmax").save(path)
    script = textwrap.dedent(
        """
        import sys
        import explorer
        recording = explorer.load(sys.argv[1])
        str(recording["expand"].after), repr(recording), recording._repr_html_()
        heavy = {"torch", "sympy", "iree", "numpy", "anywidget", "ipywidgets"}
        sys.stdout.write(" ".join(sorted(heavy & set(sys.modules))))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


# --- origins --------------------------------------------------------------------------------------


def assert_origins_closed(recording: Recording) -> None:
    """Assert that every node names a node of the snapshot before; ``emit`` changes no graph."""
    for record in recording.passes[1:-1]:
        known = {n.name for n in record.before.nodes}
        unknown = {n.name: n.origin for n in record.after.nodes if n.origin not in known}
        assert not unknown, f"after {record.name}: {unknown}"


@pytest.mark.parametrize("name", ZOO)
def test_every_node_comes_from_one_before(name: str) -> None:
    assert_origins_closed(recorded(name))


@pytest.mark.parametrize("name", ["naive_softmax", "layer_norm", "two_loops", "online_softmax"])
def test_nodes_of_generated_loops_come_from_ones_before(name: str) -> None:
    recording = recorded(name, unroll_limit=1)
    assert any(n.op == "parallel-loop" for n in recording.passes[-1].after.nodes)
    assert_origins_closed(recording)


def test_after_emit_every_node_comes_from_itself() -> None:
    emitted = recorded("online_softmax")["emit"].after
    assert [n.name for n in emitted.nodes if n.origin != n.name] == []


def test_passes_follow_each_other() -> None:
    recording = recorded("online_softmax")
    assert tuple(p.name for p in recording) == PASS_NAMES
    assert recording.passes[0].before.nodes == ()
    for earlier, later in zip(recording.passes, recording.passes[1:], strict=False):
        assert str(earlier.after) == str(later.before)


@pytest.mark.parametrize("name", ALL)
def test_names_and_regions_are_consistent(name: str) -> None:
    for record in recorded(name):
        consistent(record.after)


def consistent(snapshot: Snapshot) -> None:
    """Assert that names are unique and that everything named is there."""
    names = [n.name for n in snapshot.nodes]
    assert len(set(names)) == len(names)
    regions = [r.name for r in snapshot.regions]
    assert len(set(regions)) == len(regions)
    for node in snapshot.nodes:
        assert set(node.operands) <= set(names)
        assert node.region in regions
    for region in snapshot.regions:
        assert {*region.arguments, *region.yields} <= set(names)
        assert region.name == "root" or region.name in names


def test_a_loop_called_root_is_told_from_the_kernels_body() -> None:
    @tkw.wave(rows())
    def kernel(a: tkl.Memory[M, N, SPACE, tkl.f32], c: tkl.Memory[M, SPACE, tkl.f32]) -> None:
        @tkw.iterate(N, init_args=[tkl.Register[M, tkl.f32](0)])
        def root(x: Any) -> Any:
            return tkw.max(tkw.read(a), x, dim=N)

        tkw.write(root, c)

    bindings = case("row_max_add").bindings
    for record in lower(kernel, bindings, target("cpu"), Options()).recording:
        consistent(record.after)


def test_parameters_keep_their_names() -> None:
    memory = tkl.Memory[M, N, SPACE, tkl.f32]

    @tkw.wave(rows(loop=False))
    def kernel(input: memory, device: memory, c: memory) -> None:  # noqa: A002
        tkw.write(tkw.read(input) + tkw.read(device), c)

    bindings = case("polynomial").bindings
    after = lower(kernel, bindings, target("cpu"), Options()).recording["expand"].after
    assert [n.name for n in after.find(op="parameter")] == ["input", "device", "c"]


# --- failures -------------------------------------------------------------------------------------


def test_a_failed_pass_is_kept_with_its_graph(tmp_path: Path) -> None:
    made = case("nested_loops", m=2, n=100)
    with pytest.raises(ExplorerError) as raised:
        lower(made.kernel, made.bindings, target("cpu"), Options(unroll_limit=1))
    recording = raised.value.recording
    assert recording is not None
    *good, failed = recording.passes
    assert {p.status for p in good} <= {"changed", "unchanged"}
    assert (failed.name, failed.status) == ("form-parallel-loops", "failed")
    assert failed.after.nodes
    assert failed.error == recording.error == str(raised.value)
    assert "form-parallel-loops!" in repr(recording)
    recording.save(tmp_path / "failed.json")
    assert load(tmp_path / "failed.json") == recording


def test_a_kernel_refused_before_any_pass_has_a_recording_too() -> None:
    made = case("nested_loops", m=2, n=100)
    with pytest.raises(ExplorerError) as raised:
        lower(made.kernel, {}, target("cpu"), Options())
    assert raised.value.recording is not None
    assert raised.value.recording.passes == ()


# --- places in the source -------------------------------------------------------------------------

CELL = """\
import explorer.lang as tkl
import explorer.wave as tkw
M, N = tkl.sym.M, tkl.sym.N
ROW = tkl.Register[M, tkl.f32]
TILE = tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32]
H = tkw.HardwareConstraint(threads_per_wave=64)

@tkw.wave([H, tkw.TilingConstraint(N, 64)])
def größe(a: TILE, c: TILE):
    @tkw.iterate(N, init_args=[ROW(0)])
    def höchste(x):
        return tkw.max(tkw.read(a), x, dim=N)

    é = "é"; tkw.write(tkw.exp2(tkw.read(a)) + höchste, c)
"""

PLACES = {
    "register": "ROW(0)",
    "iterate": "tkw.iterate(",
    "max": "tkw.max(",
    "read": "tkw.read(a)",
    "add": "tkw.exp2(tkw.read(a)) + höchste",
    "write": "tkw.write(",
}


@pytest.fixture
def cell() -> Any:
    """A kernel of a notebook's cell: its text is only in memory."""
    name = "<ipython-input-1>"
    linecache.cache[name] = (len(CELL), None, CELL.splitlines(keepends=True), name)
    made: dict[str, Any] = {}
    exec(compile(CELL, name, "exec"), made)
    yield made["größe"]
    del linecache.cache[name]


@pytest.mark.parametrize("after", ["trace", "expand"])
@pytest.mark.parametrize("op", PLACES)
def test_nodes_point_at_their_line_and_column(cell: Any, op: str, after: str) -> None:
    assert places(cell, op, after) == {PLACES[op]}


def test_what_a_reduction_became_points_at_the_reduction(cell: Any) -> None:
    assert places(cell, "shuffle-xor", "decompose-reductions") == {"tkw.max("}


def places(kernel: Any, op: str, after: str) -> set[str]:
    """What stands in the cell where nodes of an op point at, as far as it is in ``PLACES``."""
    made = lower(kernel, {M: 2, N: 200}, target("gfx942"), Options())
    found: set[str] = set()
    for node in made.recording[after].after.find(op=op):
        assert node.location is not None
        file, line, column = node.location
        assert file == "<ipython-input-1>"
        text = CELL.splitlines()[line - 1][column:]
        found.add(max((p for p in PLACES.values() if text.startswith(p)), key=len, default=text))
    return found


def test_every_node_has_a_place() -> None:
    for record in recorded("layer_norm"):
        assert [n.name for n in record.after.nodes if n.location is None] == []


def test_mlir_names_the_places(cell: Any) -> None:
    made = lower(cell, {M: 2, N: 200}, target("gfx942"), Options())
    _, module = emit(made, Options())
    line = next(i for i, text in enumerate(CELL.splitlines(), 1) if "tkw.write" in text)
    assert f'"<ipython-input-1>":{line}:' in module.located


# --- looks ----------------------------------------------------------------------------------------


def test_a_recording_shows_its_chain() -> None:
    assert repr(recorded("row_sum")) == (
        "<Recording of row_sum for gfx942: " + " > ".join(PASS_NAMES) + ">"
    )


def test_a_recording_shows_itself_as_html() -> None:
    page = recorded("row_sum")._repr_html_()
    assert "row_sum" in page
    assert "decompose-reductions" in page


def test_html_escapes_what_a_file_gave() -> None:
    evil = replace(recorded("row_sum"), kernel="<script>alert(1)</script>")
    assert "<script>alert(1)</script>" not in evil._repr_html_()


def test_a_snapshot_prints_operations_with_their_loops() -> None:
    made = lower(
        issue_kernel(rows()),
        {**case("row_max_add").bindings, ELEMS_PER_THREAD: 2, ADDRESS_SPACE: SPACE},
        target("gfx942"),
        Options(),
    )
    text = str(made.recording["infer-types"].after)
    assert "%repeat = iterate(%register, step=128, steps=3)" in text
    assert "  %max = max(%read, %partial_max, dim=N) : f32[M]" in text
    assert "%add = add(%read_1, %repeat_result) : f32[M, N]" in text


def test_an_unknown_pass_or_node_is_named() -> None:
    recording = recorded("row_sum")
    with pytest.raises(KeyError, match="no pass 'expnd'; this recording has trace"):
        _ = recording["expnd"]
    with pytest.raises(KeyError, match="nothing"):
        recording["trace"].after.node("nothing")


def test_notes_tell_what_was_decided() -> None:
    recording = recorded("row_sum", "sm_90")
    assert any("sm_90 has waves of 32" in note for note in recording["trace"].notes)
