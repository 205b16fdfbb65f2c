"""Records about brokers, their disks, and their delete intents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...model import records as r
from ..batch import DirtyKey
from ..cluster import ClusterState
from ..intents import KeyId
from .kinds import Table, no_keys, nothing


def _register(state: ClusterState, record: r.BrokerRegistered) -> None:
    """A newly registered broker has not reported failed disks yet."""
    broker_id = record.broker.broker_id
    state.batch.put(state.brokers, broker_id, record.broker)
    if record.before is None:
        for number in state.disks_gone(broker_id):
            state.set_disk(number, broker_id, gone=False)


def _admitted_key(state: ClusterState, record: r.BrokerRegistered, token: object) -> list[DirtyKey]:
    fresh = state.admitted_epoch(record.broker.broker_id) != record.broker.epoch
    return [("admitted", record.broker.broker_id)] if fresh else []


def _leave(state: ClusterState, record: r.BrokerLeft) -> None:
    broker_id = record.broker.broker_id
    state.batch.take(state.brokers, broker_id)
    state.batch.put(state.dying, broker_id, record.broker.epoch)
    if broker_id in state.shutting_down:
        state.batch.take(state.shutting_down, broker_id)


def _shut_down(state: ClusterState, record: r.BrokerShutsDown) -> None:
    state.batch.put(state.shutting_down, record.broker_id, record.epoch)


def _death_over(state: ClusterState, record: r.DeathWorkedOff) -> None:
    state.batch.take(state.dying, record.broker_id)


def _unread(state: ClusterState, record: r.RegistrationUnread) -> None:
    state.batch.put(state.unread, record.broker_id, record.epoch)


def _know(state: ClusterState, record: r.RegistrationKnown) -> None:
    state.batch.take(state.unread, record.broker_id)
    if record.died is not None:
        state.batch.put(state.dying, record.broker_id, record.died)


def _set_disk(state: ClusterState, record: r.DiskGone) -> None:
    number = state.number(record.topic, record.partition)
    assert number is not None
    state.set_disk(number, record.broker, gone=record.gone)


# --- intents


def _open(state: ClusterState, record: r.DeleteIntended) -> None:
    state.intents.open(record.intent)
    state.batch.undone_by(state.intents.close, record.intent)


def _intent_key(state: ClusterState, record: r.DeleteIntended, token: object) -> Sequence[DirtyKey]:
    return (("intents", record.intent.broker),)


def _close(state: ClusterState, record: r.ReplicaDeleted | r.IntentDropped) -> KeyId | None:
    """Returns the key if it has no open intent any more."""
    seq, finished = state.intents.close(record.intent)
    state.batch.undone_by(state.intents.reopen, record.intent, seq)
    return finished


def _finished_key(
    state: ClusterState, record: r.ReplicaDeleted | r.IntentDropped, finished: KeyId | None
) -> Sequence[DirtyKey]:
    return () if finished is None else (("intents done", finished),)


def _dropped_keys(state: ClusterState, record: r.IntentDropped, finished: KeyId | None) -> Sequence[DirtyKey]:
    dirty_keys = _finished_key(state, record, finished)
    return [*dirty_keys, _unregistered(record.intent.broker)] if record.forgotten else dirty_keys


def _forget(state: ClusterState, record: r.BrokerForgotten) -> None:
    state.forget_index(record.broker_id)


def _forgotten_keys(state: ClusterState, record: r.BrokerForgotten, token: object) -> list[DirtyKey]:
    return [("forgotten", record.broker_id), _unregistered(record.broker_id)]


def _unregistered(broker: int) -> DirtyKey:
    """If the broker has just registered again, unseen, its intents stay."""
    return ("unregistered", broker)


def _emptied_key(state: ClusterState, record: r.IntentsKeyEmptied, token: object) -> list[DirtyKey]:
    return [("intents done", (record.broker, record.seq))]


TABLE: Final[Table] = {
    r.BrokerForgotten: (_forget, _forgotten_keys),
    r.BrokerRegistered: (_register, _admitted_key),
    r.BrokerLeft: (_leave, no_keys),
    r.BrokerShutsDown: (_shut_down, no_keys),
    r.DeathWorkedOff: (_death_over, no_keys),
    r.RegistrationUnread: (_unread, no_keys),
    r.RegistrationKnown: (_know, no_keys),
    r.DiskGone: (_set_disk, no_keys),
    r.DeleteIntended: (_open, _intent_key),
    r.ReplicaDeleted: (_close, _finished_key),
    r.IntentDropped: (_close, _dropped_keys),
    r.IntentsKeyEmptied: (nothing, _emptied_key),
    r.BrokerAskedAgain: (nothing, no_keys),
}
