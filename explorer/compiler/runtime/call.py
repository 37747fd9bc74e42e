"""Call compiled code on the person's own arrays: in place, in this process, without copies."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np

from explorer.compiler.errors import WrongArgument
from explorer.compiler.runtime.buffers import Array, borrow, number
from explorer.compiler.runtime.program import Program


class InProcess:
    """Compiled CPU code as a function of torch CPU tensors and numpy arrays.

    Memory is shared: the kernel reads and writes the arguments themselves. Only an array that is
    not contiguous, not aligned to its elements or read-only is copied, and copied back when the
    kernel writes it.
    """

    def __init__(self, vmfb: bytes, entry: str = "main", *, written: Sequence[bool]) -> None:
        """Load the code.

        Args:
            vmfb: a module compiled for the cpu target.
            entry: name of its function.
            written: for each argument, whether the kernel writes it.

        Raises:
            RunFailed: the module cannot be loaded here.
        """
        self._program = Program(vmfb, entry, "local-task")
        self._written = tuple(written)
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel; arguments that it writes are changed in place.

        Raises:
            WrongArgument: too many or too few arguments, something that is no array of this
                process, or a read-only array that the kernel writes.
            UnsupportedDType: kernels have no such elements.
            RunFailed: a shape or element type is not the one that the code was compiled for.
        """
        if len(arguments) != len(self._written):
            raise WrongArgument(
                name="list",
                found=f"{len(arguments)} arguments",
                want=f"{len(self._written)}",
                advice="give one array for each parameter of the kernel",
            )
        arrays = [as_numpy(argument) for argument in arguments]
        shared = [_shareable(a, w) for a, w in zip(arrays, self._written, strict=True)]
        device = self._program.device
        with self._lock:
            self._program([borrow(device, a) if a.ndim else number(a) for a in shared])
        for array, used, written in zip(arrays, shared, self._written, strict=True):
            if written and used is not array:
                array[...] = used


def as_numpy(argument: Any) -> Array:
    """A numpy array over the memory of a numpy array or torch CPU tensor.

    Raises:
        WrongArgument: it is neither.
    """
    if isinstance(argument, np.ndarray):
        return cast("Array", argument)
    # A tensor exists only when torch is loaded: looking there never imports it.
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(argument, torch.Tensor):
        return _of_tensor(torch, argument)
    raise WrongArgument(
        name="of the kernel",
        found=f"a {type(argument).__name__}",
        want="a numpy array or a torch tensor",
        advice="convert it with numpy.asarray first",
    )


def _of_tensor(torch: Any, tensor: Any) -> Array:
    if tensor.device.type != "cpu":
        raise WrongArgument(
            name="of the kernel",
            found=f"a tensor on {tensor.device}",
            want="one on the cpu",
            advice="move it with .cpu(), or run on that device with k.run(..., device=...)",
        )
    if tensor.layout is not torch.strided or tensor.is_neg() or tensor.is_conj():
        raise WrongArgument(
            name="of the kernel",
            found="a sparse or lazily changed tensor",
            want="a plain one",
            advice="convert it with .to_dense() or .resolve_neg()",
        )
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.dtype is torch.bfloat16:  # numpy itself has no such type
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def _shareable(array: Array, written: bool) -> Array:
    """The array itself when the kernel can use its memory, else a copy.

    Raises:
        WrongArgument: the kernel writes it, and it is read-only.
    """
    flags = array.flags
    if flags.c_contiguous and flags.aligned and flags.writeable:
        return array
    if written and not flags.writeable:
        raise WrongArgument(
            name="that the kernel writes",
            found="a read-only array",
            want="one that can be written",
            advice="give a copy: array.copy()",
        )
    return np.array(array, order="C")
