"""The pipeline on Spark, the only package that uses it. `session` returns the active session, or a new one; the stages
call the functions of the local engine on groups of rows, so that both engines give the same results.

The local engine imports nothing from here, and importing this package starts no JVM and needs no PySpark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from .session import NoSpark, session

if TYPE_CHECKING:
    from .source import KedgeJournal as KedgeJournal
    from .verbs import results as results

__all__ = ["KedgeJournal", "NoSpark", "results", "session"]

_LATE: Final = {"KedgeJournal": ".source", "results": ".verbs"}
"""Names that need PySpark."""


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'kedge.pipeline.spark' has no attribute {name!r}")
    return getattr(import_module(_LATE[name], __name__), name)
