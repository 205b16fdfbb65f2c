"""Brokers come and go; what they have to delete."""

from __future__ import annotations

import attrs

from controller.model.records.base import Record
from controller.model.values import Broker, DeleteIntent


@attrs.frozen(weakref_slot=False)
class BrokerForgotten(Record):
    """A broker will never come back: nothing is left that waits for it. Its key under /kedge/brokers goes, in a commit
    that holds that it is not registered."""

    broker_id: int


@attrs.frozen(weakref_slot=False)
class BrokerRegistered(Record):
    """A broker was admitted, or its endpoints or rack changed. `before`: what it was, None if it was not live."""

    broker: Broker
    before: Broker | None = None


@attrs.frozen(weakref_slot=False)
class BrokerLeft(Record):
    """A live broker's registration ended; its death is worked off partition by partition until DeathWorkedOff."""

    broker: Broker


@attrs.frozen(weakref_slot=False)
class BrokerShutsDown(Record):
    """A live broker is about to leave: nothing new is given to it. Kept in memory only; gone with its registration."""

    broker_id: int
    epoch: int


@attrs.frozen(weakref_slot=False)
class DeathWorkedOff(Record):
    """Every partition of a dead broker was looked at: it may come again. Not in the journal."""

    broker_id: int
    epoch: int


@attrs.frozen(weakref_slot=False)
class RegistrationUnread(Record):
    """A broker that is not live is registered, and its registration cannot be read. `epoch`: its `created`, None where
    not even that can be read. Kept in memory only."""

    broker_id: int
    epoch: int | None


@attrs.frozen(weakref_slot=False)
class RegistrationKnown(Record):
    """It is known what became of the registration of such a broker. `epoch`: as in RegistrationUnread. `died`: the
    epoch whose death is to be worked off, None where it is the broker that it was."""

    broker_id: int
    epoch: int | None
    died: int | None


@attrs.frozen(weakref_slot=False)
class DiskGone(Record):
    """A broker reported the disk of a partition as gone, or back again. Kept in memory only."""

    topic: str
    partition: int
    broker: int
    gone: bool


@attrs.frozen(weakref_slot=False)
class DeleteIntended(Record):
    """A removed replica must be deleted on its broker; durable in the same commit."""

    intent: DeleteIntent


@attrs.frozen(weakref_slot=False)
class ReplicaDeleted(Record):
    """The broker acknowledged the deletion."""

    intent: DeleteIntent


@attrs.frozen(weakref_slot=False)
class IntentDropped(Record):
    """An intent became void: its broker is a member of the partition again; or its broker is being `forgotten`, which
    holds only as long as it is not registered."""

    intent: DeleteIntent
    cause: str
    forgotten: bool = False


@attrs.frozen(weakref_slot=False)
class IntentsKeyEmptied(Record):
    """Nothing in a key of intents is open (any more): it goes. Not in the journal."""

    broker: int
    seq: int


@attrs.frozen(weakref_slot=False)
class BrokerAskedAgain(Record):
    """A broker says that something happened to its disks: it is told all its partitions again, and answers for those
    that are gone. Not in the journal."""

    broker_id: int
