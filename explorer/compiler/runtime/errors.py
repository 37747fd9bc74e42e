"""What can go wrong between MLIR text and a result, one class each."""

from __future__ import annotations

from explorer.compiler.errors import ExplorerError


class CompilerFailed(ExplorerError):
    """IREE refused a module. ``messages`` has one line of text for each diagnostic."""

    template = "IREE could not compile the module for {target}:\n{messages}"
    hint = "the numbers are line:column of the MLIR text; the last good graph is in the recording"


class BadCompilerFlag(ExplorerError):
    """IREE does not know a flag that it was given."""

    template = "IREE's compiler refused its flags {flags}: {reason}"
    hint = "leave out the flags that this version of IREE does not have"


class RunFailed(ExplorerError):
    """IREE loaded the code but could not run it."""

    template = "the kernel could not run on {device}: {reason}"
    hint = "check the arguments' shapes and element types, and that the code is for {device}"


class UnsupportedDType(ExplorerError):
    """An array whose elements no kernel can take."""

    template = "no kernel takes elements of type {found}"
    hint = "convert the array to one of {known}"


class MissingDevice(ExplorerError):
    """A device that is not here, or does not exist at all."""

    template = "device {name!r} cannot run here: {reason}"
    hint = "what can run here: {usable}; explorer.devices() says more"


class Cancelled(ExplorerError):
    """The running call was cancelled by ``Worker.cancel``."""

    template = "{task} was cancelled"


class TimeLimit(ExplorerError):
    """A call took longer than its time limit, and its process was ended."""

    template = "{task} did not finish within {seconds:g} s and was stopped"
    hint = "give it more time, or make it smaller: fewer copies to unroll, smaller sizes"


class WorkerDied(ExplorerError):
    """The worker process ended in the middle of a call."""

    template = "the worker process {how} during {task}{stderr}"
    hint = "the next call starts a new process; this one's kernel or settings made it fail"


class RemoteError(ExplorerError):
    """An error of the worker's whose class is not known here."""

    template = "{message}"


class UnknownTask(ExplorerError):
    """A task name that the worker's table does not have."""

    template = "the worker has no task {name!r}"
    hint = "the tasks are {known}, and package.module:function of {allowed}"
