"""The counts of a gateway as metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ..metrics import Sample, Snapshot
from ..metrics.definitions import GATEWAY_CONNECTIONS, GATEWAY_EVENTS, GATEWAY_REQUESTS

_TOTALS: Final = frozenset({"connections", "requests"})


def events(counts: Mapping[str, int]) -> dict[str, int]:
    """The part of `Gateway.counts` that is neither a connection nor a request of an API (with a capital first
    letter)."""
    return {kind: count for kind, count in counts.items() if kind not in _TOTALS and not kind[0].isupper()}


def measured(counts: Mapping[str, int], controller_id: int) -> Snapshot:
    """All counts as metrics. `counts`: a copy that does not change."""
    return Snapshot(_samples(counts), ("controller_id", str(controller_id)))


def _samples(counts: Mapping[str, int]) -> Iterator[Sample]:
    yield Sample(GATEWAY_CONNECTIONS, counts.get("connections", 0))
    for name in sorted(counts):
        if name[0].isupper():
            yield Sample(GATEWAY_REQUESTS, counts[name], name)
    for kind, count in sorted(events(counts).items()):
        yield Sample(GATEWAY_EVENTS, count, kind)
