"""Requests that alter no configs: the hint about a key that another program altered may come late, so the keys are read
before such a request is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...stores.base import StoreError
from ..codec import keys
from ..keys.table import KeyKinds
from ..model.events import AlterConfigs, Decision
from .jobs import Job

_NOTHING: Final = Decision()


def stale(decided: Sequence[tuple[Job, Decision]], kinds: KeyKinds, now_ms: int) -> set[int]:
    """The places of requests that alter no configs of those known, but perhaps of those in the store; their keys are
    hinted."""
    unchanged = {
        place: keys.config(job.event.entity.kind, job.event.entity.name)
        for place, (job, decision) in enumerate(decided)
        if type(job.event) is AlterConfigs and not job.event.validate_only and decision == _NOTHING
    }
    if not unchanged:
        return set()
    try:
        altered = kinds.altered(dict.fromkeys(unchanged.values()), now_ms)
    except StoreError:
        altered = {*unchanged.values()}
    for path in altered:
        kinds.hint(path)
    return {place for place, path in unchanged.items() if path in altered}
