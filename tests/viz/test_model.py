"""Lineage, differences, stacks and edges of recordings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explorer.compiler.record import NodeView, Snapshot
from explorer.viz.model import (
    EMPTY,
    Birth,
    History,
    carried,
    count_by_family,
    count_by_op,
    diff,
    edges,
    loops,
    sources,
    stacks,
    users,
    waits,
)
from tests.viz import recordings


def snapshot(*nodes: NodeView) -> Snapshot:
    """A graph with one region."""
    return Snapshot(nodes, (recordings.root(),))


def after(name: str, copies: tuple[int, int] = (1, 4)) -> Snapshot:
    """The row kernel after a pass."""
    return recordings.row_max_add(copies)[name].after


def test_everything_is_new_in_the_trace() -> None:
    d = diff(EMPTY, recordings.traced())
    assert (len(d.added), d.removed, d.changed, d.made_from) == (11, (), (), {})


def test_a_snapshot_does_not_differ_from_itself() -> None:
    state = after("expand")
    d = diff(state, state)
    assert len(d.same) == len(state.nodes)
    assert d.counts == {"added": 0, "removed": 0, "changed": 0, "copied": 0}


def test_a_change_names_the_fields() -> None:
    record = recordings.row_max_add()["infer-types"]
    fields = {c.after.name: c.fields for c in diff(record.before, record.after).changed}
    assert fields["add"] == ("type",)
    assert "row_max" not in fields


def test_one_node_becomes_several() -> None:
    record = recordings.row_max_add()["expand"]
    d = diff(record.before, record.after)
    assert d.copies["add"] == ("add", "add_1x", "add_2x", "add_3x")
    assert d.status_before["add"] == "copied"
    assert d.status_after["add_3x"] == "copied"


def test_the_only_copy_of_a_node_is_no_change() -> None:
    record = recordings.row_max_add((1, 1))["expand"]
    d = diff(record.before, record.after)
    assert d.counts == {"added": 0, "removed": 0, "changed": 0, "copied": 0}


def test_a_node_taken_apart_is_removed_and_its_parts_say_where_they_come_from() -> None:
    record = recordings.row_max_add()["decompose-reductions"]
    d = diff(record.before, record.after)
    assert [n.name for n in d.removed] == ["max"]
    assert set(d.made_from.values()) == {"max"}
    assert len(d.added) == 14


def test_operands_are_compared_through_origins() -> None:
    x = recordings.node("x", "read")
    user = recordings.node("user", "add", "x")
    renamed = snapshot(
        replace(x, name="y", origin="x"), replace(user, operands=("y",), origin="user")
    )
    assert diff(snapshot(x, user), renamed).counts["changed"] == 0


def test_another_operand_is_a_change() -> None:
    x, y = recordings.node("x", "read"), recordings.node("y", "read")
    user = recordings.node("user", "add", "x")
    moved = replace(user, operands=("y",))
    [change] = diff(snapshot(x, y, user), snapshot(x, y, moved)).changed
    assert change.fields == ("operands",)


def test_without_an_origin_the_name_decides() -> None:
    x = recordings.node("x", "read")
    assert sources(snapshot(x), snapshot(x, recordings.node("new", "add"))) == {
        "x": "x",
        "new": None,
    }


def test_an_origin_that_is_not_there_means_new() -> None:
    x = recordings.node("x", "read")
    assert sources(snapshot(x), snapshot(replace(x, origin="gone"))) == {"x": None}


def test_copies_stand_in_one_stack() -> None:
    history = History(recordings.row_max_add((2, 4)))
    by_label = {s.label: s for s in history.stacks(3)}
    assert len(by_label["add"].nodes) == 8
    assert by_label["add"].dims == ("M", "N")
    assert by_label["read"].dims == ("M",)
    assert len(by_label["a"].nodes) == 1


def test_parts_with_the_same_coordinates_stand_in_different_stacks() -> None:
    history = History(recordings.row_max_add((2, 4)))
    shuffles = [s for s in history.stacks(4) if s.first.op == "shuffle-xor"]
    assert [len(s.nodes) for s in shuffles] == [2] * 6


def test_parts_without_coordinates_belong_to_the_copy_they_were_made_from() -> None:
    whole = recordings.row_max_add((2, 4))
    last = whole["decompose-reductions"]
    bare = tuple(replace(n, copy={}) if n.op == "fold" else n for n in last.after.nodes)
    record = replace(last, after=Snapshot(bare, last.after.regions))
    history = History(replace(whole, passes=(*whole.passes[:4], record)))
    [fold] = [s for s in history.stacks(4) if s.first.op == "fold"]
    assert [n.copy for n in fold.nodes] == [{"M": 0}, {"M": 1}]


def test_a_stack_keeps_its_key_from_pass_to_pass() -> None:
    history = History(recordings.row_max_add())
    keys = [{s.label: s.key for s in history.stacks(step)}["add"] for step in range(6)]
    assert len(set(keys)) == 1


def test_256_copies_are_one_stack() -> None:
    history = History(recordings.row_max_add((16, 16)))
    assert max(len(s.nodes) for s in history.stacks(3)) == 256
    assert len(history.stacks(3)) == 11


def test_a_part_is_labelled_by_its_own_name() -> None:
    maximum = recordings.node("maximum", "maximum")
    [stack] = stacks(snapshot(maximum), {"maximum": Birth(0, "max")})
    assert stack.label == "maximum"
    numbered = recordings.node("max_3", "maximum")
    [stack] = stacks(snapshot(numbered), {"max_3": Birth(0, "max")})
    assert stack.label == "max"


def test_the_chain_leads_back_to_the_trace() -> None:
    chain = History(recordings.row_max_add()).chain(5, "max_fold")
    assert [link.node.name for link in chain] == ["max_fold", "max_fold", *["max"] * 4]
    assert chain[-1].step == 0


def test_the_chain_of_an_unknown_node_is_an_error() -> None:
    with pytest.raises(KeyError, match="nobody"):
        History(recordings.row_max_add()).chain(0, "nobody")


def test_edges_join_initial_values_and_results_to_the_body() -> None:
    found = edges(after("trace"))
    assert ("start", "partial") in found
    assert ("max", "row_max_result") in found
    assert not any("row_max" in edge for edge in found)


def test_repeated_operands_are_two_edges() -> None:
    x = recordings.node("x", "read")
    assert edges(snapshot(x, recordings.node("y", "add", "x x"))) == (("x", "y"), ("x", "y"))


def test_a_half_way_graph_leaves_out_what_is_not_there() -> None:
    half = recordings.failed().passes[-1].after
    names = {n.name for n in half.nodes}
    assert all(a in names and b in names for a, b in edges(half))
    assert loops(Snapshot((), half.regions)) == ()


def test_carried_values_go_from_the_yield_to_the_argument() -> None:
    assert carried(after("trace")) == (("max", "partial"),)


def test_a_barrier_waits_for_its_neighbours_in_the_program() -> None:
    x = recordings.node("x", "read", "m")
    barrier = replace(recordings.node("wait", "read"), op="barrier", family="synchronisation")
    use = recordings.node("use", "add", "x")
    assert waits(snapshot(recordings.node("m", "parameter"), x, barrier, use)) == (
        ("x", "wait"),
        ("wait", "use"),
    )


def test_users_name_each_user_once() -> None:
    found = users(after("expand"))
    assert found["row_max_result"] == ("add", "add_1x", "add_2x", "add_3x")
    assert found["write"] == ()


def test_counts_are_ranked() -> None:
    state = after("expand")
    assert list(count_by_op(state.nodes).items())[:3] == [("read", 5), ("add", 4), ("write", 4)]
    assert count_by_family(state.nodes)["memory"] == 9
