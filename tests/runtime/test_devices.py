"""What can run here: always told, never an error."""

from __future__ import annotations

import ctypes

import pytest

from explorer.compiler.runtime import devices as devices_module
from explorer.compiler.runtime.devices import Device, Devices, devices, driver_of, require
from explorer.compiler.runtime.errors import MissingDevice

HERE = {device.name: device.available for device in devices()}


class FakeLibrary:
    """A GPU library that counts ``gpus`` devices, or fails with ``status``."""

    def __init__(self, gpus: int, status: int = 0) -> None:
        self.gpus = gpus
        self.status = status

    def cuInit(self, flags: int) -> int:  # noqa: N802 - the driver's name
        return self.status

    def __getitem__(self, name: str) -> object:
        def count(number: object) -> int:
            ctypes.cast(number, ctypes.POINTER(ctypes.c_int))[0] = self.gpus
            return self.status

        return count


def test_every_device_is_listed_with_a_reason_or_without() -> None:
    assert list(HERE) == ["local", "hip", "cuda", "emulator", "interpreter"]
    assert HERE["local"]
    assert HERE["interpreter"]
    assert all(device.available == (not device.reason) for device in devices())


def test_text_and_table() -> None:
    text = repr(devices())
    assert text.splitlines()[0].startswith("local")
    assert "emulator     AMD machine code, executed on the processor" in text
    odd = Devices((Device("<b>", False, "a & b", "<script>"),))
    assert "&lt;b&gt;" in odd._repr_html_()
    assert "<script>" not in odd._repr_html_()
    assert odd._repr_html_().count("<tr>") == 2


@pytest.mark.parametrize(
    ("library", "reason"),
    [
        (None, "not found"),
        (FakeLibrary(0), "finds no GPU"),
        (FakeLibrary(1, 3), "finds no GPU"),
        (FakeLibrary(2), ""),
    ],
)
@pytest.mark.parametrize("name", ["hip", "cuda"])
def test_gpus_are_counted(
    name: str, library: FakeLibrary | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices_module, "_load", lambda _: library)
    device = next(d for d in devices() if d.name == name)
    assert device.available == (reason == "")
    assert reason in device.reason


def test_names_of_drivers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_module, "_load", lambda _: FakeLibrary(2))
    assert driver_of("local") == "local-task"
    assert driver_of("hip") == "hip"
    assert driver_of("hip:1") == "hip://1"
    assert driver_of("cuda:0") == "cuda://0"


@pytest.mark.parametrize(
    "name", ["local:1", "interpreter", "emulator", "cdua", "", "cuda:x", "hip:-1"]
)
def test_devices_that_iree_cannot_drive(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_module, "_load", lambda _: FakeLibrary(2))
    with pytest.raises(MissingDevice, match=r"(?s)cannot run here.*what can run here: local"):
        driver_of(name)


def test_a_missing_device_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices_module, "_load", lambda _: None)
    with pytest.raises(MissingDevice, match="install ROCm"):
        require("hip")
    with pytest.raises(MissingDevice, match="did you mean cuda"):
        require("cdua")
    assert require("local").available
