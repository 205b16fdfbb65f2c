"""Rows without a record: a term begins or ends, another program changed a key first, lines are missing."""

from __future__ import annotations

from collections.abc import Mapping

from ...codec.journal_text import dump, moves, replica, why
from ...state import ClusterState


def takeover(state: ClusterState) -> str:
    """The first line of a term: the controller, counts, and the present state of everything in progress."""
    in_flight = moves(state.moving(), lambda name: topic_id(state, name), state.partition_epoch)
    intents = ",".join(f"{{{replica(i)}}}" for broker in state.intents.brokers() for i in state.intents.of(broker))
    counts = (
        f'"controller_id":{state.controller_id},"brokers":{len(state.brokers)},"topics":{len(state.topics)},'
        f'"partitions":{len(state.rows)},"unreadable_keys":{len(state.problems)}'
    )
    plan = f',"legacy_entries":{len(state.legacy.entries)}' if state.legacy.is_there else ""
    deleting = "" if not state.deletions else f',"deleting":{dump(sorted(state.deletions))}'
    reducing = _reductions(state)
    marked = state.throttles.told()
    throttles = f',"throttles":{dump(marked)}' if marked else ""
    listed = f'"moves":{in_flight},"intents":[{intents}]{plan}{deleting}{reducing}{throttles}'
    return f'"event":"Takeover","detail":{{{counts},{listed}}}'


def _reductions(state: ClusterState) -> str:
    """The partitions that reductions remove, each with its status and time."""
    found: dict[str, dict[str, dict[str, object]]] = {}
    for name in sorted(state.reductions()):
        for number, entry in sorted(state.reduction(name).items()):
            p = state.partition(name, number)
            now = None if p is None else p.status_code
            said: dict[str, object] = {"timestamp": entry.timestamp_ms, "immediate": entry.immediate, "status": now}
            found.setdefault(name, {})[str(number)] = said
    return f',"reductions":{dump(found)}' if found else ""


def topic_id(state: ClusterState, name: str) -> str | None:
    topic = state.topic(name)
    return None if topic is None else topic.topic_id


def resigned(cause: str) -> str:
    return f'"event":"Resigned"{why(cause, None)}'


def conflict(key: str, count: int) -> str:
    """`count`: how often in a row another program changed this key first."""
    return f'"event":"Conflict","detail":{dump({"key": key, "count": count})}'


def gap(detail: Mapping[str, object]) -> str:
    return f'"event":"Gap","detail":{dump(detail)}'
