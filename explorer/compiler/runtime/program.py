"""Compiled code, loaded on a device and ready to be called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from iree import runtime as iree

from explorer.compiler.runtime.devices import devices
from explorer.compiler.runtime.errors import MissingDevice, RunFailed

_SOURCE_FILE = re.compile(r"\S+\.(c|cc|h):\d+: ")


class Program:
    """A function of an IREE module on one device. One call at a time: the caller sees to that."""

    def __init__(self, vmfb: bytes, entry: str, driver: str) -> None:
        """Load the code.

        Args:
            vmfb: the module.
            entry: name of the function to call.
            driver: IREE's name of the device, such as ``local-task``.

        Raises:
            MissingDevice: IREE finds no such device here.
            RunFailed: the module was compiled for another kind of device, or has no such function.
        """
        self.device = _device(driver)
        self._driver = driver
        try:
            module = iree.VmModule.copy_buffer(_instance(), vmfb)
            hal = iree.create_hal_module(_instance(), self.device)
            self._context = iree.VmContext(_instance(), [hal, module])
        except (ValueError, RuntimeError) as error:
            raise RunFailed(device=driver, reason=_reason(error)) from error
        function = module.lookup_function(entry)
        if function is None:
            raise RunFailed(device=driver, reason=f"the module has no function {entry!r}")
        self._function = function

    def __call__(self, values: Sequence[Any]) -> Any:
        """Call the function and wait for it.

        Args:
            values: buffer views and Python numbers, in the order of the function's arguments.

        Returns:
            IREE's list of results.

        Raises:
            RunFailed: the arguments do not fit, or the device reported an error.
        """
        arguments = iree.VmVariantList(len(values))
        for value in values:
            match value:
                case int():
                    arguments.push_int(value)
                case float():
                    arguments.push_float(value)
                case _:
                    arguments.push_ref(value)
        results = iree.VmVariantList(1)
        try:
            self._context.invoke(self._function, arguments, results)
        except (ValueError, RuntimeError, IndexError) as error:
            raise RunFailed(device=self._driver, reason=_reason(error)) from error
        return results


@cache
def _instance() -> Any:
    return iree.VmInstance()


def _device(driver: str) -> Any:
    try:
        return iree.get_device(driver)
    except (ValueError, RuntimeError) as error:
        usable = ", ".join(device.name for device in devices().usable)
        raise MissingDevice(name=driver, reason=_reason(error), usable=usable) from error


def _reason(error: Exception) -> str:
    """The gist of IREE's message, without its source files, its trace and its dumps."""
    text = " ".join(_SOURCE_FILE.sub("", str(error)).split(";")[:2])
    return " ".join(text.split("#hal.")[0].split())[:300]
