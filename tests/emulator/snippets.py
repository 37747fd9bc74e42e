"""Small programs for the emulator, written by hand around a few instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.launch import run
from explorer.compiler.emulator.report import EmulatorReport

Array = NDArray[Any]

LANES = {"gfx90a": 64, "gfx942": 64, "gfx950": 64, "gfx1100": 32, "gfx1201": 32}


def program(
    code: str, *, arch: str = "gfx942", waves: int = 1, pointers: int = 1, shared: int = 0
) -> str:
    """A kernel's whole text: argument pointers at s[0:1], the workgroup's number x in s2."""
    lanes = LANES[arch]
    rows = "".join(
        f"      - .offset: {8 * i}\n        .size: 8\n        .value_kind: global_buffer\n"
        for i in range(pointers)
    )
    body = "\n".join(line if line.endswith(":") else f"\t{line}" for line in code.split("\n"))
    return f"""
	.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
kernel:
{body}
	s_endpgm
	.amdhsa_kernel kernel
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_count 2
		.amdhsa_system_sgpr_workgroup_id_x 1
	.end_amdhsa_kernel
	.amdgpu_metadata
amdhsa.kernels:
  - .agpr_count: 0
    .args:
{rows}    .group_segment_fixed_size: {shared}
    .kernarg_segment_size: {8 * pointers}
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - {lanes * waves}
      - 1
      - 1
    .wavefront_size: {lanes}
	.end_amdgpu_metadata
"""


def lines(text: str) -> str:
    """Instructions without the indentation of the test around them."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


def execute(code: str, *arrays: Array, grid: int = 1, **how: Any) -> EmulatorReport:
    """Run a program on arrays that it may all write."""
    text = program(lines(code), pointers=len(arrays), **how)
    return run(text, arrays, written=[True] * len(arrays), grid=(grid, 1, 1))


def each_lane(
    instruction: str, inputs: Sequence[Array], *, arch: str = "gfx942", results: int = 1
) -> Array:
    """What one instruction leaves in v20, v21, ... of each lane.

    Args:
        instruction: takes its operands from v10, v11, ... and its masks from vcc.
        inputs: uint32 [lane] for each of v10, v11, ...
        arch: the processor.
        results: how many registers are looked at.

    Returns:
        uint32 [register, lane]
    """
    wide = arch.startswith("gfx9")
    load, store = ("dword", "dword") if wide else ("b32", "b32")
    lanes = LANES[arch]
    table = np.concatenate([np.asarray(a, np.uint32) for a in inputs])
    found = np.zeros(lanes * results, np.uint32)
    loads = "\n".join(
        f"global_load_{load} v{10 + i}, v1, s[4:5] offset:{4 * lanes * i}"
        for i in range(len(inputs))
    )
    stores = "\n".join(
        f"global_store_{store} v1, v{20 + i}, s[6:7] offset:{4 * lanes * i}" for i in range(results)
    )
    code = f"""
        s_load_b64 s[4:5], s[0:1], 0x0
        s_load_b64 s[6:7], s[0:1], 0x8
        s_mov_b32 vcc_lo, 0x5555aaaa
        s_mov_b32 vcc_hi, 0x0f0f0f0f
        v_lshlrev_b32_e32 v1, 2, v0
        v_mov_b32_e32 v20, 0
        v_mov_b32_e32 v21, 0
        {loads}
        {instruction}
        {stores}
    """
    execute(code, table, found, arch=arch)
    return found.reshape(results, lanes)
