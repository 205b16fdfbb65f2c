"""The `kedge` command. Needs the extra `cli` (click and rich), which is asked for only when a command is run."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

_NEEDED = ("click", "rich")


def main() -> None:
    """Run the command line and exit: 0 done, 1 what was checked does not hold, 2 arguments or input cannot be used."""
    missing = [name for name in _NEEDED if sys.modules.get(name) is None and find_spec(name) is None]
    if missing:
        sys.stderr.write(f"kedge: {' and '.join(missing)} not installed; run: pip install kedge[cli]\n")
        sys.exit(2)
    from controller.cli.root import run  # noqa: PLC0415 - click is known to be there only now

    run()
