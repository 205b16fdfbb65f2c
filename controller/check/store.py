"""Reads the tree of a store and inspects it: it takes snapshots, writes no key and takes part in no election.

Where a snapshot is not of one instant (ZooKeeper), a commit during the read looks like a broken tree. Then the tree is
read a second time, and only findings that are equal in both are reported.
"""

from __future__ import annotations

import attrs

from ...stores.base import MetadataStore
from .findings import Report
from .rules import inspect


def check_store(store: MetadataStore, *, timeout_s: float) -> Report:
    """What is broken, inconsistent or left over in the tree of `store`. Writes nothing. `timeout_s` is for each read,
    of which there are at most two. Raises what the store raises."""
    first = store.snapshot("/", timeout_s=timeout_s)
    report = inspect(first.entries)
    if first.consistent:
        return report
    if report.findings:
        second = inspect(store.snapshot("/", timeout_s=timeout_s).entries)
        seen = frozenset(report.findings)
        report = attrs.evolve(second, findings=tuple(finding for finding in second.findings if finding in seen))
    return attrs.evolve(report, consistent=False)
