"""The sizes of functions in an ELF object, which is what IREE's code generators write."""

from __future__ import annotations

import struct

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLES = (2, 11)  # SHT_SYMTAB, SHT_DYNSYM
_FUNCTION = 2  # STT_FUNC


def function_sizes(elf: bytes) -> dict[str, int]:
    """Bytes of code of each function, by name.

    Args:
        elf: a little-endian 64-bit ELF file.

    Returns:
        Name -> bytes; empty when the file is no such ELF file or holds no function.

    Source: System V ABI, "Sections" and "Symbol table".
    """
    if elf[:6] != b"\x7fELF\x02\x01":
        return {}
    sections = _sections(elf)
    return {
        name: size
        for kind, _, offset, length, link in sections
        if kind in _SYMBOL_TABLES
        for name, size in _functions(elf, offset, length, sections[link][2])
    }


def _sections(elf: bytes) -> list[tuple[int, int, int, int, int]]:
    """(type, flags, offset, bytes, linked section) of each section."""
    (start,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    rows = (_SECTION.unpack_from(elf, start + i * size) for i in range(count))
    return [(kind, flags, at, length, link) for _, kind, flags, _, at, length, link, *_ in rows]


def _functions(elf: bytes, offset: int, length: int, strings: int) -> list[tuple[str, int]]:
    rows = _SYMBOL.iter_unpack(elf[offset : offset + length])
    return [
        (_text(elf, strings + name), size)
        for name, info, _, _, _, size in rows
        if info & 0xF == _FUNCTION and size
    ]


def _text(elf: bytes, at: int) -> str:
    return elf[at : elf.index(b"\0", at)].decode()
