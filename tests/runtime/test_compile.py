"""MLIR to code: for the processor and for GPUs that are not here."""

from __future__ import annotations

import pytest

from explorer.compiler.lang.targets import target
from explorer.compiler.runtime.compile import compile_mlir
from explorer.compiler.runtime.elf import function_sizes
from explorer.compiler.runtime.errors import BadCompilerFlag, CompilerFailed
from runtime.modules import doubled, through_shared_memory, wave_maximum


def test_the_processors_code_is_the_kernel_alone() -> None:
    mlir = doubled("f32")
    done = compile_mlir(mlir, target("cpu"))
    assert done.vmfb
    assert done.seconds > 0
    assert "\nk:\n" in done.isa
    assert "iree_hal_executable_library_query" not in done.isa
    line = next(i for i, text in enumerate(mlir.splitlines(), 1) if "vector.store" in text)
    assert f"# mlir {line}:" in done.isa, "machine code names the line of MLIR it comes from"
    assert 0 < done.resources["code_bytes"] < 1000


@pytest.mark.parametrize(
    ("name", "lanes"),
    [("gfx90a", 64), ("gfx942", 64), ("gfx950", 64), ("gfx1100", 32), ("gfx1201", 32)],
)
def test_amd(name: str, lanes: int) -> None:
    done = compile_mlir(wave_maximum(lanes), target(name))
    assert '.amdgcn_target "amdgpu' in done.isa
    assert "v_max" in done.isa
    facts = done.resources
    assert facts["compiled_for"] == name
    assert facts["wavefront_size"] == lanes
    assert 0 < facts["vgpr"] <= target(name).registers
    assert facts["sgpr"] > 0
    assert facts["vgpr_spills"] == facts["sgpr_spills"] == facts["scratch_bytes"] == 0
    assert facts["code_bytes"] > 50


def test_occupancy_is_known_where_its_rule_is() -> None:
    small = compile_mlir(wave_maximum(64), target("gfx942")).resources
    assert small["occupancy_waves_per_simd"] == 8
    assert (
        "occupancy_waves_per_simd"
        not in compile_mlir(wave_maximum(32), target("gfx1201")).resources
    )


@pytest.mark.parametrize(("name", "compiled_for"), [("sm_89", "sm_89"), ("sm_90", "sm_89")])
def test_nvidia(name: str, compiled_for: str) -> None:
    done = compile_mlir(wave_maximum(32), target(name))
    assert ".visible .entry k(" in done.isa
    assert f".target {compiled_for}" in done.isa
    assert "shfl.sync.bfly" in done.isa
    assert done.resources == {"shared_memory_bytes": 0, "threads": 32, "compiled_for": compiled_for}


def test_shared_memory_is_counted_where_the_code_tells() -> None:
    amd = compile_mlir(through_shared_memory(128), target("gfx1100")).resources
    assert amd["shared_memory_bytes"] == 128 * 4
    nvidia = compile_mlir(through_shared_memory(128), target("sm_80")).resources
    assert nvidia == {"threads": 128, "compiled_for": "sm_80"}


def test_a_refused_module_shows_the_line() -> None:
    mlir = doubled("f32").replace("arith.addf %v, %v", "arith.addf %v, %c0")
    with pytest.raises(CompilerFailed, match=r"mlir:\d+:\d+: use of value '%c0'.*\n +%r = arith"):
        compile_mlir(mlir, target("cpu"))


def test_a_module_that_does_not_lower_shows_the_cause_alone() -> None:
    with pytest.raises(CompilerFailed, match=r"%id = gpu\.thread_id x") as caught:
        compile_mlir(wave_maximum(32), target("cpu"))
    assert "failed to serialize" not in str(caught.value)


@pytest.mark.parametrize(
    "mlir", ["module {", "", "}", "module {}", "\0", "module { func.func @x() { } }"]
)
def test_no_text_crashes(mlir: str) -> None:
    with pytest.raises(CompilerFailed):
        compile_mlir(mlir, target("cpu"))


def test_an_unknown_flag_is_named() -> None:
    with pytest.raises(BadCompilerFlag, match="--no-such-flag"):
        compile_mlir(doubled("f32"), target("cpu"), flags=["--no-such-flag"])


def test_what_is_no_elf_has_no_functions() -> None:
    assert function_sizes(b"") == {}
    assert function_sizes(b"\x7fELF\x01\x01" + bytes(100)) == {}
