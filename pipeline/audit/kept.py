"""The state of a followed audit between two batches, as plain values: one JSON text of the cluster, and one per topic.

`VERSION` is the version of their layout; an audit with another version begins from the start. No text grows with the
rows of a journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...controller.audit.standing import Standing
from ...controller.audit.term import ReplayedTerm
from ..journal.lines import Event
from .edges import Edge, Last, Light
from .topics import TopicTrace

VERSION: Final = 1
EPOCHS_MAX: Final = 64
"""How many terms are remembered, with what was reported of them and their first seq."""


def text_of(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def topics_in(events: Iterable[Event]) -> set[str]:
    """The topics that rows name, including those listed in their detail."""
    found = set()
    for row in (event.row for event in events if event.row is not None):
        if "topic" in row:
            found.add(row["topic"])
        if row["event"] in ("Takeover", "ForeignChange"):
            listed = [one for name in ("moves", "intents", "deleting") for one in _listed(row.get("detail"), name)]
            named = [one.get("topic") if isinstance(one, Mapping) else one for one in listed]
            found |= {topic for topic in named if isinstance(topic, str)}
    return found


def _listed(detail: Any, name: str) -> list[Any]:
    listed = detail.get(name) if isinstance(detail, Mapping) else None
    return listed if isinstance(listed, list) else []


# --- order


def edge_of(value: Any) -> Edge:
    file, first, last, takeovers, seq_max, spans, ends_lost, bad_hash = value
    times = {epoch: (begun, ended) for epoch, begun, ended in spans}
    seqs = _mapping(takeovers), _mapping(seq_max)
    light = None if first is None else Light(*first)
    return Edge(file, light, last_of(last), *seqs, (), (), (), (), {}, 0, times, ends_lost, bad_hash)


def _mapping(pairs: Any) -> dict[int, Any]:
    return {key: value for key, value in pairs}  # noqa: C416 - pairs are lists, as JSON has them


def last_of(value: Any) -> Last | None:
    return None if value is None else Last(Light(*value[0]), *value[1:])


def kept_edge(edge: Edge) -> Any:
    counts = [sorted(pairs.items())[-EPOCHS_MAX:] for pairs in (edge.takeovers, edge.seq_max)]
    spans = [(epoch, *edge.spans[epoch]) for epoch in sorted(edge.spans)[-EPOCHS_MAX:]]
    return edge.file, edge.first, edge.last, *counts, spans, edge.ends_lost, edge.bad_hash


# --- topics


def kept_trace(trace: TopicTrace) -> Any:
    """The part of the state without a topic."""
    term = trace.term
    of_term = None if term is None else (
        term.epoch,
        term.is_whole,
        sorted(term.brokers.items()),
        sorted(term.left),
        sorted(term.forgotten),
        term.legacy_key,
    )  # fmt: skip
    return trace.rows_lost, trace.begun, trace.losses, of_term


def restore_trace(trace: TopicTrace, value: Any) -> None:
    trace.rows_lost, trace.begun, trace.losses, of_term = value
    if of_term is not None:
        epoch, is_whole, brokers, left, forgotten, legacy_key = of_term
        term = trace.term = ReplayedTerm(epoch, trace.epochs, is_whole)
        term.brokers, term.left, term.forgotten = _mapping(brokers), set(left), set(forgotten)
        term.legacy_key = legacy_key


def kept_topics(trace: TopicTrace, names: Iterable[str]) -> dict[str, str | None]:
    """The text of each topic; None if nothing is known of it."""
    parts: dict[str, dict[str, list[Any]]] = {name: {} for name in names}

    def add(topic: str, what: str, *value: Any) -> None:
        parts.setdefault(topic, {}).setdefault(what, []).append(value)

    if (term := trace.term) is not None:
        for now in term.partitions.values():
            add(now.topic, "partitions", *(getattr(now, name) for name in _STANDING))
        for (topic, *slot), epoch in term.intents.items():
            add(topic, "intents", *slot, epoch)
        for name in parts:
            known = term.topics.get(name), term.counts.get(name), name in term.deleting
            if known != (None, None, False):
                add(name, "topic", *known)
    for (topic, *past), epoch in trace.epochs.items():
        add(topic, "epochs", *past, epoch)
    for (topic, partition), status in trace.statuses.now.items():
        add(topic, "statuses", partition, status)
    at = {"begun": trace.begun, "losses": trace.losses}
    return {name: text_of({**at, **part}) if part else None for name, part in parts.items()}


def restore_topic(trace: TopicTrace, name: str, text: str) -> None:
    """Restore what was known of a topic, as far as it is still valid."""
    kept, term = json.loads(text), trace.term
    for topic_id, partition, epoch in kept.get("epochs", ()):
        trace.epochs[name, topic_id, partition] = epoch
    if kept["losses"] != trace.losses:
        return
    for partition, status in kept.get("statuses", ()):
        trace.statuses.now[name, partition] = status
    if term is None or kept["begun"] != trace.begun:
        return
    for values in kept.get("partitions", ()):
        known: dict[str, Any] = dict(zip(_STANDING, values, strict=True))
        lists = {field: tuple(value) for field, value in known.items() if isinstance(value, list)}
        now = Standing(name, **{**known, **lists})
        term.partitions[now.key] = now
    for topic_id, partition, broker, epoch in kept.get("intents", ()):
        term.intents[name, topic_id, partition, broker] = epoch
    for topic_id, count, is_deleting in kept.get("topic", ()):
        term.topics |= {} if topic_id is None else {name: topic_id}
        term.counts |= {} if count is None else {name: count}
        term.deleting |= {name} if is_deleting else set()


_STANDING: Final = ("partition", "topic_id", "replicas", "isr", "target", "leader", "leader_epoch", "partition_epoch",
                    "status", "origin", "is_fresh")  # fmt: skip
