"""The same in words: short, true and the same every time."""

from __future__ import annotations

from explorer.viz.model import History
from explorer.viz.words import (
    describe,
    describe_pass,
    describe_recording,
    listed,
    plural,
    why,
)
from tests.viz import recordings


def test_a_pass_in_words() -> None:
    assert describe_pass(recordings.row_max_add()["expand"]) == (
        "expand (changed): 11 nodes -> 20\n"
        "  copied: read_1 x4, add x4, write x4\n"
        "  holds: 5 read, 4 add, 4 write, 2 parameter, 1 carried, 1 iterate, 1 max, 1 register, "
        "1 result"
    )


def test_a_failed_pass_says_its_error() -> None:
    text = describe_pass(recordings.failed().passes[-1])
    assert text.startswith("expand (failed)")
    assert "error: tile does not divide" in text


def test_a_node_in_words_has_type_index_users_and_reason() -> None:
    text = describe(recordings.row_max_add(), 3, "add_2x")
    assert "%add_2x = add(%read_1_2x, %row_max_result) : f32[M, N]  @ M=0 N=2" in text
    assert "index N: lane*2 + element_N + 256 (2 elements a lane)" in text
    assert "used by: write_2x" in text


def test_why_tells_the_whole_way_from_the_source_line() -> None:
    assert why(History(recordings.row_max_add()), 4, "max_fold") == (
        "max stands on line 24; infer-types found its type; infer-indices found its index; "
        "expand gave each piece of M its own copy; decompose-reductions took max apart, fold is "
        "one of the parts. This is the copy M = 0."
    )


def test_a_selection_that_is_not_there_is_left_out() -> None:
    recording = recordings.row_max_add()
    assert describe(recording, 0, "add_2x") == describe_pass(recording.passes[0])


def test_a_recording_in_words_has_no_times() -> None:
    slow = recordings.row_max_add()
    assert describe_recording(slow).splitlines()[4] == "  expand: changed, 20 nodes (12 copied)"
    assert "ms" not in describe_recording(slow)


def test_words_agree_in_number() -> None:
    assert [plural(1, "copy"), plural(3, "copy"), plural(2, "node")] == [
        "1 copy",
        "3 copies",
        "2 nodes",
    ]
    assert listed(["a", "b", "c"], most=2) == "a, b and 1 more"
