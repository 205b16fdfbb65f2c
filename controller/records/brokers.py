"""Records about brokers, their disks, and their delete intents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from ..codec.journal_text import dump, replica
from ..model.records import Record
from ..model.values import Broker, DeleteIntent
from ..state import ClusterState, DirtyKey
from ..state.intents import KeyId
from .line import LineContext
from .publication import Publication


@attrs.define
class BrokerForgotten(Record):
    """A broker will never return, and nothing waits for it. Its key under /kedge/brokers is deleted, in a commit that
    fails if the broker is registered."""

    EVENTS = ("BrokerForgotten",)

    broker_id: int

    def apply(self, state: ClusterState) -> None:
        state.forget_index(self.broker_id)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return ("forgotten", self.broker_id), _unregistered(self.broker_id)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("BrokerForgotten", f'"broker":{self.broker_id}')

    def publish(self, to: Publication, token: object) -> None:
        to.forgotten(self.broker_id)


@attrs.define
class BrokerRegistered(Record):
    """A broker was admitted, or its endpoints or rack changed. `before`: its former registration, None if not live."""

    EVENTS = ("BrokerRegistered",)

    broker: Broker
    before: Broker | None = None

    def apply(self, state: ClusterState) -> None:
        """A newly registered broker has not reported failed disks yet."""
        broker_id = self.broker.broker_id
        state.batch.put(state.brokers, broker_id, self.broker)
        if self.before is None:
            for number in state.disks_gone(broker_id):
                state.set_disk(number, broker_id, gone=False)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        fresh = state.admitted_epoch(self.broker.broker_id) != self.broker.epoch
        return (("admitted", self.broker.broker_id),) if fresh else ()

    def lines(self, context: LineContext) -> Iterable[str]:
        registration = self.broker.registration
        facts = {"broker_epoch": self.broker.epoch, "host": registration.host, "port": registration.port}
        detail = dump(facts if registration.rack is None else {**facts, "rack": registration.rack})
        yield context.line("BrokerRegistered", f'"broker":{registration.broker_id}', detail)

    def publish(self, to: Publication, token: object) -> None:
        to.registered(self.broker)
        to.read_registrations()


@attrs.define
class BrokerLeft(Record):
    """The registration of a live broker ended. Its partitions are decided one by one, until DeathWorkedOff."""

    EVENTS = ("BrokerLeft",)

    broker: Broker

    def apply(self, state: ClusterState) -> None:
        broker_id = self.broker.broker_id
        state.batch.take(state.brokers, broker_id)
        state.batch.put(state.dying, broker_id, self.broker.epoch)
        if broker_id in state.shutting_down:
            state.batch.take(state.shutting_down, broker_id)

    def lines(self, context: LineContext) -> Iterable[str]:
        broker = self.broker
        yield context.line("BrokerLeft", f'"broker":{broker.broker_id}', f'{{"broker_epoch":{broker.epoch}}}')

    def publish(self, to: Publication, token: object) -> None:
        to.left(self.broker.broker_id)
        to.read_registrations()


@attrs.define
class BrokerShutsDown(Record):
    """A live broker is about to leave and gets nothing new. Kept in memory only; ends with its registration. Its
    consequences have lines in the journal."""

    broker_id: int
    epoch: int

    def apply(self, state: ClusterState) -> None:
        state.batch.put(state.shutting_down, self.broker_id, self.epoch)


@attrs.define
class DeathWorkedOff(Record):
    """All partitions of a dead broker were decided: it may register again. Not in the journal."""

    broker_id: int
    epoch: int

    def apply(self, state: ClusterState) -> None:
        state.batch.take(state.dying, self.broker_id)

    def publish(self, to: Publication, token: object) -> None:
        to.read_registrations()


@attrs.define
class RegistrationUnread(Record):
    """A broker that is not live is registered, but its registration cannot be read. `epoch`: the key's `created`. Kept
    in memory only."""

    broker_id: int
    epoch: int

    def apply(self, state: ClusterState) -> None:
        state.batch.put(state.unread, self.broker_id, self.epoch)


@attrs.define
class RegistrationKnown(Record):
    """The registration of such a broker can be read, or is gone. `epoch`: as in RegistrationUnread. `died`: the epoch
    whose partitions must be handled as those of a dead broker; None if the broker is unchanged."""

    broker_id: int
    epoch: int
    died: int | None

    def apply(self, state: ClusterState) -> None:
        state.batch.take(state.unread, self.broker_id)
        if self.died is not None:
            state.batch.put(state.dying, self.broker_id, self.died)


@attrs.define
class DiskGone(Record):
    """A broker reported that its disk for a partition failed, or works again. Kept in memory only; its consequences
    have lines in the journal."""

    topic: str
    partition: int
    broker: int
    gone: bool

    def apply(self, state: ClusterState) -> int:
        """Returns the number of the partition."""
        number = state.number(self.topic, self.partition)
        assert number is not None
        state.set_disk(number, self.broker, gone=self.gone)
        return number

    def publish(self, to: Publication, token: int) -> None:
        to.partition(token, must_obey=False)


@attrs.define
class BrokerAskedAgain(Record):
    """A broker reports a change of its disks: it is sent all its partitions again, and its answer names those that
    failed. Not in the journal."""

    broker_id: int

    def publish(self, to: Publication, token: object) -> None:
        to.ask_again(self.broker_id)


# --- intents


@attrs.define
class DeleteIntended(Record):
    """A removed replica has to be deleted by its broker; durable in the same commit."""

    EVENTS = ("DeleteIntended",)

    intent: DeleteIntent

    def apply(self, state: ClusterState) -> None:
        state.intents.open(self.intent)
        state.batch.undone_by(state.intents.close, self.intent)

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("intents", self.intent.broker),)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("DeleteIntended", replica(self.intent))

    def publish(self, to: Publication, token: object) -> None:
        to.intended(self.intent)


@attrs.define
class ReplicaDeleted(Record):
    EVENTS = ("ReplicaDeleted",)

    intent: DeleteIntent

    def apply(self, state: ClusterState) -> KeyId | None:
        return _close(state, self.intent)

    def dirty(self, state: ClusterState, token: KeyId | None) -> Sequence[DirtyKey]:
        return _emptied(token)

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("ReplicaDeleted", replica(self.intent))

    def publish(self, to: Publication, token: object) -> None:
        to.forget_reports(self.intent.topic, self.intent.partition, (self.intent.broker,))


@attrs.define
class IntentDropped(Record):
    """An intent became void, since its broker is a member of the partition again, or is being `forgotten`. The latter
    commits only if the broker is not registered."""

    EVENTS = ("IntentDropped",)

    intent: DeleteIntent
    cause: str
    forgotten: bool = False

    def apply(self, state: ClusterState) -> KeyId | None:
        return _close(state, self.intent)

    def dirty(self, state: ClusterState, token: KeyId | None) -> Sequence[DirtyKey]:
        emptied = _emptied(token)
        return (*emptied, _unregistered(self.intent.broker)) if self.forgotten else emptied

    def lines(self, context: LineContext) -> Iterable[str]:
        yield context.line("IntentDropped", replica(self.intent), cause=self.cause)

    def publish(self, to: Publication, token: object) -> None:
        if self.forgotten:
            to.forget_reports(self.intent.topic, self.intent.partition, (self.intent.broker,))


@attrs.define
class IntentsKeyEmptied(Record):
    """A key of intents has no open intent: it is deleted. Not in the journal."""

    broker: int
    seq: int

    def dirty(self, state: ClusterState, token: object) -> Sequence[DirtyKey]:
        return (("intents done", (self.broker, self.seq)),)


def _close(state: ClusterState, intent: DeleteIntent) -> KeyId | None:
    """Returns the key of the intent if it has no open intent any more."""
    seq, finished = state.intents.close(intent)
    state.batch.undone_by(state.intents.reopen, intent, seq)
    return finished


def _emptied(key: KeyId | None) -> tuple[DirtyKey, ...]:
    return () if key is None else (("intents done", key),)


def _unregistered(broker: int) -> DirtyKey:
    """If the broker has just registered again, unseen, its intents stay."""
    return ("unregistered", broker)
