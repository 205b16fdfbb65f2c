"""Records, dirty keys and replies as the lines of a transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from kedge.controller import records as r
from kedge.controller.model.errors import ApiError
from kedge.controller.model.events import Event
from kedge.controller.model.legacy import LegacyKey
from kedge.controller.model.records import Record
from kedge.controller.model.reductions import Retirements
from kedge.controller.model.requests import CreatedTopic, ReassignmentAnswer
from kedge.controller.model.throttles import ConfigMark, OwnerMark
from kedge.controller.model.values import ConfigEntity, DeleteIntent, Partition, Topic
from kedge.controller.state import ClusterState
from tests.rules.world import Ran

_LEFT_OUT = ("before", "configs", "versions", "found", "is_rewritten")


def lines(state: ClusterState, ran: Ran) -> Iterator[str]:
    """What one command left, line by line; `nothing` where it left nothing."""
    told = [line for record in ran.records for line in _record(record)]
    if ran.batch.dirty_keys:
        told.append("dirty: " + ", ".join(_dirty_key(state, kind, of) for kind, of in ran.batch.dirty_keys))
    if late := [topic for topic in ran.batch.late_topics if ("topic", topic) not in ran.batch.dirty_keys]:
        told.append("late: " + ", ".join(f"topic {topic}" for topic in late))
    if ran.reply is not None:
        told.append("-> " + _reply(ran.reply))
    return iter(told or ["nothing"])


def following(event: Event) -> str:
    """`PartitionDue t 0 partition due`: an event by its plain values."""
    values = attrs.asdict(event, recurse=False, filter=lambda field, _: field.name != "now_ms").values()
    return " ".join([type(event).__name__, *(str(one) for one in values if isinstance(one, str | int))])


def describe(p: Partition) -> str:
    """`R [1,2] I [1,2] T [3] leader 1 epoch 4`, and what is not as usual."""
    words = [f"R {_ids(p.replicas)} I {_ids(p.isr)} T {_ids(p.target_replicas) if p.move else '-'}"]
    words.append(f"leader {p.leader} epoch {p.leader_epoch}")
    if p.move and p.move.deadline_ms is not None:
        words.append(f"deadline {p.move.deadline_ms}")
    if p.status_code:
        words.append(f"status {p.status_code}")
    if p.leader_recovery_state:
        words.append("recovering")
    if p.extra:
        words.append(f"extra {dict(p.extra)}")
    return " ".join(words)


def _ids(ids: tuple[int, ...] | None) -> str:
    return "[" + ",".join(map(str, ids or ())) + "]"


def _record(record: Record) -> Iterator[str]:
    """A line; of a partition, one for each step of its change."""
    if not isinstance(record, r.PartitionChanged):
        yield _other(record)
        return
    steps = list(record.steps())
    for step in steps:
        cause = f" ({step.cause})" if step.cause else ""
        yield f"{step.event} {step.after.tp} {describe(step.after)}{cause}"
    if not steps or steps[-1].after != record.after:
        yield f"PartitionChanged {record.after.tp} {describe(record.after)}"


def _other(record: Record) -> str:
    name = type(record).__name__
    if isinstance(record, (r.DeleteIntended, r.ReplicaDeleted, r.IntentDropped)):
        cause = f" ({record.cause})" if isinstance(record, r.IntentDropped) else ""
        return f"{name} {_intent(record.intent)}{cause}"
    if isinstance(record, (r.BrokerRegistered, r.BrokerLeft)):
        rack = f" rack {record.broker.rack}" if record.broker.rack else ""
        return f"{name} {record.broker.broker_id} epoch {record.broker.epoch}{rack}"
    if isinstance(record, r.LegacyEntryRemoved):
        entry, reason = record.entry, f": {record.reason}" if record.reason else ""
        return f"{name} {entry.topic}-{entry.partition} {_ids(entry.target)} ({record.cause}{reason})"
    if isinstance(record, (r.LegacySubmitted, r.LegacyKeyBroken, r.LegacyKeyChanged)):
        detail = f" ({record.detail})" if isinstance(record, r.LegacyKeyChanged) else ""
        return f"{name} {record.after.problem or _plan(record.after)}{detail}"
    if isinstance(record, r.KeyAdopted):
        return f"{name} {record.at.path} version {record.at.version}"
    if isinstance(record, r.StateKeyAdopted):
        return f"{name} {record.topic} {record.partition} version {record.at.version}"
    if (said := _reduction(name, record) or _throttle(name, record)) is not None:
        return said
    values = attrs.asdict(record, recurse=False)
    return " ".join([name, *(_value(value) for field, value in values.items() if field not in _LEFT_OUT)])


def _reduction(name: str, record: Record) -> str | None:
    if isinstance(record, r.ReductionChanged):
        gone = f" gone {list(record.gone)}" if record.gone else ""
        return f"{name} {record.topic} {_entries(record.after)}{gone}"
    if isinstance(record, r.PartitionPurged):
        return f"{name} {record.before.tp} epoch {record.before.leader_epoch}"
    return None


def _entries(entries: Retirements) -> str:
    told = (f"{p}:{one.timestamp_ms}{':now' if one.immediate else ''}" for p, one in sorted(entries.items()))
    return " ".join(told) or "nothing"


def _throttle(name: str, record: Record) -> str | None:
    if isinstance(record, r.ConfigsAltered):
        names = [n for n in {**record.before, **record.after} if record.before.get(n) != record.after.get(n)]
        said = " ".join(f"{n}={record.after.get(n, '-')}" for n in names)
        if isinstance(record, r.ThrottleChanged):
            cause = f" ({record.cause})" if record.cause else ""
            what = f"{said}{cause} | {_owner_mark(record.mark_after)}".strip()
            return f"{record.event or 'Marked'} {record.entity.kind} {record.entity.name} {what}"
        return f"{name} {record.entity.kind} {record.entity.name} {said} ({record.cause})"
    if isinstance(record, r.ThrottlePlanRuns):
        return f"{name} {'is over' if record.is_over else 'begins'}"
    return None


def _owner_mark(mark: OwnerMark | None) -> str:
    """What is marked of an owner now, by config."""
    if mark is None:
        return "no mark"
    flags = [word for word, is_so in (("replaced", mark.is_replaced), ("ended", mark.is_ended)) if is_so]
    configs = ("everything",) if mark.configs is None else (f"{n} {_config(c)}" for n, c in mark.configs.items())
    return "; ".join([*flags, *configs]) or "nothing of it"


def _config(mark: ConfigMark) -> str:
    values = {"was": mark.previous, "ours": "|".join(mark.ours), "stays": "|".join(mark.stays)}
    wanted = [] if mark.wanted is None else [f"wanted {'|'.join(mark.wanted) or 'nothing'}"]
    return ", ".join([*(f"{name} {value}" for name, value in values.items() if value), *wanted])


def _plan(key: LegacyKey) -> str:
    return " ".join(f"{e.topic}-{e.partition}:{_ids(e.target)}" for e in key.entries) or "nothing"


def _value(value: object) -> str:
    if isinstance(value, Topic):
        extra = f" extra {dict(value.extra)}" if value.extra else ""
        retired = f" retired {dict(value.retired_epochs)}" if value.retired_epochs else ""
        moves = f" moves of Kafka's {list(value.kafka_moves)}" if value.kafka_moves else ""
        return f"{value.name} {value.topic_id or 'without id'}{retired}{moves}{extra}"
    if isinstance(value, tuple):
        return " ".join(describe(one) if isinstance(one, Partition) else _one(one) for one in value)
    return str(value)


def _one(value: object) -> str:
    return _ids(value) if isinstance(value, tuple) else f"({value})"


def _intent(intent: DeleteIntent) -> str:
    return f"{intent.topic}-{intent.partition} on {intent.broker} epoch {intent.leader_epoch}"


def _dirty_key(state: ClusterState, kind: str, of: object) -> str:
    if kind == "state" and isinstance(of, int):
        row = state.rows[of]
        return f"state {row.tp if row else of}"
    if isinstance(of, ConfigEntity):
        return f"{kind} {of.kind} {of.name}"
    return f"{kind} {'/'.join(map(str, of)) if isinstance(of, tuple) else of}"


def _reply(reply: object) -> str:
    if isinstance(reply, ApiError):
        return f"{reply.code.name} {reply.code.value}: {reply.message}"
    if isinstance(reply, ReassignmentAnswer):
        target = "-" if reply.target_replicas is None else _ids(reply.target_replicas)
        return f"R {_ids(reply.replicas)} T {target} origin {_ids(reply.origin)}"
    if isinstance(reply, CreatedTopic):
        return f"{reply.name} {reply.topic_id} " + " ".join(_ids(replicas) for replicas in reply.assignments)
    if isinstance(reply, tuple):
        return "still leads " + (" ".join(map(str, reply)) or "nothing")
    if isinstance(reply, Mapping):
        return "; ".join(f"{name} {'started' if error is None else _reply(error)}" for name, error in reply.items())
    return repr(reply)
