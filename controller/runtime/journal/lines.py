"""A table keyed by record type: how a record is journalled, as the text of a line from `"event"` on.

* Values are those after the record; a field that does not apply is left out. Ids of brokers are lists of ints.
* Sensitive configs have HIDDEN in the place of their values (`kedge.controller.model.sensitive_configs`).
* `cause` is the record's own if it has one, otherwise the decision's. `detail` is an object; its members depend on the
  event.
* Every record type but PartitionChanged is in the table or in NOT_JOURNALLED (a test checks this). Any other type is
  skipped: a journal must not stop the controller.
"""

# ruff: noqa: ARG001 - the functions of the table take the same arguments

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

from ...codec.keys import REASSIGN_PARTITIONS
from ...model import records as r
from ...model.sensitive_configs import shown
from ...model.values import BROKERS, TOPICS, Partition
from .pieces import dump, ids, lists, moves, replica, topic, values, why


@attrs.frozen
class Decided:
    """The records of one Decision, and what they do not contain: its cause, its request, and how many bytes the move
    that ends here copied (None: unknown)."""

    records: Sequence[r.Record]
    cause: str | None = None
    request: str | None = None
    bytes_copied: int | None = None


@attrs.frozen
class LineContext:
    """What rows need from their commit. `topic_id`: of a topic by its name, None if it no longer exists."""

    ts_ms: int
    partition_epoch: Callable[[Partition], int]
    topic_id: Callable[[str], str | None]


Row: TypeAlias = Callable[[str, Any, Decided, LineContext], str]

_WITH_DEADLINE: Final = ("TargetSet", "TargetReplaced")


# --- partitions


def _steps(record: r.PartitionChanged, decided: Decided, commit: LineContext) -> Iterator[str]:
    """A line for each step of the change."""
    for step in record.steps():
        after, detail = step.after, ""
        # A row without a move may be the one that ends it: it has the origin of the move.
        move = after.move or step.before.move
        origin = None if move is None else move.origin
        now = values(after, commit.topic_id(after.topic), commit.partition_epoch(after), origin)
        cause = decided.cause if step.cause is None else step.cause
        if step.event == "TargetCleared":
            detail = _ended(step, decided, commit)
        elif step.event in _WITH_DEADLINE and move is not None and move.deadline_ms is not None:
            detail = f',"detail":{{"deadline_ms":{move.deadline_ms}}}'
        yield f'"event":"{step.event}",{now}{why(cause, decided.request)}{detail}'


def _ended(step: r.Step, decided: Decided, commit: LineContext) -> str:
    move = step.before.move
    started_ms = commit.ts_ms if move is None else move.started_ms
    copied = "" if decided.bytes_copied is None else f'"bytes_copied":{decided.bytes_copied},'
    # Another controller, whose clock was ahead of this one's, may have started the move.
    return f',"detail":{{{copied}"duration_ms":{max(0, commit.ts_ms - started_ms)}}}'


# --- topics and keys


def _topic_row(event: str, named: str, decided: Decided, detail: str = "") -> str:
    said = f',"detail":{{{detail}}}' if detail else ""
    return f'"event":"{event}",{named}{why(decided.cause, decided.request)}{said}'


def _created(event: str, record: r.TopicCreated, decided: Decided, commit: LineContext) -> str:
    detail = f'"assignments":{lists(record.assignments)},"configs":{dump(shown(TOPICS, record.configs))}'
    return _topic_row(event, topic(record.topic.name, record.topic.topic_id), decided, detail)


def _added(event: str, record: r.PartitionsAdded, decided: Decided, commit: LineContext) -> str:
    detail = f'"first":{record.first},"assignments":{lists(record.assignments)}'
    return _topic_row(event, topic(record.topic.name, record.topic.topic_id), decided, detail)


def _found(event: str, record: r.TopicFound, decided: Decided, commit: LineContext) -> str:
    """A foreign topic: R of each partition, and its running moves."""
    replicas = lists(p.replicas for p in record.partitions)
    moving = [p for p in record.partitions if p.move is not None]
    epochs = {p.partition: at for p, at in zip(record.partitions, record.versions.generations, strict=True)}
    in_flight = moves(moving, lambda _: record.topic.topic_id, lambda p: epochs[p.partition])
    configs = dump(shown(TOPICS, record.configs))
    detail = f'"what":"topic found","assignments":{replicas},"configs":{configs},"moves":{in_flight}'
    return _topic_row(event, topic(record.topic.name, record.topic.topic_id), decided, detail)


def _changed(event: str, record: r.TopicChanged, decided: Decided, commit: LineContext) -> str:
    """Our own change is a key written again, not another program's change."""
    event = "KeysRewritten" if record.ours else event
    return _topic_row(event, topic(record.after.name, record.after.topic_id), attrs.evolve(decided, cause=record.cause))


def _deletion(
    event: str, record: r.TopicDeletionStarted | r.TopicDeleted, decided: Decided, commit: LineContext
) -> str:
    return _topic_row(event, topic(record.topic.name, record.topic.topic_id), decided)


def _refused(event: str, record: r.DeletionRefused, decided: Decided, commit: LineContext) -> str:
    detail = f'"what":{dump(f"/admin/delete_topics: {record.detail}; removed")}'
    return _topic_row(event, topic(record.topic, None), decided, detail)


def _reduction_refused(event: str, record: r.ReductionRefused, decided: Decided, commit: LineContext) -> str:
    detail = f'"what":{dump(f"/admin/delete_topic_partitions: {record.detail}; removed")}'
    return _topic_row(event, topic(record.topic, commit.topic_id(record.topic)), decided, detail)


def _purged(event: str, record: r.PartitionPurged, decided: Decided, commit: LineContext) -> str:
    """The partition before its purge; as a key it has no epoch any more."""
    before = record.before
    now = f'{topic(before.topic, commit.topic_id(before.topic))},"partition":{before.partition}'
    return f'"event":"{event}",{now},"leader_epoch":{before.leader_epoch}{why(decided.cause, decided.request)}'


def _rewritten(event: str, record: r.KeysRewritten, decided: Decided, commit: LineContext) -> str:
    return _topic_row(event, topic(record.topic, commit.topic_id(record.topic)), decided)


def _key(record: r.ForeignChange | r.BadKey, decided: Decided, commit: LineContext) -> str:
    """The key, a partition's or a topic's, and the cause."""
    named = topic(record.topic, commit.topic_id(record.topic))
    of = "" if record.partition is None else f',"partition":{record.partition}'
    return f"{named}{of}{why(decided.cause, decided.request)}"


def _foreign(event: str, record: r.ForeignChange, decided: Decided, commit: LineContext) -> str:
    return f'"event":"{event}",{_key(record, decided, commit)},"detail":{dump({"what": record.detail})}'


def _bad(event: str, record: r.BadKey, decided: Decided, commit: LineContext) -> str:
    said = {"problem": record.problem} if record.problem is not None else {"mended": record.before}
    return f'"event":"{event}",{_key(record, decided, commit)},"detail":{dump(said)}'


# --- brokers and intents


def _registered(event: str, record: r.BrokerRegistered, decided: Decided, commit: LineContext) -> str:
    said = record.broker.registration
    facts = {"broker_epoch": record.broker.epoch, "host": said.host, "port": said.port}
    detail = dump(facts if said.rack is None else {**facts, "rack": said.rack})
    return f'"event":"{event}","broker":{said.broker_id}{why(decided.cause, decided.request)},"detail":{detail}'


def _forgotten(event: str, record: r.BrokerForgotten, decided: Decided, commit: LineContext) -> str:
    return f'"event":"{event}","broker":{record.broker_id}{why(decided.cause, decided.request)}'


def _left(event: str, record: r.BrokerLeft, decided: Decided, commit: LineContext) -> str:
    detail = f'{{"broker_epoch":{record.broker.epoch}}}'
    reason = why(decided.cause, decided.request)
    return f'"event":"{event}","broker":{record.broker.broker_id}{reason},"detail":{detail}'


def _intent(event: str, record: r.DeleteIntended | r.ReplicaDeleted, decided: Decided, commit: LineContext) -> str:
    return f'"event":"{event}",{replica(record.intent)}{why(decided.cause, decided.request)}'


def _dropped(event: str, record: r.IntentDropped, decided: Decided, commit: LineContext) -> str:
    return f'"event":"{event}",{replica(record.intent)}{why(record.cause, decided.request)}'


# --- the legacy key


def _submitted(event: str, record: r.LegacySubmitted, decided: Decided, commit: LineContext) -> str:
    return _legacy_row(event, decided, f'"entries":{len(record.after.entries)}')


def _legacy_row(event: str, decided: Decided, detail: str) -> str:
    return f'"event":"{event}"{why(decided.cause, decided.request)},"detail":{{"key":"{REASSIGN_PARTITIONS}",{detail}}}'


def _entry_removed(event: str, record: r.LegacyEntryRemoved, decided: Decided, commit: LineContext) -> str:
    entry = record.entry
    named = f'{topic(entry.topic, commit.topic_id(entry.topic))},"partition":{entry.partition}'
    reason = "" if record.reason is None else f',"detail":{dump({"reason": record.reason})}'
    return f'"event":"{event}",{named},"target":{ids(entry.target)}{why(record.cause, decided.request)}{reason}'


def _key_removed(event: str, record: r.LegacyKeyRemoved, decided: Decided, commit: LineContext) -> str:
    return f'"event":"{event}"{why(decided.cause, decided.request)}'


def _legacy_changed(event: str, record: r.LegacyKeyChanged, decided: Decided, commit: LineContext) -> str:
    return _legacy_row(event, decided, f'"what":{dump(record.detail)}')


def _legacy_broken(event: str, record: r.LegacyKeyBroken, decided: Decided, commit: LineContext) -> str:
    problem = record.after.problem
    said = f'"mended":{dump(record.before.problem)}' if problem is None else f'"problem":{dump(problem)}'
    return _legacy_row(event, decided, said)


# --- keys of others


def _config(event: str, record: r.ConfigChanged, decided: Decided, commit: LineContext) -> str:
    detail = f'"configs":{dump(shown(TOPICS, record.after))},"was":{dump(shown(TOPICS, record.before))}'
    return _topic_row(event, topic(record.topic, commit.topic_id(record.topic)), decided, detail)


def _broker_config(event: str, record: r.BrokerConfigChanged, decided: Decided, commit: LineContext) -> str:
    configs, was = shown(BROKERS, record.after), shown(BROKERS, record.before)
    detail = {"entity": f"brokers/{record.name}", "configs": configs, "was": was}
    return f'"event":"{event}"{why(decided.cause, decided.request)},"detail":{dump(detail)}'


def _altered(event: str, record: r.ConfigsAltered, decided: Decided, commit: LineContext) -> str:
    of, name = record.entity, record.entity.name
    named = f",{topic(name, commit.topic_id(name))}" if of.kind == TOPICS else ""
    configs, was = shown(of.kind, record.after), shown(of.kind, record.before)
    detail = {"entity": f"{of.kind}/{name}", "configs": configs, "was": was}
    return f'"event":"{event}"{named}{why(record.cause or decided.cause, decided.request)},"detail":{dump(detail)}'


def _throttle(event: str, record: r.ThrottleChanged, decided: Decided, commit: LineContext) -> str:
    """As other configs, but only those that changed. Empty where only the mark changed."""
    before, after = record.before, record.after
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    changed = attrs.evolve(
        record, before={n: before[n] for n in names if n in before}, after={n: after[n] for n in names if n in after}
    )
    return _altered(record.event, changed, decided, commit) if record.event else ""


def _plan_written(event: str, record: r.LegacyPlanWritten, decided: Decided, commit: LineContext) -> str:
    return _legacy_row(event, decided, f'"entries":{len(record.entries)}')


def _notification(event: str, record: r.NotificationWorkedOff, decided: Decided, commit: LineContext) -> str:
    """A notification was processed; one that could not be read is a bad key."""
    said: dict[str, object] = {"removed": record.key}
    if record.notes:
        said["passed_over"] = list(record.notes)
    if record.problem is not None:
        event, said = "BadKey", {**said, "problem": record.problem}
    return f'"event":"{event}"{why(decided.cause, decided.request)},"detail":{dump(said)}'


TABLE: Final[dict[type[r.Record], tuple[str, Row]]] = {
    r.PartitionPurged: ("PartitionPurged", _purged),
    r.ReductionRefused: ("ForeignChange", _reduction_refused),
    r.TopicCreated: ("TopicCreated", _created),
    r.PartitionsAdded: ("PartitionsAdded", _added),
    r.TopicDeletionStarted: ("TopicDeletionStarted", _deletion),
    r.TopicDeleted: ("TopicDeleted", _deletion),
    r.DeletionRefused: ("ForeignChange", _refused),
    r.BrokerForgotten: ("BrokerForgotten", _forgotten),
    r.TopicFound: ("ForeignChange", _found),
    r.TopicChanged: ("ForeignChange", _changed),
    r.KeysRewritten: ("KeysRewritten", _rewritten),
    r.BrokerRegistered: ("BrokerRegistered", _registered),
    r.BrokerLeft: ("BrokerLeft", _left),
    r.DeleteIntended: ("DeleteIntended", _intent),
    r.ReplicaDeleted: ("ReplicaDeleted", _intent),
    r.IntentDropped: ("IntentDropped", _dropped),
    r.ForeignChange: ("ForeignChange", _foreign),
    r.BadKey: ("BadKey", _bad),
    r.LegacySubmitted: ("LegacySubmitted", _submitted),
    r.LegacyEntryRemoved: ("LegacyEntryRemoved", _entry_removed),
    r.LegacyKeyRemoved: ("LegacyKeyRemoved", _key_removed),
    r.LegacyKeyChanged: ("ForeignChange", _legacy_changed),
    r.LegacyKeyBroken: ("BadKey", _legacy_broken),
    r.ConfigChanged: ("ConfigChanged", _config),
    r.BrokerConfigChanged: ("ConfigChanged", _broker_config),
    r.ConfigsAltered: ("ConfigChanged", _altered),
    r.ThrottleChanged: ("ThrottleSet", _throttle),
    r.LegacyPlanWritten: ("LegacySubmitted", _plan_written),
    r.NotificationWorkedOff: ("KeysRewritten", _notification),
}

EVENTS: Final = frozenset(
    {name for name, _ in TABLE.values()}
    | {*r.STEPS, "ThrottleRemoved", "ThrottleRestored"}
    | {"Takeover", "Resigned", "Conflict", "Gap"}
)
"""All events of lines: those of records, and those without one (`unrecorded`)."""

NOT_JOURNALLED: Final = frozenset(
    {
        r.ChangePurged,
        r.DeathWorkedOff,
        r.DeletionKeyLost,
        r.DiskGone,
        r.ReductionChanged,
        r.IntentsKeyEmptied,
        r.KeyAdopted,
        r.StateKeyAdopted,
        r.RegistrationKnown,
        r.RegistrationUnread,
        r.LegacyKeyRewritten,
        r.BrokerShutsDown,
        r.BrokerAskedAgain,
        r.ThrottlePlanRuns,
        r.ThrottlesEnded,
    }
)
"""Bookkeeping of the loop. DiskGone and BrokerShutsDown are reports of brokers, kept in memory only: their consequences
have rows."""


def rows_of(decided: Iterable[Decided], commit: LineContext) -> list[str]:
    """A text per row of a commit, in the order of the records. Records without any row give one KeysRewritten, so that
    a missing seq means that nothing happened or lines were lost."""
    texts: list[str] = []
    first: Decided | None = None
    for one in decided:
        first = one if first is None and one.records else first
        for record in one.records:
            if type(record) is r.PartitionChanged:
                texts += _steps(record, one, commit)
                continue
            entry = TABLE.get(type(record))
            if entry is not None and (text := entry[1](entry[0], record, one, commit)):
                texts.append(text)
    if not texts and first is not None:
        texts.append(f'"event":"KeysRewritten"{why(first.cause, first.request)}')
    return texts
