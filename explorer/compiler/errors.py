"""Every mistake a person can make with a kernel, one class each.

A class fixes the wording, the place that raises supplies the facts. Tests match on the class, so
the wording can improve freely. Errors about the compiler itself derive from ``InternalError``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar

from explorer.compiler.location import Location
from explorer.compiler.record import Recording


class ExplorerError(Exception):
    """Base of all errors that are the person's to mend.

    The message holds what is wrong, the kernel's line with a caret where there is one, and what to
    change. ``recording`` holds the passes up to the one that failed, when one did.
    """

    template: ClassVar[str] = "{message}"
    hint: ClassVar[str] = ""
    recording: Recording | None = None

    def __init__(self, *, location: Location | None = None, **facts: object) -> None:
        self.location = location
        self.facts = facts
        self.summary = self.template.format(**facts)
        self.advice = self.hint.format(**facts)
        super().__init__(self.summary)

    def __str__(self) -> str:
        parts = [self.summary]
        if self.location is not None:
            parts.append(self.location.show())
        if self.advice:
            parts.append(f"  hint: {self.advice}")
        return "\n".join(parts)


class InternalError(Exception):
    """A bug of the compiler: a pass broke an invariant."""


class MissingFact(InternalError):
    """Something about a node was asked for before a pass found it."""

    def __init__(self, fact: str, node: str, step: str) -> None:
        super().__init__(f"{node} has no {fact} yet; run {step} first")


class ContractViolation(InternalError):
    """A pass ran too early, or broke a fact that held before it."""


class NotLowered(InternalError):
    """An op reached the emitter that an earlier pass should have taken apart."""

    def __init__(self, op: str, step: str) -> None:
        super().__init__(f"{op} has no code of its own; the pass {step} takes it apart")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` (did you mean X?)`` for the nearest known word, else nothing."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


# --- bindings and constraints ---------------------------------------------------------------------


class MissingBinding(ExplorerError):
    """A symbol of the kernel has no number."""

    template = "no value for {missing}"
    hint = "add it to the bindings; this kernel's symbols are {known}"


class UnknownBinding(ExplorerError):
    """A binding names a symbol that the kernel does not have."""

    template = "no symbol {name} in this kernel{guess}"
    hint = "this kernel's symbols are {known}"


class BadBinding(ExplorerError):
    """A binding's value is no positive whole number (or no address space)."""

    template = "{name} = {value!r}: {want}"
    hint = "give {name} a value of that kind in the bindings"


class NotWhole(ExplorerError):
    """A tile expression does not give a positive whole number."""

    template = "{what} is {expression} = {value}, which is no positive whole number"
    hint = "change the symbols in it so that the division comes out even"


class BoundAndDynamic(ExplorerError):
    """A number for a dim whose size comes when the kernel is called."""

    template = "{name} = {value!r} in the bindings, and dynamic names {name} too"
    hint = "leave {name} out of one of them"


class NeedsSize(ExplorerError):
    """A tile depends on a size that is known only when the kernel is called."""

    template = "{what} is {expression}, and {name} is known only when the kernel is called"
    hint = "write a number, or a symbol that the bindings give; or take {name} out of dynamic"


class NeedsLoop(ExplorerError):
    """A value whose dim has an unknown size and is walked by no loop."""

    template = (
        "{op} needs all of {dim} at once, and its size is known only when the kernel is called"
    )
    hint = (
        "give {dim} a WorkgroupConstraint with a tile, or compute {op} again inside of the loop "
        "that needs it"
    )


class DuplicateConstraint(ExplorerError):
    """Two constraints of one kind for one dim."""

    template = "two {kind}s for {dim}: {first} and {second}"
    hint = "keep one of them"


class SharedWorkgroupDim(ExplorerError):
    """Two dims on one workgroup dim, or one dim on two."""

    template = "{first} and {second} are both on workgroup dim {axis}"
    hint = "give each dim a workgroup dim of its own, 0, 1 or 2"


class BadWorkgroupDim(ExplorerError):
    """A workgroup dim other than 0, 1, 2."""

    template = "WorkgroupConstraint for {dim} names workgroup dim {axis}"
    hint = "a grid has the dims 0, 1 and 2"


class UnknownDim(ExplorerError):
    """A constraint speaks of a dim that no tensor has."""

    template = "{kind} for {dim}, but no argument of the kernel has that dim"
    hint = "the kernel's dims are {known}"


class NotADim(ExplorerError):
    """Something that should be a dim symbol is not."""

    template = "{what} must be a symbol such as tkl.sym.M, not {found!r}"
    hint = "make it with tkl.sym.<name>"


class MissingHardware(ExplorerError):
    """No HardwareConstraint, or several."""

    template = "a kernel needs one HardwareConstraint, this one has {count}"
    hint = "add tkw.HardwareConstraint(threads_per_wave=64)"


class WavesDisagree(ExplorerError):
    """``waves_per_block`` says another number than the wave tiles."""

    template = "waves_per_block gives {given} waves along {dim}, the wave tile gives {derived}"
    hint = "make them equal, or leave waves_per_block out"


class UnusedWaves(ExplorerError):
    """``waves_per_block`` asks for waves that no dim uses."""

    template = (
        "waves_per_block asks for {count} waves on workgroup dim {axis}, but no dim uses them"
    )
    hint = "put a dim on workgroup dim {axis}, or set that entry to 1"


class TileNotMultiple(ExplorerError):
    """A tile cannot be shared out in whole pieces."""

    template = "{what} = {tile} along {dim} is no multiple of {waves} wave(s) x {piece} elements"
    hint = "the nearest legal values are {nearest}"


class TileNotNested(ExplorerError):
    """A workgroup's tile is not a whole number of inner tiles."""

    template = "the workgroup tile {outer} along {dim} is no multiple of {what} = {inner}"
    hint = "the nearest legal workgroup tiles are {nearest}"


class WavesDoNotDivide(ExplorerError):
    """A wave's tile does not divide the tile it shares."""

    template = "the wave tile {wave} along {dim} does not divide {what} = {tile}"
    hint = "the nearest wave tiles that do are {nearest}"


class LoopWithoutTiling(ExplorerError):
    """A loop over a dim whose step nobody gave."""

    template = "the loop over {dim} has no step"
    hint = "add tkw.TilingConstraint({dim}, BLOCK_{dim})"


class UnusedTiling(ExplorerError):
    """A TilingConstraint that no loop uses."""

    template = "TilingConstraint({dim}, {tile}), but no loop of the kernel runs over {dim}"
    hint = "remove it, or walk the dim with @tkw.iterate({dim}, ...)"


class UnknownDynamic(ExplorerError):
    """``dynamic`` names something that is no dim of a tensor."""

    template = "dynamic names {name}, which is no dim of this kernel's tensors{guess}"
    hint = "its dims are {known}"


class GridTooLarge(ExplorerError):
    """More workgroups along one grid dim than the target allows."""

    template = "{count} workgroups along workgroup dim {axis}; {target} allows {limit}"
    hint = "use larger workgroup tiles, or put {dim} on workgroup dim 0"


class TooManyThreads(ExplorerError):
    """More lanes in a workgroup than the target allows."""

    template = (
        "{waves} waves of {lanes} lanes are {threads} threads a workgroup; {target} allows {limit}"
    )
    hint = "use fewer waves: larger wave tiles or smaller waves_per_block"


class BadConstraint(ExplorerError):
    """A constraint made of the wrong things."""

    template = "{kind}: {what} must be {want}, not {found!r}"
    hint = "tiles and shapes are positive whole numbers, symbols, or sympy expressions of symbols"


class SharedMemoryTooLarge(ExplorerError):
    """The kernel needs more shared memory than the target has."""

    template = "the kernel needs {need} bytes of shared memory, {target} has {limit}: {parts}"
    hint = "use fewer waves or smaller pieces"


class TooManyCopies(ExplorerError):
    """Unrolling would make more copies than allowed, and no loop can be formed."""

    template = (
        "{op} would be unrolled into {copies} copies ({factors}), more than unroll_limit={limit}"
    )
    hint = "{advice}"


# --- tracing --------------------------------------------------------------------------------------


class NotTraceable(ExplorerError):
    """Python looked into a traced value (``if``, ``max``, ``float`` ...)."""

    template = "{what} needs the value itself, but a kernel only describes the computation"
    hint = "use {instead}"


class NoAttribute(ExplorerError):
    """An attribute or item of a traced value that does not exist."""

    template = "a traced value has no {what}"
    hint = "values are combined with operators and the functions of explorer.wave"


class NotAValue(ExplorerError):
    """Something that is no traced value was given where one is needed."""

    template = "{op}: {what} must be {want}, not {found}"
    hint = "{advice}"


class ValueLeftLoop(ExplorerError):
    """A value used outside of the loop body or the kernel that made it."""

    template = "{op}: {what} is {value}, which belongs to {home}"
    hint = "return it from the loop's body; the loop's name is then its result"


class OutsideKernel(ExplorerError):
    """A kernel operation was called outside of a kernel."""

    template = "{op} only works inside a kernel"
    hint = "put it in a function decorated with @tkw.wave(constraints)"


class BadParameter(ExplorerError):
    """A kernel parameter without a usable annotation."""

    template = "parameter {name} of {kernel} is annotated with {found}"
    hint = "annotate it as tkl.Memory[M, N, ADDRESS_SPACE, tkl.f32], a number as tkl.f32{more}"


class SharedParameter(ExplorerError):
    """A kernel parameter in shared memory."""

    template = "parameter {name} lives in shared memory, but a kernel is called with global tensors"
    hint = "bind its address space to tkl.GLOBAL_ADDRESS_SPACE"


class BadTypeSpelling(ExplorerError):
    """``Memory[...]`` or ``Register[...]`` with the wrong parts."""

    template = "{kind}[{items}]: {want}"
    hint = "write {example}"


class KernelReturns(ExplorerError):
    """A kernel returned a value."""

    template = "kernel {kernel} returns a value"
    hint = "a kernel gives its results with tkw.write(value, memory)"


class NoWrite(ExplorerError):
    """A kernel that writes nothing."""

    template = "kernel {kernel} writes nothing"
    hint = "end it with tkw.write(value, memory)"


class WrongYield(ExplorerError):
    """A loop body returned something else than its carried values."""

    template = "the body of loop {loop} returns {found}, but carries {want}"
    hint = "return one value for each of init_args, in that order"


class BodySignature(ExplorerError):
    """A loop body whose parameters do not fit ``init_args``."""

    template = "the body of loop {loop} takes {found} values, init_args has {want}"
    hint = "give the body one parameter for each of init_args"


# --- types ----------------------------------------------------------------------------------------


class DimsDiffer(ExplorerError):
    """Operands whose dims do not fit together."""

    template = "{op}: dims do not fit: {types}"
    hint = (
        "one operand's dims must be a part of the other's, in the same order; "
        "use tkw.broadcast to add dims, tkw.permute to reorder them"
    )


class DTypesDiffer(ExplorerError):
    """Operands of different element types."""

    template = "{op}: element types differ: {types}"
    hint = "convert one of them: tkw.cast(value, tkl.{wanted})"


class WrongDType(ExplorerError):
    """An op on an element type that it is not defined for."""

    template = "{op} is not defined for {dtype}; it takes {want}"
    hint = "convert the operand first: tkw.cast(value, tkl.{example})"


class UnsupportedElements(ExplorerError):
    """An element type that this version has no code for."""

    template = "{name}: {what} of {dtype} elements are not supported"
    hint = "{advice}"


class PositionDoesNotFit(ExplorerError):
    """Positions along a dim that the element type asked for cannot hold."""

    template = "{op}: {dtype} cannot hold positions along {dim}, which has {size} elements"
    hint = "ask for an integer type that can: {better}"


class LiteralDoesNotFit(ExplorerError):
    """A Python number that the other operand's type cannot hold."""

    template = "{op}: {dtype} cannot hold the number {value!r}"
    hint = "use a number that it can hold, or values of another type: tkw.cast(value, tkl.f32)"


class NoSuchDim(ExplorerError):
    """A reduction over a dim the operand does not have."""

    template = "{op}: no dim {dim} in {type}"
    hint = "its dims are {dims}"


class AccumulatorDiffers(ExplorerError):
    """The initial value of a reduction has another type than its result."""

    template = "{op}: the initial value is {found}, the reduction over {dim} gives {want}"
    hint = "start from a value of type {want}"


class WriteDiffers(ExplorerError):
    """A value written to memory of another type."""

    template = "write: the value is {value}, the memory holds {memory}"
    hint = "{advice}"


class YieldKeepsAxis(ExplorerError):
    """A loop yields a value that still has the loop's own dim."""

    template = "loop {loop} over {dim} yields {type}, which still has {dim}"
    hint = "reduce it over {dim} first, for example tkw.max(value, partial, dim={dim})"


class YieldDiffers(ExplorerError):
    """A loop yields a value of another type than it carries."""

    template = "loop {loop} carries {want} but yields {found}"
    hint = "make the yielded value {want}, or start from a {found}"


class BroadcastDims(ExplorerError):
    """``broadcast`` to dims that do not contain the operand's."""

    template = "broadcast: {found} cannot become [{target}]"
    hint = "the target dims must contain {dims} in that order"


class PermuteDims(ExplorerError):
    """A permutation to dims that are not the value's own."""

    template = "permute: {found} cannot become [{target}]"
    hint = "name each of [{dims}] once, in the order you want"


class NestedSameAxis(ExplorerError):
    """A loop over a dim inside a loop over the same dim."""

    template = "loop {inner} over {dim} lies inside loop {outer} over {dim}"
    hint = "walk {dim} once, or loop over another dim"


# --- what the compiler cannot do with a legal-looking kernel --------------------------------------


class ValueCrossesLoop(ExplorerError):
    """A value with the loop's dim, computed outside, that cannot be computed again inside."""

    template = "{value} has dim {dim} and is used inside loop {loop} over {dim}; {why}"
    hint = "read it inside the loop, or write it to memory in a kernel before this one"


class ReducesAcrossWorkgroups(ExplorerError):
    """A reduction over a dim that is spread over workgroups."""

    template = "{op} over {dim}: each workgroup holds only {tile} of {size} elements of {dim}"
    hint = (
        "give one workgroup the whole dim (WorkgroupConstraint({dim}, {dim}, ...)) or loop over it "
        "with @tkw.iterate({dim}, ...)"
    )


class WriteInLoopAcrossWorkgroups(ExplorerError):
    """A write of the loop's dim in a loop that several workgroups repeat."""

    template = "write of dim {dim} inside the loop over {dim}, which {count} workgroups repeat"
    hint = "write after the loop, or give one workgroup the whole of {dim}"


class NotCovered(ExplorerError):
    """A write that misses an element of its tensor, or writes one several times."""

    template = "{write}: element {position} along {dim} is {what}"
    hint = "this is a flaw of the compiler: please report the kernel and its bindings"


class ReadAndWritten(ExplorerError):
    """A tensor both read and written in one kernel."""

    template = "{memory} is both read and written"
    hint = "write to another tensor: lanes and workgroups run in no fixed order"


class WrittenTwice(ExplorerError):
    """Two writes of one tensor."""

    template = "{memory} is written twice"
    hint = "write each tensor once: lanes run in no fixed order; choose with tkw.select before"


class NeededTwice(ExplorerError):
    """A value needed by two generated loops that cannot be computed again."""

    template = (
        "{value} has dim {dim} and is needed before and after a reduction over {dim}; it is no "
        "pure function of memory, so it cannot be computed again"
    )
    hint = (
        "{dim} is walked in loops ({why}): unroll it with a higher unroll_limit and no "
        "ParallelTilingConstraint, or split the kernel"
    )


# --- calling --------------------------------------------------------------------------------------


class UnknownOption(ExplorerError):
    """A compile option that does not exist."""

    template = "no option {name!r}{guess}"
    hint = "the options are {known}"


class BadOption(ExplorerError):
    """A compile option with a value of the wrong kind."""

    template = "option {name} is {value!r}"
    hint = "it must be {want}"


class UnknownPass(ExplorerError):
    """A pass name that does not exist."""

    template = "no pass {name!r}{guess}"
    hint = "the passes are {known}"


class WrongArgument(ExplorerError):
    """An argument of another count, shape, dtype or device than the kernel wants."""

    template = "argument {name}: {found}, but the kernel wants {want}"
    hint = "{advice}"


class ArgumentsOverlap(ExplorerError):
    """Two arguments share memory and one of them is written."""

    template = "arguments {first} and {second} overlap in memory, and the kernel writes {written}"
    hint = "pass a copy of one of them"
