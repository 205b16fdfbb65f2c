"""Brokers come and go; what they have to delete."""

from __future__ import annotations

from controller.model.frozen import frozen
from controller.model.records.base import Record
from controller.model.values import Broker, DeleteIntent


@frozen
class BrokerForgotten(Record):
    """A broker will never come back: nothing is left that waits for it. Its key under /kedge/brokers goes, in a commit
    that holds that it is not registered."""

    broker_id: int


@frozen
class BrokerRegistered(Record):
    """A broker was admitted, or its endpoints or rack changed. `before`: what it was, None if it was not live."""

    broker: Broker
    before: Broker | None = None


@frozen
class BrokerLeft(Record):
    """A live broker's registration ended; its death is worked off partition by partition until DeathWorkedOff."""

    broker: Broker


@frozen
class BrokerShutsDown(Record):
    """A live broker is about to leave: nothing new is given to it. Kept in memory only; gone with its registration."""

    broker_id: int
    epoch: int


@frozen
class DeathWorkedOff(Record):
    """Every partition of a dead broker was looked at: it may come again. Not in the journal."""

    broker_id: int
    epoch: int


@frozen
class RegistrationUnread(Record):
    """A broker that is not live is registered, and its registration cannot be read. `epoch`: its `created`. Kept in
    memory only."""

    broker_id: int
    epoch: int


@frozen
class RegistrationKnown(Record):
    """It is known what became of the registration of such a broker. `epoch`: as in RegistrationUnread. `died`: the
    epoch whose death is to be worked off, None where it is the broker that it was."""

    broker_id: int
    epoch: int
    died: int | None


@frozen
class DiskGone(Record):
    """A broker reported the disk of a partition as gone, or back again. Kept in memory only."""

    topic: str
    partition: int
    broker: int
    gone: bool


@frozen
class DeleteIntended(Record):
    """A removed replica must be deleted on its broker; durable in the same commit."""

    intent: DeleteIntent


@frozen
class ReplicaDeleted(Record):
    """The broker acknowledged the deletion."""

    intent: DeleteIntent


@frozen
class IntentDropped(Record):
    """An intent became void: its broker is a member of the partition again; or its broker is being `forgotten`, which
    holds only as long as it is not registered."""

    intent: DeleteIntent
    cause: str
    forgotten: bool = False


@frozen
class IntentsKeyEmptied(Record):
    """Nothing in a key of intents is open (any more): it goes. Not in the journal."""

    broker: int
    seq: int


@frozen
class BrokerAskedAgain(Record):
    """A broker says that something happened to its disks: it is told all its partitions again, and answers for those
    that are gone. Not in the journal."""

    broker_id: int
