"""One browser module made of the files in ``widgets/js/``, without a build tool.

The files are ordinary ES modules. Joining them needs three rules that a test enforces: they are
listed here after what they import, imports stand on one line each, and top-level names are unique.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from explorer.viz.theme import variables

HERE = Path(__file__).parent / "widgets"
MODULES = (
    "dom", "data", "geometry", "shapes", "edges", "painting", "minimap", "graph", "timeline",
    "details", "source", "controls", "search", "player", "tools", "explorer",
)  # fmt: skip
_IMPORT = re.compile(r'^import .*? from "\./[a-z]+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)


def joined(text: str) -> str:
    """A module's text without its import lines and ``export`` words."""
    return _EXPORT.sub("", _IMPORT.sub("", text))


@cache
def body() -> str:
    """All modules in one."""
    files = (HERE / "js" / f"{name}.js" for name in MODULES)
    return "\n".join(joined(file.read_text(encoding="utf-8")) for file in files)


def widget_module() -> str:
    """What the notebook loads: ``render`` as the default export's only method."""
    return body() + "\nexport default { render };\n"


def standalone_script() -> str:
    """What a page without a kernel runs: the same viewer on the data in the page."""
    start = (HERE / "js" / "standalone.js").read_text(encoding="utf-8")
    return f"{body()}\n{joined(start)}".replace("</script", "<\\/script")


@cache
def stylesheet() -> str:
    """The widget's CSS, colours of families and differences from ``theme`` included."""
    light, dark = variables(dark=False), variables(dark=True)
    rules = (
        f".kx{{{light}}}",
        f'[data-jp-theme-light="false"] .kx{{{dark}}}',
        f"@media (prefers-color-scheme:dark){{.kx-page .kx{{{dark}}}}}",
    )
    return "\n".join((*rules, (HERE / "explorer_widget.css").read_text(encoding="utf-8")))
