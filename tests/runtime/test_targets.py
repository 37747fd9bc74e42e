"""The table of targets, against what IREE itself compiles with."""

from __future__ import annotations

import re

import pytest
from iree.compiler.api import Output, Session, Source, ctypes_dl

from explorer.compiler.lang.targets import TARGETS, Target, UnknownTarget, target

FLAGS = {
    "rocm": ("--iree-hal-target-device=hip", "--iree-rocm-target={}"),
    "cuda": ("--iree-hal-target-device=cuda", "--iree-cuda-target={}"),
}
MODULE = (
    b"module { func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> } }\0"
)


def iree_facts(row: Target) -> str:
    """IREE's own description of a GPU."""
    with Session() as session:
        session.set_flags(*(flag.format(row.name) for flag in FLAGS[row.family]))
        invocation = session.invocation()
        invocation.parse_source(Source.wrap_buffer(session, MODULE))
        invocation.execute(ctypes_dl.PipelineType.IREE_COMPILER_PIPELINE_PRECOMPILE)
        output = Output.open_membuffer()
        invocation.output_ir(output)
        return re.search(r"iree_gpu\.target<.*?>>", bytes(output.map_memory()).decode()).group()


def number(facts: str, name: str) -> int:
    return int(re.search(rf"{name} = (\d+)", facts).group(1))


# IREE has no sm_90, and gives sm_86 the shared memory of sm_80.
@pytest.mark.parametrize("name", [n for n in TARGETS if n not in {"cpu", "sm_86", "sm_90"}])
def test_rows_agree_with_iree(name: str) -> None:
    row = target(name)
    facts = iree_facts(row)
    assert number(facts, "max_thread_count_per_workgroup") == row.max_threads
    assert number(facts, "max_workgroup_memory_bytes") == row.shared_memory_bytes
    choices = re.search(r"subgroup_size_choices = \[([\d, ]+)\]", facts).group(1)
    assert set(row.lane_choices) <= set(map(int, choices.split(",")))
    if row.family == "rocm":
        assert number(facts, "workgroup_memory_bank_count") == row.banks
        assert number(facts, "max_load_instruction_bits") == 8 * row.vector_bytes


@pytest.mark.parametrize("row", TARGETS.values(), ids=TARGETS)
def test_rows_are_whole(row: Target) -> None:
    assert row.lanes in row.lane_choices
    assert row.max_threads % row.lanes == 0
    assert row.subgroup_shuffles == (row.lanes > 1)
    assert row.device == {"cpu": "local", "rocm": "hip", "cuda": "cuda"}[row.family]
    assert all(limit >= 65535 for limit in row.grid_limits)


def test_a_launch_within_the_limits_has_less_than_2_to_32_threads() -> None:
    for row in TARGETS.values():
        if row.family == "rocm":
            assert row.grid_limits[0] * row.max_threads < 2**32


def test_unknown_target_is_guessed() -> None:
    with pytest.raises(
        UnknownTarget, match=r"did you mean gfx942.*\n.*the targets are cpu, gfx90a"
    ):
        target("gfx94")
