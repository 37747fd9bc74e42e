"""Matrix instructions: MFMA of CDNA and WMMA of RDNA.

Which lane and register holds which element: AMD matrix instruction calculator, guides CDNA3,
CDNA4, RDNA3 and RDNA4, chapters on matrix instructions. Products are summed in float64 and rounded
once; hardware rounds more often, in an order that no guide gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from explorer.compiler.emulator.instruction import Instruction
from explorer.compiler.emulator.machine import Machine, Step
from explorer.compiler.emulator.operand import Operand
from explorer.compiler.emulator.rounding import bf16_bits
from explorer.compiler.emulator.sources import bank_of, dword, source, unknown, write_half
from explorer.compiler.emulator.vector import selects_high
from explorer.compiler.emulator.waves import Waves

Array = NDArray[Any]

_BITS = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}
"""Of an element; all others have 8."""


@cache
def small_floats(exponent_bits: int, *, unsigned_zero: bool) -> Array:
    """The 256 values of an 8-bit float, in float64.

    Args:
        exponent_bits: 4 (fp8) or 5 (bf8).
        unsigned_zero: the kind without infinities, whose only NaN is where -0 would be.

    Sources: OCP "8-bit floating point specification"; CDNA3 guide for the kind without infinities.
    """
    mantissa_bits = 7 - exponent_bits
    bias = 2 ** (exponent_bits - 1) - (0 if unsigned_zero else 1)
    code = np.arange(256)
    sign = np.where(code & 0x80, -1.0, 1.0)
    exponent = (code >> mantissa_bits) & (2**exponent_bits - 1)
    fraction: Any = (code & (2**mantissa_bits - 1)) / 2**mantissa_bits
    whole = fraction + (exponent > 0)
    places: Any = np.maximum(exponent, 1) - bias
    value: Any = sign * np.ldexp(whole, places)
    if unsigned_zero:
        value[0x80] = np.nan
    elif exponent_bits == 4:
        value[[0x7F, 0xFF]] = np.nan
    else:
        largest = exponent == 31
        value[largest] = np.where(fraction[largest] == 0, sign[largest] * np.inf, np.nan)
    return value


Unpack = Callable[[Waves], Array]
"""float64 or int64 [element, selected wave, lane]"""


def unpack(operand: Operand, count: int, kind: str, *, fnuz: bool) -> Unpack:
    """A reader of ``count`` elements of each lane.

    Args:
        operand: the registers.
        count: elements of a lane.
        kind: ``f64``, ``f32``, ``f16``, ``bf16``, ``i8``, ``u8``, ``fp8`` or ``bf8``.
        fnuz: whether 8-bit floats are of the kind without infinities.
    """
    bits = _BITS.get(kind, 8)
    if bits == 64:
        reads = [
            source(Operand(operand.kind, operand.first + 2 * i, 2), "f64") for i in range(count)
        ]
        return lambda waves: np.stack([read(waves) for read in reads])
    words = [dword(operand, i) for i in range(count * bits // 32)]
    convert = _converter(kind, fnuz=fnuz)

    def read(waves: Waves) -> Array:
        raw = np.stack([np.ascontiguousarray(word(waves)) for word in words])
        elements = raw[..., None].view(f"u{bits // 8}")  # [word, wave, lane, part]
        return convert(np.moveaxis(elements, -1, 1).reshape(count, *raw.shape[1:]))

    return read


def _converter(kind: str, *, fnuz: bool) -> Callable[[Array], Array]:
    match kind:
        case "f32":
            return lambda raw: raw.view(np.float32).astype(np.float64)
        case "f16":
            return lambda raw: raw.view(np.float16).astype(np.float64)
        case "bf16":
            return lambda raw: (
                (raw.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
            )
        case "i8":
            return lambda raw: raw.view(np.int8).astype(np.int64)
        case "u8":
            return lambda raw: raw.astype(np.int64)
        case _:
            table = small_floats(4 if kind == "fp8" else 5, unsigned_zero=fnuz)
            return lambda raw: table[raw]


# --- MFMA -----------------------------------------------------------------------------------------

_MFMA = re.compile(r"v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?([a-z]\w*?)(?:_1k)?$")


@dataclass(frozen=True)
class Mfma:
    """Shape and kinds of an MFMA instruction: D = A B + C for each block."""

    result: str
    rows: int
    columns: int
    depth: int
    blocks: int
    first: str
    second: str

    @property
    def inputs(self) -> int:
        """Elements of A, and of B, in a lane."""
        return self.rows * self.depth * self.blocks // 64

    @property
    def outputs(self) -> int:
        """Elements of D in a lane."""
        return self.rows * self.columns * self.blocks // 64

    def input_place(self, lane: Array) -> tuple[Array, Array, Array]:
        """Block, row of A (column of B), and first place along the depth, of each lane."""
        group = lane // (self.rows * self.blocks)
        return lane // self.rows % self.blocks, lane % self.rows, self.inputs * group

    def output_place(self, lane: Array, element: int) -> tuple[Array, Array, Array]:
        """Block, row and column of an element of D in each lane."""
        column = lane % self.columns
        if self.rows == 4:
            return lane // 4, np.full_like(lane, element), column
        if self.result == "f64":
            return np.zeros_like(lane), 4 * element + lane // self.columns, column
        per_block = self.rows * self.columns // 64
        block, within = divmod(element, per_block)
        row = 4 * (64 // self.columns) * (within // 4) + 4 * (lane // self.columns) + within % 4
        return np.full_like(lane, block), row, column


def mfma_of(instruction: Instruction) -> Mfma:
    """Read shape and kinds from the name.

    Raises:
        UnknownInstruction: another form, or modifiers that permute or scale.
    """
    found = _MFMA.fullmatch(instruction.base)
    if found is None or instruction.has("abid"):
        raise unknown(instruction)
    result, rows, columns, depth, blocks, kind = found.groups()
    first, second = _input_kinds(instruction, kind)
    return Mfma(result, int(rows), int(columns), int(depth), int(blocks or 1), first, second)


def _input_kinds(instruction: Instruction, kind: str) -> tuple[str, str]:
    formats = (instruction.number("cbsz"), instruction.number("blgp"))
    if kind == "f8f6f4":
        if max(formats) > 1:
            raise unknown(instruction)
        return ("fp8", "bf8")[formats[0]], ("fp8", "bf8")[formats[1]]
    if any(formats):
        raise unknown(instruction)
    if kind in _BITS or kind == "i8":
        return kind, kind
    first, _, second = kind.partition("_")
    if {first, second} - {"fp8", "bf8"}:
        raise unknown(instruction)
    return first, second


def build_mfma(instruction: Instruction) -> Step:
    """V_MFMA; every lane takes part, whatever EXEC says."""
    shape = mfma_of(instruction)
    target, first, second, third = instruction.operands
    by_format = {
        fnuz: (
            unpack(first, shape.inputs, shape.first, fnuz=fnuz),
            unpack(second, shape.inputs, shape.second, fnuz=fnuz),
        )
        for fnuz in (False, True)
    }
    addends = [_addend(third, i, shape.result) for i in range(shape.outputs)]

    def step(machine: Machine) -> None:
        waves = machine.waves
        if waves.lanes != 64:
            raise unknown(instruction)
        read_a, read_b = by_format[machine.arch != "gfx950"]
        product = _mfma_product(shape, read_a(waves), read_b(waves), waves.lane)
        values = [
            product[:, *shape.output_place(waves.lane, i)] + addend(waves)
            for i, addend in enumerate(addends)
        ]
        _write_elements(waves, target, values, shape.result)

    return step


def _mfma_product(shape: Mfma, a: Array, b: Array, lane: Array) -> Array:
    """[wave, block, row, column] of what lanes hold of A and B, [element, wave, lane]."""
    waves = a.shape[1]
    block, row, start = shape.input_place(lane)
    left = np.zeros((waves, shape.blocks, shape.rows, shape.depth), a.dtype)
    right = np.zeros((waves, shape.blocks, shape.depth, shape.columns), b.dtype)
    for i in range(shape.inputs):
        left[:, block, row, start + i] = a[i]
        right[:, block, start + i, row] = b[i]
    return left @ right


def _addend(operand: Operand, element: int, kind: str) -> Unpack:
    """An element of C, wide."""
    wide = np.int64 if kind == "i32" else np.float64
    if operand.is_constant:
        read = source(operand, kind)
    elif kind == "f64":
        read = source(Operand(operand.kind, operand.first + 2 * element, 2), kind)
    else:
        read = source(operand.register(element), kind)
    return lambda waves: read(waves).astype(wide)


def _write_elements(waves: Waves, target: Operand, values: list[Array], kind: str) -> None:
    """Write the elements of D, all lanes."""
    bank = bank_of(waves, target)
    everyone = np.ones((waves.count, waves.lanes), bool)
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32}[kind]
    words = 2 if kind == "f64" else 1
    for i, value in enumerate(values):
        bits = np.ascontiguousarray(value.astype(dtype)).view(np.uint32)
        for word in range(words):
            waves.write_vector(
                bank, target.first + words * i + word, bits[..., word::words], everyone
            )


# --- WMMA -----------------------------------------------------------------------------------------

_WMMA = re.compile(r"v_wmma_(f32|f16|bf16|i32)_16x16x16_(\w+)$")


def _wmma_kinds(instruction: Instruction, kind: str) -> tuple[str, str]:
    if kind in {"f16", "bf16"}:
        return kind, kind
    if kind == "iu8":
        signs = instruction.bits("neg_lo", (0, 0, 0))
        return "ui"[signs[0]] + "8", "ui"[signs[1]] + "8"
    first, _, second = kind.partition("_")
    if {first, second} - {"fp8", "bf8"}:
        raise unknown(instruction)
    return first, second


def build_wmma(instruction: Instruction) -> Step:
    """V_WMMA on 32 lanes: RDNA3 holds A and B twice, RDNA4 once, half in each half wave."""
    found = _WMMA.fullmatch(instruction.base)
    if found is None:
        raise unknown(instruction)
    result = found[1]
    kinds = _wmma_kinds(instruction, found[2])
    target, *inputs, third = instruction.operands
    by_count = {
        count: [unpack(o, count, k, fnuz=False) for o, k in zip(inputs, kinds, strict=True)]
        for count in (8, 16)
    }

    def step(machine: Machine) -> None:
        waves = machine.waves
        if waves.lanes != 32:
            raise unknown(instruction)
        split = machine.arch.startswith("gfx12")
        read_a, read_b = by_count[8 if split else 16]
        product = _wmma_product(read_a(waves), read_b(waves), waves.lane)
        half, column = waves.lane // 16, waves.lane % 16
        rows = [8 * half + i if split else 2 * i + half for i in range(8)]
        values = [product[:, row, column] for row in rows]
        if result in {"f32", "i32"}:
            sums = [v + _addend(third, i, result)(waves) for i, v in enumerate(values)]
            _write_elements(waves, target, sums, result)
        else:
            _write_halves(machine, instruction, values, result, split=split)

    return step


def _wmma_product(a: Array, b: Array, lane: Array) -> Array:
    """[wave, row, column]; a lane that holds 8 elements has those of its half of the depth."""
    count, waves = a.shape[:2]
    left = np.zeros((waves, 16, 16), a.dtype)
    right = np.zeros((waves, 16, 16), b.dtype)
    start = lane // 16 * 8 if count == 8 else np.zeros_like(lane)
    for i in range(count):
        left[:, lane % 16, start + i] = a[i]
        right[:, start + i, lane % 16] = b[i]
    return left @ right


def _write_halves(
    machine: Machine, instruction: Instruction, values: list[Array], kind: str, *, split: bool
) -> None:
    """16-bit results: two a register on RDNA4, in the half that ``op_sel`` says on RDNA3."""
    waves, target, third = machine.waves, instruction.operands[0], instruction.operands[-1]
    everyone = np.ones((waves.count, waves.lanes), bool)
    for i, value in enumerate(values):
        register = i // 2 if split else i
        high = bool(i % 2) if split else selects_high(instruction, 2)
        operand = third if third.is_constant else third.register(register)
        total = value + source(operand, kind, high=high)(waves)
        if kind == "bf16":
            bits = bf16_bits(total.astype(np.float32))
        else:
            bits = total.astype(np.float16).view(np.uint16).astype(np.uint32)
        write_half(waves, target.register(register), bits, everyone, high=high)
