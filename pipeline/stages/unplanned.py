"""Partitions that no plan knows, since their rows were rejected, and what a request leaves undone because of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..tables.arrow import Arrow, from_rows, in_order
from ..tables.declared import PLAN_REASON
from .choice import Choice
from .requests import Demote, Drain, FixRacks, Request, SetFactor


def with_unplanned(
    found: dict[str, Arrow], rejected: Arrow | None, request: Request, leaving: frozenset[int], choice: Choice
) -> dict[str, Arrow]:
    """The tables of a plan, incomplete and with a reason for each rejected partition that the request is about: for a
    drain those with a replica on a broker of `leaving`, for a demotion those whose first replica is on one, and for
    both those whose replicas are not known. Plans that level are about no single partition."""
    if rejected is None or not isinstance(request, Drain | Demote | FixRacks | SetFactor):
        return found
    rows = rejected.filter(pc.is_valid(rejected["brokers"])).to_pylist()
    name = found["plan"]["plan"][0].as_py()
    more = [(name, *reason) for row in rows for reason in _reasons(row, request, leaving, choice)]
    if not more:
        return found
    reasons = pa.concat_tables([found["plan_reason"], from_rows(PLAN_REASON, more)])
    (row,) = found["plan"].to_pylist()
    row |= {"complete": False, "rejected": row["rejected"] + len(more)}
    plan = pa.Table.from_pylist([row], schema=found["plan"].schema)
    return {**found, "plan": plan, "plan_reason": in_order(PLAN_REASON, reasons)}


def _reasons(
    row: dict[str, Any], request: Request, leaving: frozenset[int], choice: Choice
) -> Iterator[tuple[object, ...]]:
    """Topic, partition, broker and reason."""
    reason = f"not planned, because its row was rejected: {row['reason']}"
    if not isinstance(request, Drain | Demote):
        if choice.has_topic(row["topic"]):
            yield row["topic"], row["partition"], None, reason
    elif not row["brokers"]:
        yield row["topic"], row["partition"], None, reason
    else:
        there = row["brokers"] if isinstance(request, Drain) else row["brokers"][:1]
        for broker in sorted(leaving.intersection(there)):
            yield row["topic"], row["partition"], broker, reason
