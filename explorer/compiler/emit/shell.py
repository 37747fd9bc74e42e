"""What stands around a kernel's code in a module: the executable, its grid, the host function.

The form is what IREE takes for a dispatch that is lowered as written (pipeline ``no_pipeline``):
one ``stream.executable`` with the device function, and a host function ``main`` that dispatches it
and ties each result to the argument it overwrites, so that a call works in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.compiler.ir.types import MemoryType
from explorer.compiler.lang.targets import Target
from explorer.compiler.lang.tiling import Tiling

ENTRY = "main"
"""Name of the host function in every module."""


@dataclass(frozen=True)
class Argument:
    """A kernel's tensor argument."""

    name: str
    memory: MemoryType
    written: bool


def shell(arguments: Sequence[Argument], tiling: Tiling, target: Target) -> str:
    """The module's text with an empty device function ``kernel``; its arguments in order."""
    grid, how = tiling.grid, _translation(tiling, target)
    tensors = [_shaped("tensor", a.memory, tiling) for a in arguments]
    written = [i for i, a in enumerate(arguments) if a.written]
    results = ", ".join(tensors[i] for i in written)
    tied = ", ".join(f"%arg{i}" for i in written)
    values = ", ".join(f"%arg{i}" for i in range(len(arguments)))
    parameters = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(tensors))
    bindings = ", ".join(f"%arg{i}: !stream.binding" for i in range(len(arguments)))
    made = f"%0:{len(written)}" if len(written) > 1 else "%0"
    returned = ", ".join(f"%0#{i}" for i in range(len(written))) if len(written) > 1 else "%0"
    return f"""
module {{
  stream.executable private @kernel {{
    stream.executable.export public @kernel workgroups() -> (index, index, index) {{
      %x = arith.constant {grid[0]} : index
      %y = arith.constant {grid[1]} : index
      %z = arith.constant {grid[2]} : index
      stream.return %x, %y, %z : index, index, index
    }}
    builtin.module {{
      func.func @kernel({bindings}) attributes {{translation_info = {how}}} {{
        %c0 = arith.constant 0 : index
{_subspans(arguments, tiling)}
        return
      }}
    }}
  }}
  func.func @{ENTRY}({parameters}) -> ({results}) {{
    {made} = flow.dispatch @kernel::@kernel({values}) : ({", ".join(tensors)}) -> ({tied})
    return {returned} : {results}
  }}
}}
"""


def _subspans(arguments: Sequence[Argument], tiling: Tiling) -> str:
    return "\n".join(
        f"        %m{i} = stream.binding.subspan %arg{i}[%c0] : !stream.binding -> "
        f"{_shaped('memref', a.memory, tiling)}"
        for i, a in enumerate(arguments)
    )


def _translation(tiling: Tiling, target: Target) -> str:
    if target.family == "cpu":
        return "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"
    return (
        "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline "
        f"workgroup_size = [{tiling.waves * tiling.lanes}, 1, 1] subgroup_size = {tiling.lanes}>"
    )


def _shaped(kind: str, memory: MemoryType, tiling: Tiling) -> str:
    sizes = "x".join(str(tiling[d].size) for d in memory.dims)
    return f"{kind}<{sizes}x{memory.dtype}>"
