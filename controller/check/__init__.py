"""What is broken, inconsistent or left behind in the tree of a cluster: entries in, findings out, nothing written.

`inspect(entries)` is pure; `check_store(store)` reads the entries first. What each kind of finding means: `KINDS`.
"""

from controller.check.findings import KINDS, SEVERITIES, Counts, Finding, Kind, Report, Severity
from controller.check.rules import RULES, inspect
from controller.check.store import check_store

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
