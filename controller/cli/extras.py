"""How a command ends where an extra is not installed: one line with the `pip install` that adds it, and exit code 2.

Imports the standard library and the sentence only, because click itself may be missing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from ..model.extras import missing

NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "cli": ("click", "rich"),
    "pipeline": ("numpy", "pyarrow"),
    "spark": ("pandas", "pyarrow", "pyspark"),
    "wire": ("kafka", "scramp"),
}
"""The modules of an extra that are looked for."""


def need(extra: str) -> None:
    """The modules of an extra can be imported. Otherwise one line on stderr, and exit code 2."""
    lacking = [module for module in NEEDED[extra] if not _is_there(module)]
    if lacking:
        sys.stderr.write(f"kedge: {missing(extra, *lacking)}\n")
        sys.exit(2)


def _is_there(module: str) -> bool:
    # None in sys.modules forbids an import, as tests and hosts do.
    return sys.modules[module] is not None if module in sys.modules else find_spec(module) is not None
