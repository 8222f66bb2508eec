"""``python -m fdlib`` is the ``fdlib`` command."""

from __future__ import annotations

import sys

from fdlib.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
