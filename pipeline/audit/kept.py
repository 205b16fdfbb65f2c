"""The state of a followed audit between two batches, pickled: a part of the cluster, and one per topic.

`VERSION` is the version of the pickled classes; an audit with another version begins from the start. No part grows with
the rows of a journal. Only values of audits are made of a state, so that a changed checkpoint runs no code.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

import attrs

from ...controller.audit.term import ReplayedCommit
from ..journal.lines import Event, detail_of
from .edges import Edge
from .topics import TopicTrace

VERSION: Final = 2
EPOCHS_MAX: Final = 64
"""How many terms are remembered, with what was reported of them and their first seq."""
T = TypeVar("T")
_MODULES: Final = ("kedge.controller.audit.", "kedge.pipeline.audit.", "kedge.pipeline.journal.")
_OF_TERM: Final = ("partitions", "intents", "topics", "counts")


class _Values(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Classes of audits; UnpicklingError for whatever else a state names."""
        found = super().find_class(module, name) if module.startswith(_MODULES) and "." not in name else None
        if isinstance(found, type):
            return found
        raise pickle.UnpicklingError(f"a state of an audit must not hold {module}.{name}")


def values_of(state: bytes) -> Any:
    """What `pickle.dumps` made of values of audits. Raises UnpicklingError."""
    return _Values(io.BytesIO(state)).load()


def topics_in(events: Iterable[Event]) -> set[str]:
    """The topics that rows name, including those listed in their detail."""
    found = set()
    for row in (event.row for event in events if event.row is not None):
        if "topic" in row:
            found.add(row["topic"])
        if row["event"] in ("Takeover", "ForeignChange"):
            listed = [one for name in ("moves", "intents", "deleting") for one in _listed(detail_of(row), name)]
            named = [one.get("topic") if isinstance(one, Mapping) else one for one in listed]
            found |= {topic for topic in named if isinstance(topic, str)}
    return found


def _listed(detail: Mapping[str, Any], name: str) -> list[Any]:
    listed = detail.get(name)
    return listed if isinstance(listed, list) else []


def kept_edge(edge: Edge) -> Edge:
    """The part that later lines are compared with."""
    by_epoch = _last(edge.takeovers), _last(edge.seq_max), _last(edge.spans)
    return Edge(edge.file, edge.first, edge.last, *by_epoch, ends_lost=edge.ends_lost, bad_hash=edge.bad_hash)


def _last(by_epoch: Mapping[int, T]) -> dict[int, T]:
    return dict(sorted(by_epoch.items())[-EPOCHS_MAX:])


def kept_trace(trace: TopicTrace) -> Any:
    """The part of the state without a topic."""
    term = trace.term
    if term is not None:
        nothing: dict[str, Any] = {name: {} for name in ("epochs", *_OF_TERM)}
        term = attrs.evolve(term, deleting=set(), commit=ReplayedCommit(), **nothing)
    return trace.rows_lost, trace.begun, trace.losses, term


def restore_trace(trace: TopicTrace, kept: Any) -> None:
    trace.rows_lost, trace.begun, trace.losses, trace.term = kept
    if trace.term is not None:
        trace.term.epochs = trace.epochs


def kept_topics(trace: TopicTrace, names: Iterable[str]) -> dict[str, bytes | None]:
    """The state of each topic; None if nothing is known of it."""
    tables: dict[str, Mapping[Any, Any]] = {"epochs": trace.epochs, "statuses": trace.statuses.now}
    if (term := trace.term) is not None:
        tables |= {name: getattr(term, name) for name in _OF_TERM}
        tables["deleting"] = dict.fromkeys(term.deleting)
    parts: dict[str, dict[str, dict[Any, Any]]] = {name: {} for name in names}
    for table, values in tables.items():
        for key, value in values.items():  # a key is a topic, or a tuple that begins with one
            topic = key if isinstance(key, str) else key[0]
            parts.setdefault(topic, {}).setdefault(table, {})[key] = value
    at = trace.begun, trace.losses
    return {name: pickle.dumps((at, part)) if part else None for name, part in parts.items()}


def restore_topic(trace: TopicTrace, kept: bytes) -> None:
    """Restore what was known of a topic, as far as it is still valid."""
    (begun, losses), part = values_of(kept)
    trace.epochs.update(part.get("epochs", {}))
    if losses != trace.losses:
        return
    trace.statuses.now.update(part.get("statuses", {}))
    if (term := trace.term) is None or begun != trace.begun:
        return
    for name in _OF_TERM:
        getattr(term, name).update(part.get(name, {}))
    term.deleting.update(part.get("deleting", ()))
