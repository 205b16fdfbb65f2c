"""Requests that write nothing: no commit shows that what they were decided by still holds, so it is read before they
are answered.

In: the decided jobs of a batch. A controller that stood still may call done what its successor has undone since
(`need_leader`), and of configs that another program altered the hint may come late (`late`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from ...stores.base import StoreError
from ..codec import keys
from ..keys.table import KeyKinds
from ..model.events import LATER, AlterConfigs, Decision
from .jobs import Job

Decided: TypeAlias = Sequence[tuple[Job, Decision]]

_NOTHING: Final = Decision()


def need_leader(decided: Decided) -> bool:
    """Whether a caller waits for one of the answers, which only the leader may give: a refusal, or that there was
    nothing to do, may be what the successor has made wrong since then."""
    return any(job.reply is not None and decision.reply is not LATER for job, decision in decided)


def late(decided: Decided, kinds: KeyKinds, now_ms: int) -> set[int]:
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
