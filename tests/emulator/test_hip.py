"""Whole modules through IREE's own HIP driver, with the emulator behind its HIP library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from core.kernels import case
from numpy.typing import NDArray

import explorer
import explorer.lang as tkl

Array = NDArray[Any]

HERE = Path(__file__).parent / "hip"
COMPILER = shutil.which("cc")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler to build the library with")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HIP library, built."""
    built = tmp_path_factory.mktemp("hip") / "libamdhip64.so"
    command = [str(COMPILER), "-O1", "-shared", "-fPIC", "-o", built, HERE / "library.c"]
    subprocess.run(command, check=True, timeout=60)
    return built


def through_the_driver(
    library: Path, folder: Path, module: bytes, function: str, inputs: list[Array]
) -> list[Array]:
    """What a function gives. ``folder`` holds an ``isa`` folder with the kernels' assembly text."""
    (folder / "module.vmfb").write_bytes(module)
    np.savez(folder / "inputs.npz", *inputs)
    command = [sys.executable, HERE / "run_module.py", library, folder / "module.vmfb", function]
    command += [folder / "isa", folder / "inputs.npz", folder / "outputs.npz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "outputs.npz") as found:
        return [found[name] for name in found.files]


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_a_kernel_gives_the_same_through_the_driver(
    target: str, library: Path, tmp_path: Path
) -> None:
    small = case("online_softmax", tkl.f32, 3, 100)
    k = explorer.compile(small.kernel, small.bindings, target=target)
    (x,), direct = small.inputs(), small.output()
    k.emulate(x, direct)
    (tmp_path / "isa").mkdir()
    (tmp_path / "isa" / "kernel.s").write_text(k.isa)
    code = k.executable.vmfb
    (found,) = through_the_driver(library, tmp_path, code, "main", [x, np.zeros_like(direct)])
    np.testing.assert_array_equal(found, direct)


MATMUL = """
func.func @f(%a: tensor<64x96x{t}>, %b: tensor<96x48x{t}>) -> tensor<64x48x{r}> {{
  %zero = arith.constant {zero} : {r}
  %empty = tensor.empty() : tensor<64x48x{r}>
  %c = linalg.fill ins(%zero : {r}) outs(%empty : tensor<64x48x{r}>) -> tensor<64x48x{r}>
  %d = linalg.matmul ins(%a, %b : tensor<64x96x{t}>, tensor<96x48x{t}>)
                     outs(%c : tensor<64x48x{r}>) -> tensor<64x48x{r}>
  return %d : tensor<64x48x{r}>
}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("element", ["f16", "i8"])
def test_iree_s_own_matrix_products(
    element: str, target: str, library: Path, tmp_path: Path
) -> None:
    result, zero = {"f16": ("f32", "0.0"), "i8": ("i32", "0")}[element]
    (tmp_path / "f.mlir").write_text(MATMUL.format(t=element, r=result, zero=zero))
    assembly = compile_with_iree(tmp_path, target)
    assert "_mfma_" in assembly or "_wmma_" in assembly
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (64, 96)), rng.integers(-9, 9, (96, 48))
    dtype = {"f16": np.float16, "i8": np.int8}[element]
    module = (tmp_path / "f.vmfb").read_bytes()
    (found,) = through_the_driver(
        library, tmp_path, module, "f", [a.astype(dtype), b.astype(dtype)]
    )
    np.testing.assert_array_equal(found, a @ b)


def compile_with_iree(folder: Path, target: str) -> str:
    """Compile ``f.mlir``; its kernels' assembly text goes to ``isa``, and is returned."""
    subprocess.run(
        [
            Path(sys.executable).with_name("iree-compile"),
            folder / "f.mlir",
            "-o",
            folder / "f.vmfb",
            "--iree-hal-target-device=hip",
            f"--iree-rocm-target={target}",
            f"--iree-hal-dump-executable-intermediates-to={folder / 'dump'}",
        ],
        check=True,
        capture_output=True,
        timeout=200,
    )
    (folder / "isa").mkdir()
    texts = sorted((folder / "dump").glob("*.rocmasm"))
    for path in texts:
        shutil.copy(path, folder / "isa" / path.name)
    return "".join(path.read_text() for path in texts)
