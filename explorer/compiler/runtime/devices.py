"""What can run kernels here, and why the others cannot. Asked lightly: no IREE is loaded."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from explorer.compiler.errors import did_you_mean
from explorer.compiler.runtime.errors import MissingDevice


@dataclass(frozen=True)
class Device:
    """One way to run a kernel."""

    name: str
    available: bool
    reason: str
    """Why it cannot run here, and what would help; empty when it can."""
    description: str


class Devices(tuple[Device, ...]):
    """All ways to run a kernel, shown as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        """One line a device."""
        width = max((len(device.name) for device in self), default=0)
        return "\n".join(f"{d.name:{width}}  {_verdict(d)}" for d in self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{escape(d.name)}</code></td><td>{'yes' if d.available else 'no'}</td>"
            f"<td style='text-align:left'>{escape(d.description)}</td>"
            f"<td style='text-align:left'>{escape(d.reason)}</td></tr>"
            for d in self
        )
        head = "<tr><th>device</th><th>here</th><th>what it is</th><th>why not</th></tr>"
        return f"<table>{head}{rows}</table>"

    @property
    def usable(self) -> Iterator[Device]:
        """Those that can run here."""
        return (device for device in self if device.available)


def _verdict(device: Device) -> str:
    return f"{device.description}" if device.available else f"not here: {device.reason}"


def devices() -> Devices:
    """Every device that the project knows, with what was found of it now."""
    return Devices(
        (
            Device("local", True, "", "this machine's processor, all its cores"),
            _device("hip", _missing_hip(), "AMD GPU, by ROCm's HIP runtime"),
            _device("cuda", _missing_cuda(), "NVIDIA GPU, by its driver"),
            Device("emulator", True, "", "AMD machine code, executed on the processor"),
            Device("interpreter", True, "", "the kernel's graph itself, node by node"),
        )
    )


def _device(name: str, missing: str, description: str) -> Device:
    return Device(name, not missing, missing, description)


def _missing_hip() -> str:
    """Why HIP cannot run here; empty when it can.

    Source: HIP runtime API, hipGetDeviceCount.
    """
    library = _load("libamdhip64.so")
    if library is None:
        return "libamdhip64.so is not found; install ROCm, or add its lib folder to LD_LIBRARY_PATH"
    if _count(library, "hipGetDeviceCount") < 1:
        return "ROCm finds no GPU; rocminfo says more"
    return ""


def _missing_cuda() -> str:
    """Why CUDA cannot run here; empty when it can.

    Source: CUDA driver API, cuInit and cuDeviceGetCount.
    """
    library = _load("libcuda.so.1")
    if library is None:
        return "libcuda.so.1 is not found; install the NVIDIA driver"
    if library.cuInit(0) != 0 or _count(library, "cuDeviceGetCount") < 1:
        return "the NVIDIA driver finds no GPU; nvidia-smi says more"
    return ""


def _load(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _count(library: ctypes.CDLL, function: str) -> int:
    """Devices that a library counts, 0 when it reports an error."""
    number = ctypes.c_int(0)
    return number.value if library[function](ctypes.byref(number)) == 0 else 0


_DRIVERS = {"local": "local-task", "hip": "hip", "cuda": "cuda"}
"""Devices that IREE drives -> IREE's name for them."""


def driver_of(name: str) -> str:
    """IREE's name of a device: ``local`` -> ``local-task``, ``hip:1`` -> ``hip://1``.

    Raises:
        MissingDevice: it cannot run here, does not exist, or is not run by IREE.
    """
    kind, _, number = name.partition(":")
    require(kind, shown=name)
    if kind not in _DRIVERS or (number and not (kind != "local" and number.isdecimal())):
        raise _missing(name, "IREE has no such device")
    return f"{_DRIVERS[kind]}://{number}" if number else _DRIVERS[kind]


def require(name: str, *, shown: str = "") -> Device:
    """The device of a name, when it can run here.

    Raises:
        MissingDevice: it cannot, or there is none of that name.
    """
    known = {device.name: device for device in devices()}
    device = known.get(name)
    if device is None:
        guess = did_you_mean(name, known)
        raise _missing(shown or name, f"there is no such device{guess}")
    if not device.available:
        raise _missing(shown or name, device.reason)
    return device


def _missing(name: str, reason: str) -> MissingDevice:
    usable = ", ".join(device.name for device in devices().usable)
    return MissingDevice(name=name, reason=reason, usable=usable)
