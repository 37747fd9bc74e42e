"""Messages between the notebook's process and its worker: JSON, then the bytes of arrays.

One message is eight bytes of length, that many bytes of JSON ``{"data", "arrays"}``, and the
elements of each array in order. Reading a message runs nothing that the message says.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any, BinaryIO

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Data = dict[str, Any]
"""What JSON can hold, by name."""

_LENGTH = struct.Struct("<Q")

_DTYPES: dict[str, np.dtype[Any]] = {
    dtype.name: dtype
    for dtype in map(
        np.dtype,
        (
            *(np.bool_, np.int8, np.int16, np.int32, np.int64),
            *(np.uint8, np.uint16, np.uint32, np.uint64),
            *(np.float16, np.float32, np.float64),
            *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz),
        ),
    )
}


@dataclass(frozen=True)
class Message:
    """Data and arrays on their way between two processes."""

    data: Data
    arrays: list[Array]


def encode(data: Data, arrays: Sequence[Array] = ()) -> list[bytes | memoryview]:
    """The parts of one message, without a copy of contiguous arrays.

    Raises:
        TypeError: JSON cannot hold the data, or no message can hold an array's elements.
    """
    whole = [np.asarray(array, order="C") for array in arrays]
    header = json.dumps({"data": data, "arrays": [_describe(array) for array in whole]}).encode()
    return [_LENGTH.pack(len(header)), header, *map(_bytes_of, whole)]


def send(stream: BinaryIO, parts: Sequence[bytes | memoryview]) -> None:
    """Write one encoded message.

    Raises:
        OSError: the other end is gone.
    """
    stream.writelines(parts)
    stream.flush()


def receive(stream: BufferedIOBase) -> Message | None:
    """Read one message; None when the other end closed the stream, even within a message."""
    length = stream.read(_LENGTH.size)
    if len(length) < _LENGTH.size:
        return None
    header = stream.read(_LENGTH.unpack(length)[0])
    try:
        content = json.loads(header)
    except ValueError:
        return None
    arrays = [np.empty(shape, _DTYPES[name]) for name, shape in content["arrays"]]
    if not all(_fill(stream, _bytes_of(array)) for array in arrays):
        return None
    return Message(content["data"], arrays)


def _describe(array: Array) -> tuple[str, tuple[int, ...]]:
    if _DTYPES.get(array.dtype.name) != array.dtype:
        message = f"an array of {array.dtype} cannot be sent to another process"
        raise TypeError(message)
    return array.dtype.name, array.shape


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _fill(stream: BufferedIOBase, memory: memoryview) -> bool:
    done = 0
    while done < len(memory):
        count = stream.readinto(memory[done:])
        if count == 0:
            return False
        done += count
    return True
