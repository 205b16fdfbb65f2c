"""Brokers: admitted, gone, forgotten, their disks, and what they have to delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.model import records as r
from controller.state.batch import Mark
from controller.state.cluster import ClusterState
from controller.state.intents import KeyId
from controller.state.tables.kinds import Table, no_keys, nothing, undo_nothing


def _register(state: ClusterState, record: r.BrokerRegistered) -> list[int]:
    broker_id = record.broker.broker_id
    state.brokers[broker_id] = record.broker
    return [] if record.before is not None else _disks_back(state, broker_id)


def _disks_back(state: ClusterState, broker: int) -> list[int]:
    """A broker that comes anew has told nothing of its disks yet."""
    numbers = state.disks_gone(broker)
    for number in numbers:
        state.set_disk(number, broker, gone=False)
    return numbers


def _unregister(state: ClusterState, record: r.BrokerRegistered, disks: object) -> None:
    assert isinstance(disks, list)
    if record.before is None:
        del state.brokers[record.broker.broker_id]
    else:
        state.brokers[record.broker.broker_id] = record.before
    for number in disks:
        state.set_disk(number, record.broker.broker_id, gone=True)


def _admitted_key(state: ClusterState, record: r.BrokerRegistered, token: object) -> list[Mark]:
    fresh = state.admitted_epoch(record.broker.broker_id) != record.broker.epoch
    return [("admitted", record.broker.broker_id)] if fresh else []


def _leave(state: ClusterState, record: r.BrokerLeft) -> int | None:
    del state.brokers[record.broker.broker_id]
    state.dying[record.broker.broker_id] = record.broker.epoch
    return state.shutting_down.pop(record.broker.broker_id, None)


def _unleave(state: ClusterState, record: r.BrokerLeft, token: object) -> None:
    del state.dying[record.broker.broker_id]
    state.brokers[record.broker.broker_id] = record.broker
    if isinstance(token, int):
        state.shutting_down[record.broker.broker_id] = token


def _shut_down(state: ClusterState, record: r.BrokerShutsDown) -> None:
    state.shutting_down[record.broker_id] = record.epoch


def _unshut(state: ClusterState, record: r.BrokerShutsDown, token: object) -> None:
    del state.shutting_down[record.broker_id]


def _death_over(state: ClusterState, record: r.DeathWorkedOff) -> None:
    del state.dying[record.broker_id]


def _death_again(state: ClusterState, record: r.DeathWorkedOff, token: object) -> None:
    state.dying[record.broker_id] = record.epoch


def _unread(state: ClusterState, record: r.RegistrationUnread) -> None:
    state.unread[record.broker_id] = record.epoch


def _not_unread(state: ClusterState, record: r.RegistrationUnread, token: object) -> None:
    del state.unread[record.broker_id]


def _know(state: ClusterState, record: r.RegistrationKnown) -> None:
    del state.unread[record.broker_id]
    if record.died is not None:
        state.dying[record.broker_id] = record.died


def _unknow(state: ClusterState, record: r.RegistrationKnown, token: object) -> None:
    state.unread[record.broker_id] = record.epoch
    if record.died is not None:
        del state.dying[record.broker_id]


def _set_disk(state: ClusterState, record: r.DiskGone) -> None:
    number = state.number(record.topic, record.partition)
    assert number is not None
    state.set_disk(number, record.broker, gone=record.gone)


def _unset_disk(state: ClusterState, record: r.DiskGone, token: object) -> None:
    number = state.number(record.topic, record.partition)
    assert number is not None
    state.set_disk(number, record.broker, gone=not record.gone)


# --- intents


def _open(state: ClusterState, record: r.DeleteIntended) -> None:
    state.intents.open(record.intent)


def _unopen(state: ClusterState, record: r.DeleteIntended, token: object) -> None:
    state.intents.unopen(record.intent)


def _intent_key(state: ClusterState, record: r.DeleteIntended, token: object) -> Sequence[Mark]:
    return (("intents", record.intent.broker),)


def _close(state: ClusterState, record: r.ReplicaDeleted | r.IntentDropped) -> object:
    return state.intents.close(record.intent)


def _reopen(state: ClusterState, record: r.ReplicaDeleted | r.IntentDropped, token: object) -> None:
    assert isinstance(token, tuple)
    state.intents.reopen(record.intent, token[0])


def _finished_key(
    state: ClusterState, record: r.ReplicaDeleted | r.IntentDropped, token: tuple[int | None, KeyId | None]
) -> Sequence[Mark]:
    return () if token[1] is None else (("intents done", token[1]),)


def _dropped_keys(
    state: ClusterState, record: r.IntentDropped, token: tuple[int | None, KeyId | None]
) -> Sequence[Mark]:
    marks = _finished_key(state, record, token)
    return [*marks, _unregistered(record.intent.broker)] if record.forgotten else marks


def _forgotten_keys(state: ClusterState, record: r.BrokerForgotten, token: object) -> list[Mark]:
    return [("forgotten", record.broker_id), _unregistered(record.broker_id)]


def _unregistered(broker: int) -> Mark:
    """A broker that came back just now, unseen yet, is waited for as before."""
    return ("unregistered", broker)


def _emptied_key(state: ClusterState, record: r.IntentsKeyEmptied, token: object) -> list[Mark]:
    return [("intents done", (record.broker, record.seq))]


TABLE: Final[Table] = {
    r.BrokerForgotten: (nothing, undo_nothing, _forgotten_keys),
    r.BrokerRegistered: (_register, _unregister, _admitted_key),
    r.BrokerLeft: (_leave, _unleave, no_keys),
    r.BrokerShutsDown: (_shut_down, _unshut, no_keys),
    r.DeathWorkedOff: (_death_over, _death_again, no_keys),
    r.RegistrationUnread: (_unread, _not_unread, no_keys),
    r.RegistrationKnown: (_know, _unknow, no_keys),
    r.DiskGone: (_set_disk, _unset_disk, no_keys),
    r.DeleteIntended: (_open, _unopen, _intent_key),
    r.ReplicaDeleted: (_close, _reopen, _finished_key),
    r.IntentDropped: (_close, _reopen, _dropped_keys),
    r.IntentsKeyEmptied: (nothing, undo_nothing, _emptied_key),
    r.BrokerAskedAgain: (nothing, undo_nothing, no_keys),
}
