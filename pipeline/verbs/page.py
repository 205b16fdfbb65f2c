"""The page of a plan, from the tables of its snapshot and its own."""

from __future__ import annotations

from collections.abc import Mapping

from ..report.plan import plan_page
from ..stages.outlook import outlook
from ..tables.arrow import Arrow


def page_of(cluster: str, snapshot: str, found: Mapping[str, Arrow]) -> bytes:
    """`found`: the tables for `plan_page` except the outlook, with brokers, partitions and loads of the snapshot."""
    page = plan_page({**found, **outlook(found)}, cluster=cluster, snapshot=snapshot)
    return page.encode()
