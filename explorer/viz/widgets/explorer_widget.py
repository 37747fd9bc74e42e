"""The explorer as a Jupyter widget: recordings and results in, requests out.

It knows nothing of compiling. Everything shown travels as traits, so it may be set from a worker
thread; what the browser asks for arrives at ``on_request`` and ``on_stop``, which should only put
it in a queue and return (they run wherever the kernel handles messages).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from threading import RLock
from typing import Any

import anywidget
import traitlets
from IPython.display import display

from explorer.compiler.record import PassRecord, Recording
from explorer.viz import bundle, html, words
from explorer.viz.payload import payload

VIEW = "application/vnd.jupyter.widget-view+json"
"""MIME type of a live view."""


@dataclass(frozen=True)
class TileSlider:
    """One slider.

    Args:
        symbol: name of the tile symbol.
        values: the positions, in order.
        value: where it stands; one of ``values``.
        illegal: positions that cannot be chosen, each with its reason.
    """

    symbol: str
    values: tuple[int, ...]
    value: int
    illegal: Mapping[int, str] = field(default_factory=dict[int, str])

    def __post_init__(self) -> None:
        if self.value not in self.values:
            msg = f"slider {self.symbol}: {self.value} is none of its values {list(self.values)}"
            raise ValueError(msg)


class UnknownName(KeyError):
    """A pass or a node that the recording does not have."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are {words.listed(names, 12)}"
        self.message = f"no {kind} {name!r} here{hint}"
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message


class ExplorerWidget(anywidget.AnyWidget):
    """Shows a recording pass by pass, with tile sliders, progress, a result and errors.

    Args:
        recording: what to show first.
        sliders: the tile sliders.
        on_request: called with ``{symbol: value}`` when a slider is released on a legal value.
        on_stop: called when Stop is pressed.
    """

    _esm = bundle.widget_module()
    _css = bundle.stylesheet()

    recording = traitlets.Dict().tag(sync=True)
    """``payload`` of the recording shown."""
    shown = traitlets.Unicode().tag(sync=True)
    """Name of the pass shown."""
    selected = traitlets.Unicode().tag(sync=True)
    """Name of the node selected, empty for none."""
    opened = traitlets.List(traitlets.Unicode()).tag(sync=True)
    """Keys of the stacks that show their copies."""
    sliders = traitlets.List(traitlets.Dict()).tag(sync=True)
    request = traitlets.Dict().tag(sync=True)
    """From the browser: ``{serial, set: {symbol: value}}`` or ``{serial, stop: true}``."""
    progress = traitlets.Dict().tag(sync=True)
    """``{state: idle or busy, text, fraction: 0 to 1 or None}``."""
    result = traitlets.Dict().tag(sync=True)
    """``{ok, max_error, seconds, device, message}``; empty before the first run."""
    error = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        recording: Recording,
        *,
        sliders: Iterable[TileSlider] = (),
        on_request: Callable[[dict[str, int]], None] | None = None,
        on_stop: Callable[[], None] | None = None,
    ) -> None:
        self._lock = RLock()
        self._source = recording
        self._on_request, self._on_stop = on_request, on_stop
        super().__init__(
            recording=payload(recording),
            shown=_last(recording),
            sliders=[_plain(s) for s in sliders],
            progress={"state": "idle", "text": "", "fraction": None},
        )
        self.observe(self._asked, "request")

    def show_recording(self, recording: Recording) -> None:
        """Show another recording; the pass shown stays if it is there too."""
        data = payload(recording)
        with self._lock:
            self._source = recording
            known = {p.name for p in recording.passes}
            with self.hold_sync():
                self.shown = self.shown if self.shown in known else _last(recording)
                self.recording = data
                self.error = ""

    def show_sliders(self, sliders: Iterable[TileSlider]) -> None:
        """Replace the sliders: other values, another position, other illegal ones."""
        with self._lock:
            self.sliders = [_plain(s) for s in sliders]

    def show_progress(self, text: str, fraction: float | None = None) -> None:
        """Say what is going on, with a Stop button; ``fraction`` from 0 to 1 if it is known."""
        with self._lock:
            self.progress = {"state": "busy", "text": text, "fraction": fraction}

    def show_idle(self, text: str = "") -> None:
        """Nothing is going on any more; ``text`` stays to be read while there is no result."""
        with self._lock:
            self.progress = {"state": "idle", "text": text, "fraction": None}

    def show_result(
        self,
        *,
        ok: bool | None,
        max_error: float | None = None,
        seconds: float | None = None,
        device: str = "",
        message: str = "",
    ) -> None:
        """Say how a run went: whether it matched, the largest error, the time, the device."""
        with self._lock, self.hold_sync():
            self.result = {
                "ok": ok,
                "max_error": max_error,
                "seconds": seconds,
                "device": device,
                "message": message,
            }
            self.error = ""
            self.show_idle()

    def show_error(self, message: str) -> None:
        """Show a message inside of the widget; the last good picture stays."""
        with self._lock, self.hold_sync():
            self.error = message
            self.result = {}
            self.show_idle()

    def step(self, name: str) -> None:
        """Show a pass.

        Raises:
            UnknownName: there is no such pass.
        """
        with self._lock:
            known = [p.name for p in self._source.passes]
            if name not in known:
                raise UnknownName("pass", name, known)
            self.shown = name

    def select(self, name: str) -> None:
        """Select a node of the pass shown; an empty name selects none.

        Raises:
            UnknownName: the graph after that pass has no such node.
        """
        with self._lock:
            known = [n.name for n in self._shown().after.nodes]
            if name and name not in known:
                raise UnknownName("node", name, known)
            self.selected = name

    def describe(self) -> str:
        """What is shown, in words: the pass, and the node selected."""
        with self._lock:
            names = [p.name for p in self._source.passes]
            return words.describe(self._source, names.index(self.shown), self.selected)

    def _shown(self) -> PassRecord:
        return self._source[self.shown]

    def _asked(self, change: dict[str, Any]) -> None:
        """A message from the browser: checked, then handed on."""
        match change["new"]:
            case {"stop": True}:
                if self._on_stop is not None:
                    self._on_stop()
            case {"set": dict(values)} if self._legal(values):
                if self._on_request is not None:
                    self._on_request(values)
            case asked:
                self.show_error(f"not a position of these sliders: {asked}")

    def _legal(self, values: Mapping[str, object]) -> bool:
        sliders = {s["symbol"]: s for s in self.sliders}
        return bool(values) and all(
            symbol in sliders
            and value in sliders[symbol]["values"]
            and str(value) not in sliders[symbol]["illegal"]
            for symbol, value in values.items()
        )

    def __repr__(self) -> str:
        return f"<ExplorerWidget of {self._source.kernel}: {self.shown}>"

    def _ipython_display_(self) -> None:
        """Show the static form and the live view, in two outputs: see ``html.standby_html``."""
        for data in self.outputs():
            display(data, raw=True)

    def outputs(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Two outputs by MIME type: what is there without a kernel, and the live view.

        The live one has an empty HTML form too, for those that cannot show a live view.
        """
        standby = {
            "text/html": html.standby_html(self._source),
            "text/plain": words.describe_recording(self._source),
        }
        made = super()._repr_mimebundle_()
        live = made[0] if isinstance(made, tuple) else {}
        return standby, {VIEW: live[VIEW], "text/html": ""} if VIEW in live else {}

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """All forms in one output, for those who show one object as one output."""
        del kwargs
        standby, live = self.outputs()
        return {**live, **standby}, {}


def _last(recording: Recording) -> str:
    return recording.passes[-1].name if recording.passes else ""


def _plain(slider: TileSlider) -> dict[str, Any]:
    return asdict(slider) | {"illegal": {str(v): why for v, why in slider.illegal.items()}}
