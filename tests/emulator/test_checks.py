"""What a kernel's code does wrong is said with instruction, line, workgroup, wave and lane."""

from __future__ import annotations

import numpy as np
import pytest
from core.kernels import case

import explorer
import explorer.lang as tkl
from emulator.snippets import execute, lines, program
from explorer.compiler.emulator.errors import (
    BarrierNotReached,
    EmulationFault,
    NeverWritten,
    OutsideBuffer,
    OutsideSharedMemory,
    RanPastTheEnd,
    SharedMemoryRace,
    StepLimit,
    StoreToInput,
    UnknownInstruction,
    UnreadableAssembly,
)
from explorer.compiler.emulator.launch import run
from explorer.compiler.runtime.errors import MissingDevice

START = """s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0"""


def fails(error: type[EmulationFault], code: str, *words: str, **how: int) -> None:
    """Assert that a program on one array of 64 words fails with a message that has the words."""
    out = np.arange(64, dtype=np.uint32)
    with pytest.raises(error) as caught:
        execute(f"{START}\n{code}", out, **how)
    message = str(caught.value)
    assert "line " in message
    for word in words:
        assert word in message
    np.testing.assert_array_equal(out, np.arange(64))


def test_a_load_after_the_end_of_an_argument() -> None:
    code = "global_load_dword v2, v1, s[4:5] offset:4"
    fails(OutsideBuffer, code, code, "lane 63", "load of 4 bytes", "0 bytes after the end of")


def test_a_store_before_the_start_of_an_argument() -> None:
    code = "global_store_dword v1, v0, s[4:5] offset:-4"
    fails(OutsideBuffer, code, "lane 0", "4 bytes before argument 0")


def test_a_scalar_load_of_nothing() -> None:
    fails(OutsideBuffer, "s_load_dword s8, s[4:5], 0x1000", "scalar load", "after the end")


def test_a_store_to_what_is_only_read() -> None:
    given = np.arange(64, dtype=np.uint32)
    text = program(lines(f"{START}\nglobal_store_dword v1, v0, s[4:5]"))
    with pytest.raises(StoreToInput, match="argument scores"):
        run(text, [given], written=[False], grid=(1, 1, 1), names=["scores"])


def test_shared_memory_has_an_end() -> None:
    code = "ds_write_b32 v1, v0 offset:16"
    fails(OutsideSharedMemory, code, "lane 60", "offset 256", "has 256", shared=256)


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("v_add_f32_e32 v3, v2, v0", "register v2"),
        ("s_add_u32 s8, s9, 1", "scalar register s9"),
        ("v_cndmask_b32_e32 v2, v0, v1, vcc", "vcc_lo"),
        ("ds_read_b32 v2, v1", "byte 0 of shared memory"),
    ],
)
def test_what_was_never_written(code: str, what: str) -> None:
    fails(NeverWritten, code, what, shared=256)


def test_a_register_that_only_some_lanes_wrote() -> None:
    code = """s_mov_b64 s[8:9], exec
        s_mov_b64 exec, 0xff
        v_mov_b32_e32 v2, 0
        s_mov_b64 exec, s[8:9]
        v_add_u32_e32 v3, 1, v2"""
    fails(NeverWritten, code, "register v2", "lane 8")


def test_a_copy_of_what_was_never_written_is_no_use_of_it() -> None:
    moves = "s_mov_b64 s[10:11], s[8:9]\n v_mov_b64_e32 v[4:5], s[10:11]"
    execute(f"{START}\n{moves}", np.zeros(64, np.uint32))
    fails(NeverWritten, f"{moves}\n v_add_u32_e32 v6, 1, v5", "register v5")


EXCHANGE = """ds_write_b32 v1, v0
    {between}
    v_xor_b32_e32 v2, 0x100, v1
    ds_read_b32 v3, v2"""


def test_waves_that_race_through_shared_memory() -> None:
    fails(
        SharedMemoryRace,
        EXCHANGE.format(between="s_nop 0"),
        "wave 0, lane 0",
        "load of byte 256",
        "wave 1 wrote",
        waves=2,
        shared=512,
    )


def test_a_barrier_ends_the_race() -> None:
    out = np.zeros(64, np.uint32)
    code = f"{START}\n{EXCHANGE.format(between='s_barrier')}"
    report = execute(code, out, waves=2, shared=512)
    assert report.counts.barriers == 2
    assert report.counts.shared_loaded_bytes == report.counts.shared_stored_bytes == 512


def test_two_waves_that_write_one_place() -> None:
    code = "v_and_b32_e32 v2, 0xfc, v1\n ds_write_b32 v2, v0"
    fails(SharedMemoryRace, code, "store of byte", "wrote", waves=2, shared=512)


def test_a_write_where_another_wave_has_read() -> None:
    code = """ds_write_b32 v1, v0
        s_barrier
        v_and_b32_e32 v2, 0xfc, v1
        ds_read_b32 v3, v2
        ds_write_b32 v1, v0"""
    fails(
        SharedMemoryRace, code, "store of byte", "read since the last barrier", waves=2, shared=512
    )


def test_a_barrier_that_one_wave_leaves_out() -> None:
    code = """v_readfirstlane_b32 s8, v0
        s_cmp_eq_u32 s8, 0
        s_cbranch_scc1 .END
        s_barrier
        .END:"""
    fails(BarrierNotReached, code, "s_barrier", "wave 1", "wave(s) 0", waves=2)


def test_a_loop_without_end() -> None:
    out = np.zeros(4, np.uint32)
    text = program(lines(".LOOP:\ns_nop 0\ns_branch .LOOP"))
    with pytest.raises(StepLimit, match="within 1000 steps"):
        run(text, [out], written=[True], grid=(1, 1, 1), step_limit=1000)


def test_a_program_without_end() -> None:
    text = program("s_nop 0").replace("s_endpgm", "s_nop 1")
    with pytest.raises(RanPastTheEnd):
        run(text, [np.zeros(4, np.uint32)], written=[True], grid=(1, 1, 1))


def test_an_unknown_instruction_is_named_with_its_line() -> None:
    with pytest.raises(UnknownInstruction, match=r"`s_unheard_of s1, s2` \(line 5"):
        execute("s_nop 0\ns_unheard_of s1, s2", np.zeros(4, np.uint32))


def test_only_modes_that_are_not_modelled_may_change() -> None:
    out = np.zeros(4, np.uint32)
    execute("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3", out)
    execute("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 0", out)
    with pytest.raises(UnknownInstruction):
        execute("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 1", out)


@pytest.mark.parametrize(
    ("part", "instead", "reason"),
    [
        ("gfx942", "gfx000", "does not know the processor gfx000"),
        ("gfx942", "sm_90", "name of a processor"),
        (".wavefront_size", ".size_of_waves", "wavefront size"),
        ("global_buffer", "by_value", "1 pointers"),
        ("kernel:", "nucleus:", "no label kernel"),
        (".reqd_workgroup_size", ".workgroup", "threads"),
    ],
)
def test_text_that_is_no_whole_kernel(part: str, instead: str, reason: str) -> None:
    text = program("s_nop 0").replace(part, instead)
    with pytest.raises(UnreadableAssembly, match=reason):
        run(text, [np.zeros(4, np.uint32)], written=[True], grid=(1, 1, 1))


def test_only_amd_code_is_emulated() -> None:
    small = case("row_max_add", tkl.f32, 1, 40)
    k = explorer.compile(small.kernel, small.bindings, target="cpu")
    with pytest.raises(MissingDevice, match="code is for cpu"):
        k.emulate(*small.inputs(), small.output())
