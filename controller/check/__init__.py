"""Finds what is broken, inconsistent or left over in the tree of a cluster; writes nothing.

`inspect(entries)` is pure; `check_store(store)` reads the entries first. `KINDS` has the meaning of each kind of
finding.
"""

from .findings import KINDS, SEVERITIES, Counts, Finding, Kind, Report, Severity
from .rules import RULES, inspect
from .store import check_store

__all__ = [
    "KINDS",
    "RULES",
    "SEVERITIES",
    "Counts",
    "Finding",
    "Kind",
    "Report",
    "Severity",
    "check_store",
    "inspect",
]
