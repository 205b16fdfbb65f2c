"""What a command says where packages of an extra are missing: one line with the `pip install` that adds them.

Imports the standard library only, because click itself may be what is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

# The packages of an extra that are looked for -> the module of each.
NEEDED: Final[Mapping[str, Mapping[str, str]]] = {
    "cli": {"click": "click", "rich": "rich"},
    "pipeline": {"numpy": "numpy", "pyarrow": "pyarrow"},
    "wire": {"kafka-python": "kafka", "scramp": "scramp"},
}


def need(extra: str) -> None:
    """The packages of an extra are installed. Otherwise one line on stderr, and exit code 2."""
    missing = [package for package, module in NEEDED[extra].items() if not _is_there(module)]
    if missing:
        extras = "cli" if extra == "cli" else f"cli,{extra}"
        sys.stderr.write(f"kedge: {' and '.join(missing)} not installed; run: pip install kedge[{extras}]\n")
        sys.exit(2)


def _is_there(module: str) -> bool:
    # None in sys.modules forbids an import, as tests and embedders do.
    return sys.modules[module] is not None if module in sys.modules else find_spec(module) is not None
