"""Vector ALU instructions: from rows, compares, packed and dual ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.conversion_rows import CONVERSION
from explorer.compiler.emulator.dpp import is_dpp, is_sdwa, moved, part, placed, written_lanes
from explorer.compiler.emulator.float_rows import FLOAT
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.integer_rows import INTEGER
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.operand import EXEC, VCC, Operand
from explorer.compiler.emulator.rows import Row, Table
from explorer.compiler.emulator.sources import (
    DTYPES,
    Reader,
    lane_bits,
    source,
    unknown,
    write,
    write_mask,
)

Array = NDArray[Any]

ROWS: Table = INTEGER | FLOAT | CONVERSION

VCC_PAIR = Operand("s", VCC, 2)


def readers(instruction: Instruction, row: Row) -> list[Reader]:
    """Readers of a row's operands, its destination's old value last if it accumulates."""
    given = instruction.operands[1 : 1 + len(row.sources)]
    made = [
        reader(instruction, i, o, k)
        for i, (o, k) in enumerate(zip(given, row.sources, strict=True))
    ]
    if row.accumulates:
        made.append(source(instruction.operands[0], row.result))
    return made


def reader(instruction: Instruction, position: int, operand: Operand, kind: str) -> Reader:
    """A reader of a vector instruction's operand, from wherever its encoding takes it."""
    if is_dpp(instruction) and position == 0:
        if kind.endswith("64"):
            raise unknown(instruction)
        return moved(instruction, operand, kind)
    if is_sdwa(instruction):
        return part(instruction, position, operand, kind)
    return source(operand, kind, high=selects_high(instruction, position))


def selects_high(instruction: Instruction, position: int) -> bool:
    """Whether ``op_sel`` takes the upper half for an operand (the destination comes last)."""
    chosen = instruction.bits("op_sel", ())
    return position < len(chosen) and bool(chosen[position])


def build_row(instruction: Instruction, row: Row) -> Step:
    """An instruction that computes each lane on its own."""
    if len(instruction.operands) != 1 + len(row.sources):
        raise unknown(instruction)
    reads, dtype = readers(instruction, row), DTYPES[row.result]
    target, high = instruction.operands[0], selects_high(instruction, len(row.sources))
    finish, dpp, sdwa = modifier(instruction, row), is_dpp(instruction), is_sdwa(instruction)

    def step(machine: Machine) -> None:
        waves = machine.waves
        value = row.function(*[read(waves) for read in reads]).astype(dtype, copy=False)
        value = finish(value) if finish else value
        value = placed(instruction, waves, value) if sdwa else value
        mask = written_lanes(instruction, waves) if dpp else None
        write(waves, target, value, mask, high=high)

    return step


def modifier(instruction: Instruction, row: Row) -> Callable[[Array], Array] | None:
    """What ``mul:2``, ``div:2`` and ``clamp`` do to a result; None: nothing.

    Raises:
        UnknownInstruction: an integer result is to be clamped.
    """
    scale = instruction.number("mul", 1) / instruction.number("div", 1)
    clamp = instruction.has("clamp")
    if scale == 1 and not clamp:
        return None
    if row.result[0] != "f":
        raise unknown(instruction)
    return lambda value: output(value, scale, clamp=clamp)


def output(value: Array, scale: float, *, clamp: bool) -> Array:
    """A float result scaled, and held between 0 and 1 (NaN becomes 0)."""
    value = value * value.dtype.type(scale)
    if not clamp:
        return value
    return np.where(np.isnan(value), value.dtype.type(0), np.clip(value, 0, 1))


# --- compares -------------------------------------------------------------------------------------


def _ordered(a: Array, b: Array) -> Array:
    return ~(np.isnan(a) | np.isnan(b))


def _less_or_greater(a: Array, b: Array) -> Array:
    return (a < b) | (a > b)


COMPARES: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lg": _less_or_greater,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "neq": lambda a, b: ~np.equal(a, b),
    "nlg": lambda a, b: ~_less_or_greater(a, b),
    "nlt": lambda a, b: ~np.less(a, b),
    "nle": lambda a, b: ~np.less_equal(a, b),
    "ngt": lambda a, b: ~np.greater(a, b),
    "nge": lambda a, b: ~np.greater_equal(a, b),
    "o": _ordered,
    "u": lambda a, b: ~_ordered(a, b),
}


def of_class(value: Array, classes: Array) -> Array:
    """V_CMP_CLASS: whether a float is of one of the classes whose bits are set."""
    smallest = np.finfo(value.dtype).tiny
    negative, size = np.signbit(value), np.abs(value)
    infinite, normal = np.isinf(value), (size >= smallest) & np.isfinite(value)
    subnormal, zero = (size < smallest) & (size > 0), size == 0
    quiet = np.isnan(value)
    down = [infinite & negative, normal & negative, subnormal & negative, zero & negative]
    up = [zero & ~negative, subnormal & ~negative, normal & ~negative, infinite & ~negative]
    result = np.zeros(np.broadcast_shapes(value.shape, classes.shape), bool)
    for bit, is_in in enumerate([quiet, quiet, *down, *up]):
        result |= is_in & ((classes >> np.uint32(bit)) & np.uint32(1)).astype(bool)
    return result


def build_compare(instruction: Instruction) -> Step:
    """V_CMP and V_CMPX: a bit for each lane, into a mask or into EXEC."""
    words = instruction.base.split("_")
    if len(words) != 4 or (words[2] not in COMPARES and words[2] != "class"):
        raise unknown(instruction)
    _, kind_of, name, kind = words
    operands = instruction.operands
    target = operands[0] if len(operands) == 3 else None
    first, second = operands[-2:]
    function = of_class if name == "class" else COMPARES[name]
    read_a = reader(instruction, 0, first, kind)
    read_b = reader(instruction, 1, second, "u32" if name == "class" else kind)
    into_exec = kind_of == "cmpx"
    dpp = is_dpp(instruction)
    if target is None and not into_exec:
        raise unknown(instruction)

    def step(machine: Machine) -> None:
        waves = machine.waves
        mask = function(read_a(waves), read_b(waves)) & waves.active
        if dpp and (written := written_lanes(instruction, waves)) is not None:
            mask = mask & written
        if target is not None:
            write_mask(waves, target, mask)
        if into_exec:
            waves.set_lane_mask(EXEC, mask)

    return step


# --- packed ---------------------------------------------------------------------------------------

_PACKED_KINDS = {"f32": "f32", "f16": "f16", "u16": "u16", "i16": "i16", "b16": "u16", "b32": "u32"}


def build_packed(instruction: Instruction) -> Step:
    """V_PK: one row's function on the two halves of 32 bits, or on two registers."""
    name, kind = instruction.base.removeprefix("v_pk_").rsplit("_", 1)
    if kind not in _PACKED_KINDS:
        raise unknown(instruction)
    if name == "mov":
        return _build_packed_move(instruction)
    row = ROWS.get(f"v_{name}_{kind}") or ROWS.get(f"v_{name}_nc_{kind}")
    if row is None or row.accumulates:
        raise unknown(instruction)
    finish = modifier(instruction, row)
    low = _packed_readers(instruction, row.sources, "op_sel", "neg_lo", 0)
    high = _packed_readers(instruction, row.sources, "op_sel_hi", "neg_hi", 1)
    target, dtype = instruction.operands[0], DTYPES[row.result]

    def compute(machine: Machine, reads: list[Reader]) -> Array:
        value = row.function(*[read(machine.waves) for read in reads]).astype(dtype, copy=False)
        return finish(value) if finish else value

    def step(machine: Machine) -> None:
        write_pair(machine, target, compute(machine, low), compute(machine, high))

    return step


def _packed_readers(
    instruction: Instruction, kinds: tuple[str, ...], select: str, negate: str, default: int
) -> list[Reader]:
    count = len(kinds)
    chosen = instruction.bits(select, (default,) * count)
    negated = instruction.bits(negate, (0,) * count)
    given = instruction.operands[1 : 1 + count]
    if len(given) != count:
        raise unknown(instruction)
    return [
        _packed_source(operand, kind, high=bool(high), negate=bool(minus))
        for operand, kind, high, minus in zip(given, kinds, chosen, negated, strict=True)
    ]


def _packed_source(operand: Operand, kind: str, *, high: bool, negate: bool) -> Reader:
    if kind.endswith("16"):
        read = source(operand, kind, high=high)
    elif operand.is_constant or operand.count == 1:
        read = source(operand, kind)
    else:
        read = source(operand.register(int(high)), kind)
    return (lambda waves: -read(waves)) if negate else read


def _build_packed_move(instruction: Instruction) -> Step:
    """V_PK_MOV_B32: one register of each operand."""
    chosen = instruction.bits("op_sel", (0, 0))
    target, *given = instruction.operands
    first, second = (
        _packed_source(o, "u32", high=bool(h), negate=False)
        for o, h in zip(given, chosen, strict=True)
    )
    return lambda machine: write_pair(machine, target, first(machine.waves), second(machine.waves))


def write_pair(machine: Machine, target: Operand, low: Array, high: Array) -> None:
    """Write two values: of 32 bits to two registers, of 16 bits to the halves of one."""
    waves = machine.waves
    if low.dtype.itemsize == 4:
        low, high = (np.array(value) for value in (low, high))  # the first write may change them
        write(waves, target, low)
        write(waves, target.register(1), high)
        return
    bits = [np.ascontiguousarray(v).view(np.uint16).astype(np.uint32) for v in (low, high)]
    write(waves, target, bits[0] | (bits[1] << np.uint32(16)))


# --- dual -----------------------------------------------------------------------------------------


def build_dual(instruction: Instruction) -> Step:
    """VOPD: two operations that read before either writes."""
    halves = [_dual_half(half) for half in instruction.parts]

    def step(machine: Machine) -> None:
        values = [(target, np.array(compute(machine))) for target, compute in halves]
        for target, value in values:
            write(machine.waves, target, value)

    return step


def _dual_half(half: Instruction) -> tuple[Operand, Callable[[Machine], Array]]:
    name = half.base.replace("v_dual_", "v_")
    if name == "v_cndmask_b32":
        return half.operands[0], chosen(half)
    row = ROWS.get(name)
    if row is None:
        raise unknown(half)
    reads = readers(half, row)
    dtype = DTYPES[row.result]
    return half.operands[0], lambda machine: row.function(
        *[read(machine.waves) for read in reads]
    ).astype(dtype, copy=False)


def chosen(instruction: Instruction, kind: str = "f32") -> Callable[[Machine], Array]:
    """V_CNDMASK: the second operand in lanes whose mask bit is set, else the first."""
    _, if_clear, if_set, *named = instruction.operands
    mask = lane_bits(named[0] if named else VCC_PAIR)
    first = reader(instruction, 0, if_clear, kind)
    second = reader(instruction, 1, if_set, kind)

    def choose(machine: Machine) -> Array:
        waves = machine.waves
        return np.where(mask(waves), second(waves), first(waves))

    return choose
