"""``python -m explorer`` is the command ``explorer``."""

from __future__ import annotations

import sys

from explorer.cli import main

sys.exit(main())
