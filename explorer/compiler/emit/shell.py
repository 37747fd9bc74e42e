"""What stands around a kernel's code in a module: the executable, its grid, the host function.

The form is what IREE takes for a dispatch that is lowered as written (pipeline ``no_pipeline``):
one ``stream.executable`` with the device function, and a host function ``main`` that dispatches it
and ties each result to the argument it overwrites, so that a call works in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.compiler.ir.types import MemoryType, TileType
from explorer.compiler.lang.dtypes import DType
from explorer.compiler.lang.targets import Target
from explorer.compiler.lang.tiling import DimTiling, Tiling

ENTRY = "main"
"""Name of the host function in every module."""


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel: a tensor, or a number (a value without dims)."""

    name: str
    kind: MemoryType | TileType
    written: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return isinstance(self.kind, MemoryType)


def carrier(dtype: DType) -> DType:
    """The type in which a number travels to the device: every target's calls have it."""
    match dtype:
        case DType.F64 | DType.I64:
            return DType.I64  # an f64 as its bits
        case _:
            return DType.F32 if dtype.is_float else DType.I32


def shell(arguments: Sequence[Argument], tiling: Tiling, target: Target) -> str:
    """The module's text with an empty device function ``kernel``.

    ``kernel`` takes the tensors in order, then the numbers, then the sizes that only a call knows.
    """
    written = [i for i, a in enumerate(arguments) if a.written]
    types = [_type("tensor", a, tiling) for a in arguments]
    tensors = [i for i, a in enumerate(arguments) if a.is_tensor]
    numbers = [i for i, a in enumerate(arguments) if not a.is_tensor]
    sizes = [f"%size_{d}" for d in tiling.dynamic]
    values = [f"%arg{i}" for i in (*tensors, *numbers)] + sizes
    shown = [types[i] + _dims(arguments[i], tiling) for i in tensors]
    shown += [types[i] for i in numbers] + ["index"] * len(sizes)
    tied = ", ".join(f"%arg{i}{_dims(arguments[i], tiling)}" for i in written)
    results = ", ".join(types[i] for i in written)
    parameters = ", ".join(f"%arg{i}: {t}" for i, t in enumerate(types))
    entry = [f"%arg{i}: !stream.binding" for i in tensors]
    entry += [f"%arg{i}: {types[i]}" for i in numbers] + [f"{s}: index" for s in sizes]
    made = f"%0:{len(written)}" if len(written) > 1 else "%0"
    returned = ", ".join(f"%0#{i}" for i in range(len(written))) if len(written) > 1 else "%0"
    workload = f"[{', '.join(sizes)}]" if sizes else ""
    return f"""
module {{
  stream.executable private @kernel {{
    stream.executable.export public @kernel workgroups({_indices(sizes)}) -> (index, index, index) {{
{_grid(tiling)}
      stream.return %x, %y, %z : index, index, index
    }}
    builtin.module {{
      func.func @kernel({", ".join(entry)}) attributes {{translation_info = {_translation(tiling, target)}}} {{
        %c0 = arith.constant 0 : index
{_subspans(arguments, tiling)}
        return
      }}
    }}
  }}
  func.func @{ENTRY}({parameters}) -> ({results}) {{
{_sizes(arguments, tiling)}    {made} = flow.dispatch @kernel::@kernel{workload}({", ".join(values)}) : ({", ".join(shown)}) -> ({tied})
    return {returned} : {results}
  }}
}}
"""  # noqa: E501 (MLIR's own long lines)


def _indices(names: Sequence[str]) -> str:
    return ", ".join(f"{name}: index" for name in names)


def _grid(tiling: Tiling) -> str:
    """The number of workgroups along x, y and z."""
    owners = {d.workgroup_dim: d for d in tiling.dims if d.split}
    return "\n".join(_count(name, owners.get(axis)) for axis, name in enumerate("xyz"))


def _count(name: str, dim: DimTiling | None) -> str:
    """Workgroups along one axis: a constant, or the quotient of a size and a tile."""
    if dim is None or dim.size is not None:
        return f"      %{name} = arith.constant {1 if dim is None else dim.workgroups} : index"
    return (
        f"      %tile_{name} = arith.constant {dim.workgroup_tile} : index\n"
        f"      %{name} = arith.ceildivui %size_{dim.name}, %tile_{name} : index"
    )


def _sizes(arguments: Sequence[Argument], tiling: Tiling) -> str:
    """The sizes that only a call knows, each from the first tensor that has the dim."""
    lines: list[str] = []
    for dim in tiling.dynamic:
        i, a = next((i, a) for i, a in enumerate(arguments) if dim in a.kind.dims)
        axis = a.kind.dims.index(dim)
        lines.append(f"    %axis_{dim} = arith.constant {axis} : index\n")
        lines.append(
            f"    %size_{dim} = tensor.dim %arg{i}, %axis_{dim} : {_type('tensor', a, tiling)}\n"
        )
    return "".join(lines)


def _subspans(arguments: Sequence[Argument], tiling: Tiling) -> str:
    return "\n".join(
        f"        %m{i} = stream.binding.subspan %arg{i}[%c0] : !stream.binding -> "
        f"{_type('memref', a, tiling)}{_dims(a, tiling)}"
        for i, a in enumerate(arguments)
        if a.is_tensor
    )


def _dims(argument: Argument, tiling: Tiling) -> str:
    """The sizes of a tensor that only a call knows."""
    names = [f"%size_{d}" for d in argument.kind.dims if d in tiling.dynamic]
    return f"{{{', '.join(names)}}}" if names else ""


def _translation(tiling: Tiling, target: Target) -> str:
    if target.family == "cpu":
        return "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"
    return (
        "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline "
        f"workgroup_size = [{tiling.waves * tiling.lanes}, 1, 1] subgroup_size = {tiling.lanes}>"
    )


def _type(kind: str, argument: Argument, tiling: Tiling) -> str:
    if not argument.is_tensor:
        return str(carrier(argument.kind.dtype))
    sizes = "x".join(
        "?" if tiling[d].size is None else str(tiling[d].size) for d in argument.kind.dims
    )
    return f"{kind}<{sizes}x{argument.kind.dtype}>"
