"""Runs a whole IREE module through IREE's own HIP driver, its kernels in the emulator.

    python run_module.py LIBRARY MODULE FUNCTION ASSEMBLY_FOLDER INPUTS.npz OUTPUTS.npz

The library is ``library.c``, built. The driver loads it in place of ROCm's; it gives memory of this
process and hands each launch to this program. The exit status is 1 when a launch fails.
"""

from __future__ import annotations

import ctypes
import sys
import traceback
from pathlib import Path
from typing import Any

import iree.runtime as rt
import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.counts import Counts
from explorer.compiler.emulator.launch import STEP_LIMIT, Launch, load
from explorer.compiler.emulator.memory import BASE, GlobalMemory, Region
from explorer.compiler.emulator.metadata import CodeFacts, kernel_names

Array = NDArray[Any]

CAPACITY = 256 << 20
LAUNCH = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_void_p),
)


class Device:
    """The library, and the assembly text of the kernels it is asked to launch."""

    def __init__(self, library: Path, assembly: Path) -> None:
        """Load both and give the library its memory."""
        texts = [path.read_text() for path in sorted(assembly.iterdir()) if path.suffix != ".npz"]
        self.kernels = {name: load(text, name) for text in texts for name in kernel_names(text)}
        self.counts = Counts()
        self.failures: list[str] = []
        self._library = ctypes.CDLL(str(library))
        self._callback = LAUNCH(self._launch)  # must outlive the library's use of it
        if self._library.explorer_start(self._callback) != 0:
            raise MemoryError("the emulated device's address is taken in this process")

    def _launch(self, name: bytes, shape: Any, arguments: Any) -> int:
        try:
            facts, program = self.kernels[name.decode()]
            grid, block = tuple(shape[0:3]), tuple(shape[3:6])
            segment = argument_segment(facts, arguments, grid, block)
            launch = Launch(program, facts, self._memory(), segment, grid, self.counts)
            launch.run(STEP_LIMIT)
        except Exception:
            self.failures.append(traceback.format_exc())
            return 719  # hipErrorLaunchFailure
        return 0

    def _memory(self) -> GlobalMemory:
        data = np.ctypeslib.as_array((ctypes.c_uint8 * CAPACITY).from_address(BASE))
        regions = [self._region(i) for i in range(self._library.explorer_region_count())]
        return GlobalMemory(data, regions)

    def _region(self, index: int) -> Region:
        offset, size = ctypes.c_uint64(), ctypes.c_uint64()
        self._library.explorer_region(index, ctypes.byref(offset), ctypes.byref(size))
        return Region(f"allocation {index}", offset.value, size.value, writable=True)


def argument_segment(
    facts: CodeFacts, arguments: Any, grid: tuple[int, ...], block: tuple[int, ...]
) -> Array:
    """What the runtime puts into the kernel's argument segment.

    Source: LLVM, "User Guide for AMDGPU Backend", hidden kernel arguments.
    """
    hidden = {"hidden_grid_dims": 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1}
    for i, axis in enumerate("xyz"):
        hidden |= {f"hidden_block_count_{axis}": grid[i], f"hidden_group_size_{axis}": block[i]}
    segment = np.zeros(-(-facts.argument_bytes // 16) * 16 + 64, np.uint8)
    for i, argument in enumerate(facts.arguments):
        if argument.kind.startswith("hidden"):
            raw = hidden.get(argument.kind, 0).to_bytes(argument.size, "little")
        else:
            raw = ctypes.string_at(arguments[i], argument.size)
        segment[argument.offset :][: argument.size] = np.frombuffer(raw, np.uint8)
    return segment


def main(library: str, module: str, function: str, assembly: str, inputs: str, outputs: str) -> int:
    """Run one function of a module."""
    device = Device(Path(library), Path(assembly))
    rt.flags.parse_flags(f"--hip_dylib_path=file:{library}")
    config = rt.Config("hip")
    context = rt.SystemContext(config=config)
    context.add_vm_module(rt.VmModule.copy_buffer(config.vm_instance, Path(module).read_bytes()))
    with np.load(inputs) as given:
        arrays = [given[name] for name in given.files]
    try:
        result = context.modules.module[function](*arrays)
        results = result if isinstance(result, tuple) else (result,)
        np.savez(outputs, *[np.asarray(array.to_host()) for array in results])
    except Exception:
        if not device.failures:
            raise
    sys.stderr.write("".join(device.failures))
    sys.stdout.write(f"{device.counts.total}\n")
    return 1 if device.failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
