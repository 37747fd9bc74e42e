"""Arrays of this process as IREE's buffer views, and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from iree import runtime as iree
from numpy.typing import NDArray

from explorer.compiler.runtime.errors import UnsupportedDType

Array = NDArray[Any]

_E = iree.HalElementType
_ELEMENT_TYPES: dict[np.dtype[Any], Any] = {
    np.dtype(scalar): element
    for scalar, element in (
        (np.float64, _E.FLOAT_64),
        (np.float32, _E.FLOAT_32),
        (np.float16, _E.FLOAT_16),
        (ml_dtypes.bfloat16, _E.BFLOAT_16),
        (ml_dtypes.float8_e4m3fn, _E.FLOAT_8_E4M3_FN),
        (ml_dtypes.float8_e4m3fnuz, _E.FLOAT_8_E4M3_FNUZ),
        (np.int64, _E.SINT_64),
        (np.int32, _E.SINT_32),
        (np.int16, _E.SINT_16),
        (np.int8, _E.SINT_8),
        (np.bool_, _E.BOOL_8),
    )
}
"""What kernels take. IREE accepts a signed integer or a boolean byte for a signless one."""

DTYPES: dict[str, np.dtype[Any]] = {dtype.name: dtype for dtype in _ELEMENT_TYPES}
"""Element types by name: what travels between processes."""

_HOST_MEMORY = int(iree.MemoryType.HOST_LOCAL | iree.MemoryType.DEVICE_VISIBLE)
_DEVICE_MEMORY = int(iree.MemoryType.DEVICE_LOCAL)
_ANY_USE = int(iree.BufferUsage.DEFAULT)


def element_type(array: Array) -> Any:
    """IREE's element type for an array.

    Raises:
        UnsupportedDType: kernels have no such elements.
    """
    found = _ELEMENT_TYPES.get(array.dtype)
    if found is None:
        raise UnsupportedDType(found=array.dtype, known=", ".join(DTYPES))
    return found


def borrow(device: Any, array: Array) -> Any:
    """A view of the array's own memory, for a device that shares memory with this process.

    The view keeps the array alive. The array must be C-contiguous and writeable; IREE's compiled
    code asks of an address only what its elements ask, so any numpy array's memory will do.
    """
    element = element_type(array)
    memory = device.allocator.import_host_allocation(_plain(array), _HOST_MEMORY, _ANY_USE)
    return iree.HalBufferView(memory, array.shape, element)


def _plain(array: Array) -> Array:
    """The same memory as an array that Python's buffer protocol can describe."""
    return array if array.dtype.isbuiltin == 1 else array.view(np.uint8)


def number(array: Array) -> int | float:
    """An array without dims as what a call takes by value: an f64 as the integer of its bits."""
    if array.dtype == np.float64:
        return int(array.view(np.int64))
    return int(array) if array.dtype.kind in "biu" else float(array)


def upload(device: Any, array: Array) -> Any:
    """A view of a copy of the array in the device's memory."""
    return device.allocator.allocate_buffer_copy(
        memory_type=_DEVICE_MEMORY,
        allowed_usage=_ANY_USE,
        device=device,
        buffer=np.ascontiguousarray(array),
        element_type=element_type(array),
    )


def download(device: Any, view: Any) -> Array:
    """A copy in this process's memory of what a view shows. Booleans come back as bytes."""
    return np.array(iree.DeviceArray(device, view).to_host())
