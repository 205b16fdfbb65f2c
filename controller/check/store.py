"""Reading the tree of a store to inspect it: one snapshot, nothing else; no key is put, no election stood for.

Where a snapshot is not one instant (ZooKeeper), a commit between its first and its last key looks like a broken tree.
So what is found there is looked for a second time, and only what was found both times, word for word, is told.
"""

from __future__ import annotations

import attrs

from controller.check.findings import Report
from controller.check.rules import inspect
from stores.base import MetadataStore


def check_store(store: MetadataStore, *, timeout_s: float) -> Report:
    """What is broken, inconsistent or left behind in the tree that `store` shows. Writes nothing. `timeout_s` is for
    each read, of which there are two at most. Raises what the store raises."""
    first = store.snapshot("/", timeout_s=timeout_s)
    report = inspect(first.entries)
    if first.consistent:
        return report
    if report.findings:
        second = inspect(store.snapshot("/", timeout_s=timeout_s).entries)
        seen = frozenset(report.findings)
        report = attrs.evolve(second, findings=tuple(finding for finding in second.findings if finding in seen))
    return attrs.evolve(report, consistent=False)
