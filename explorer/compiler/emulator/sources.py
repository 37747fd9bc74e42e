"""Reading operands as typed arrays, and writing results.

A reader gives [selected wave, lane], or [selected wave, 1] or [1, 1] where all lanes agree; numpy
broadcasts. Kinds are u, i, f and a width (``u32``, ``i64``, ``f16``), and ``bf16``, which is read
as float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from explorer.compiler.emulator.errors import UnknownInstruction
from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.operand import Operand, constant_bits
from explorer.compiler.emulator.waves import Array, Bank, Waves

Reader = Callable[[Waves], Array]

DTYPES: dict[str, type[np.generic]] = {
    "u16": np.uint16,
    "i16": np.int16,
    "f16": np.float16,
    "u32": np.uint32,
    "i32": np.int32,
    "f32": np.float32,
    "u64": np.uint64,
    "i64": np.int64,
    "f64": np.float64,
}


def unknown(instruction: Instruction) -> UnknownInstruction:
    """The error for an instruction, or a form of one, that is not modelled."""
    return UnknownInstruction(text=instruction.text, line=instruction.line)


def bank_of(waves: Waves, operand: Operand) -> Bank:
    """The vector registers that an operand lies in."""
    return waves.vector if operand.kind == "v" else waves.accumulator


def dword(operand: Operand, offset: int = 0) -> Reader:
    """A reader of one 32-bit register of an operand, or of a constant."""
    register = operand.first + offset
    match operand.kind:
        case "v":
            return lambda waves: waves.read_vector(waves.vector, register)
        case "a":
            return lambda waves: waves.read_vector(waves.accumulator, register)
        case "s":
            return lambda waves: waves.read_scalar(register)[:, None]
        case "scc":
            return lambda waves: waves.scc[waves.selected].astype(np.uint32)[:, None]
        case _:
            bits = 0 if operand.kind in {"null", "off"} else constant_bits(operand, "u32")
            return _constant(np.array([[bits & 0xFFFFFFFF]], np.uint32))


def _constant(value: Array) -> Reader:
    return lambda _: value


def source(operand: Operand, kind: str, *, high: bool = False) -> Reader:
    """A reader of an operand as ``kind``, its sign modifiers applied.

    Args:
        operand: a register, constant or special value.
        kind: what it is read as.
        high: for 16-bit kinds: from the upper half of a register.
    """
    width = 16 if kind == "bf16" else int(kind[1:])
    if operand.is_constant:
        read = _constant(_constant_value(operand, kind, width, high=high))
    elif width == 64:
        read = _pair(operand, DTYPES[kind])
    elif width == 16:
        read = _half(dword(operand), kind, high=high if operand.high is None else operand.high)
    else:
        read = _view(dword(operand), DTYPES[kind])
    return signed(read, operand) if "f" in kind else read


def _constant_value(operand: Operand, kind: str, width: int, *, high: bool) -> Array:
    bits = constant_bits(operand, kind)
    if width == 64:
        return np.array([[bits]], np.uint64).view(DTYPES[kind])
    if width == 32:
        return np.array([[bits & 0xFFFFFFFF]], np.uint32).view(DTYPES[kind])
    half = np.array([[bits >> 16 if high else bits]], np.uint32)
    return _half(_constant(half), kind, high=False)(NO_WAVES)


NO_WAVES: Any = None
"""Stands for the waves where a reader of a constant does not look at them."""


def _view(read: Reader, dtype: type[np.generic]) -> Reader:
    return read if dtype is np.uint32 else lambda waves: read(waves).view(dtype)


def _half(read: Reader, kind: str, *, high: bool) -> Reader:
    first = int(high)
    if kind == "bf16":
        mask, shift = (0xFFFF0000, 0) if high else (0xFFFF, 16)
        return lambda waves: ((read(waves) & np.uint32(mask)) << np.uint32(shift)).view(np.float32)
    dtype = DTYPES[kind]
    return lambda waves: read(waves).view(dtype)[..., first::2]


def _pair(operand: Operand, dtype: type[np.generic]) -> Reader:
    if operand.count == 1 and operand.kind in {"null", "scc"}:
        return lambda waves: dword(operand)(waves).astype(np.uint64).view(dtype)
    low, high = dword(operand), dword(operand, 1)
    return lambda waves: join(low(waves), high(waves)).view(dtype)


def join(low: Array, high: Array) -> Array:
    """uint64 of two uint32."""
    both = np.empty((*np.broadcast_shapes(low.shape, high.shape), 2), np.uint32)
    both[..., 0] = low
    both[..., 1] = high
    return both.view(np.uint64)[..., 0]


def signed(read: Reader, operand: Operand) -> Reader:
    """A reader of floats with the sign modifiers of their operand."""
    match operand.absolute, operand.negate:
        case False, False:
            return read
        case True, False:
            return lambda waves: np.abs(read(waves))
        case False, True:
            return lambda waves: -read(waves)
        case _:
            return lambda waves: -np.abs(read(waves))


def scalar(operand: Operand, kind: str = "u32") -> Reader:
    """A reader of a scalar operand as [selected wave]."""
    read = source(operand, kind)
    return lambda waves: np.broadcast_to(read(waves)[:, 0], (waves.count,))


def lane_bits(operand: Operand) -> Reader:
    """A reader of a mask operand as bool [selected wave, lane]."""
    if operand.kind == "s":
        return lambda waves: waves.lane_mask(operand.first)
    bits = constant_bits(operand, "u64")
    return lambda waves: ((bits >> waves.lane) & 1).astype(bool)[None, :]


def write(
    waves: Waves, operand: Operand, value: Array, mask: Array | None = None, *, high: bool = False
) -> None:
    """Write a result of any width to vector registers.

    A 16-bit result goes to the half that ``high`` or the operand says; the other half stays on
    gfx11 and later, and when the upper one is written; else it becomes zero.
    """
    bank = bank_of(waves, operand)
    match value.dtype.itemsize:
        case 4:
            waves.write_vector(bank, operand.first, value.view(np.uint32), mask)
        case 8:
            words = np.ascontiguousarray(value).view(np.uint32)
            waves.write_vector(bank, operand.first, words[..., 0::2], mask)
            waves.write_vector(bank, operand.first + 1, words[..., 1::2], mask)
        case _:
            high = high if operand.high is None else operand.high
            bits = np.ascontiguousarray(value).view(np.uint16).astype(np.uint32)
            write_half(waves, operand, bits, mask, high=high, keep=waves.keeps_halves)


def write_half(
    waves: Waves,
    operand: Operand,
    bits: Array,
    mask: Array | None = None,
    *,
    high: bool,
    keep: bool = True,
) -> None:
    """Write 16 bits, given as uint32, to one half of a vector register."""
    bank = bank_of(waves, operand)
    if high:
        old = waves.old_vector(bank, operand.first)
        bits = (old & np.uint32(0xFFFF)) | (bits << np.uint32(16))
    elif keep:
        old = waves.old_vector(bank, operand.first)
        bits = (old & np.uint32(0xFFFF0000)) | bits
    waves.write_vector(bank, operand.first, bits, mask)


def write_scalar(waves: Waves, operand: Operand, value: Array) -> None:
    """Write [selected wave] to scalar registers, zero-extended; ``null`` takes nothing."""
    if operand.kind != "s":
        return
    if value.dtype.itemsize == 2:
        value = np.ascontiguousarray(value).view(np.uint16).astype(np.uint32)
    if value.dtype.itemsize == 4:
        waves.write_scalar(operand.first, value.view(np.uint32))
        return
    words = np.ascontiguousarray(value).view(np.uint32).reshape(-1, 2)
    waves.write_scalar(operand.first, words[:, 0])
    waves.write_scalar(operand.first + 1, words[:, 1])


def write_mask(waves: Waves, operand: Operand, mask: Array) -> None:
    """Write a lane mask to scalar registers; ``null`` takes nothing."""
    if operand.kind == "s":
        waves.set_lane_mask(operand.first, mask)
