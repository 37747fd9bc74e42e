"""MLIR text to machine code, by IREE's compiler inside this process.

A crash of the compiler ends the process that called it; ``worker`` keeps such calls in a child.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from iree.compiler.api import Invocation, Output, Session, Source, ctypes_dl

from explorer.compiler.lang.targets import Target
from explorer.compiler.runtime.assembly import read_dump
from explorer.compiler.runtime.errors import BadCompilerFlag, CompilerFailed
from explorer.compiler.runtime.executable import Executable

_COMPILED_FOR = {"sm_90": "sm_89"}
"""Targets that this IREE cannot name -> the nearest older one, whose PTX the driver compiles."""

_MOST_MESSAGES = 6


def compile_mlir(mlir: str, target: Target, *, flags: Sequence[str] = ()) -> Executable:
    """Compile a module with one dispatch and the host function that calls it.

    Args:
        mlir: the module's text.
        target: the machine.
        flags: more flags for ``iree-compile``, after those that the target needs.

    Raises:
        CompilerFailed: IREE refused the module; the message has its diagnostics.
        BadCompilerFlag: IREE refused a flag.
    """
    start = time.perf_counter()
    with TemporaryDirectory(prefix="explorer-") as folder:
        with Session() as session:
            _set_flags(session, (*_target_flags(target), *_dump_flags(folder)))
            _set_flags(session, flags)
            vmfb = _compile(session, mlir, target.name)
        isa, resources = read_dump(Path(folder), target)
    resources["compiled_for"] = _COMPILED_FOR.get(target.name, target.name)
    return Executable(vmfb, isa, resources, time.perf_counter() - start)


def _target_flags(target: Target) -> tuple[str, ...]:
    name = _COMPILED_FOR.get(target.name, target.name)
    # IREE would turn f64 arguments into f32 ones without a word.
    common = ("--iree-input-demote-f64-to-f32=false",)
    match target.family:
        case "cpu":
            return (
                *common,
                "--iree-hal-target-device=local",
                "--iree-hal-local-target-device-backends=llvm-cpu",
                "--iree-llvmcpu-target-cpu=host",
            )
        case "rocm":
            return (*common, "--iree-hal-target-device=hip", f"--iree-rocm-target={name}")
        case "cuda":
            return (*common, "--iree-hal-target-device=cuda", f"--iree-cuda-target={name}")


def _dump_flags(folder: str) -> tuple[str, ...]:
    return (
        f"--iree-hal-dump-executable-intermediates-to={folder}",
        f"--iree-hal-dump-executable-binaries-to={folder}",
    )


def _set_flags(session: Session, flags: Sequence[str]) -> None:
    try:
        session.set_flags(*flags)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise BadCompilerFlag(flags=" ".join(flags), reason=reason) from error


def _compile(session: Session, mlir: str, target: str) -> bytes:
    invocation = session.invocation()
    diagnostics = _Diagnostics(invocation)
    # IREE reads the text as a C string.
    source = Source.wrap_buffer(session, mlir.encode() + b"\0", buffer_name="mlir")
    if not (invocation.parse_source(source) and invocation.execute()):
        raise CompilerFailed(target=target, messages=diagnostics.text(mlir))
    output: Any = Output.open_membuffer()  # typed wrongly by IREE as a context manager
    with output:
        try:
            invocation.output_vm_bytecode(output)
        except ValueError as error:
            raise CompilerFailed(target=target, messages=f"  {error}") from error
        return bytes(output.map_memory())


_library: ctypes.CDLL = vars(ctypes_dl)["_dylib"]
_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.POINTER(ctypes.c_char), ctypes.c_size_t, ctypes.c_void_p
)


class _Diagnostics:
    """Collects what IREE has to say about one invocation, instead of its printing it on stderr.

    IREE's Python package has no call for this, its C interface has. A handler attached to the MLIR
    context, the way that Python does offer, crashes: it is called without the interpreter's lock.
    """

    def __init__(self, invocation: Invocation) -> None:
        handle: Any = vars(invocation)["_inv_p"]
        self.messages: list[str] = []
        self._callback = _CALLBACK(self._receive)  # must outlive the invocation
        enable = _library.ireeCompilerInvocationEnableCallbackDiagnostics
        enable.argtypes = [ctypes.c_void_p, ctypes.c_int, _CALLBACK, ctypes.c_void_p]
        enable.restype = None
        enable(handle, 0, self._callback, None)

    def _receive(self, severity: int, text: Any, length: int, _: object) -> None:
        del severity
        self.messages.append(ctypes.string_at(text, length).decode(errors="replace"))

    def text(self, mlir: str) -> str:
        """The first diagnostics, each with the line of the module it is about."""
        heads = list(dict.fromkeys(map(_head, self.messages)))
        # What follows the cause only says which outer step failed because of it.
        causes = [m for m in heads if not _CONSEQUENCE.search(m)] or heads
        lines = mlir.splitlines()
        shown = [_explain(m, lines) for m in causes[:_MOST_MESSAGES]]
        return "\n".join(shown) or "  (it gave no reason)"


_CONSEQUENCE = re.compile(r"failed to (serialize|translate the MLIR|configure|run configuration)")
_DANGLING_PLACE = re.compile(r"\s*mlir:\d+:\d+:\s*$")


def _head(message: str) -> str:
    """A diagnostic without the dump of the operation, which can be thousands of characters."""
    head, _, _ = message.partition("see current operation")
    return _DANGLING_PLACE.sub("", " ".join(head.split()))[:500]


def _explain(message: str, lines: Sequence[str]) -> str:
    match message.split(":", 3):
        case ["mlir", row, _, _] if row.isdecimal() and 0 < int(row) <= len(lines):
            return f"  {message}\n      {lines[int(row) - 1].strip()[:200]}"
        case _:
            return f"  {message}"
