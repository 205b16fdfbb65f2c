"""Records about brokers and their delete intents."""

from __future__ import annotations

import attrs

from ..values import Broker, DeleteIntent
from .base import Record


@attrs.frozen
class BrokerForgotten(Record):
    """A broker will never return, and nothing waits for it. Its key under /kedge/brokers is deleted, in a commit that
    fails if the broker is registered."""

    broker_id: int


@attrs.frozen
class BrokerRegistered(Record):
    """A broker was admitted, or its endpoints or rack changed. `before`: its former registration, None if not live."""

    broker: Broker
    before: Broker | None = None


@attrs.frozen
class BrokerLeft(Record):
    """The registration of a live broker ended. Its partitions are decided one by one, until DeathWorkedOff."""

    broker: Broker


@attrs.frozen
class BrokerShutsDown(Record):
    """A live broker is about to leave and gets nothing new. Kept in memory only; ends with its registration."""

    broker_id: int
    epoch: int


@attrs.frozen
class DeathWorkedOff(Record):
    """All partitions of a dead broker were decided: it may register again. Not in the journal."""

    broker_id: int
    epoch: int


@attrs.frozen
class RegistrationUnread(Record):
    """A broker that is not live is registered, but its registration cannot be read. `epoch`: the key's `created`. Kept
    in memory only."""

    broker_id: int
    epoch: int


@attrs.frozen
class RegistrationKnown(Record):
    """The registration of such a broker can be read, or is gone. `epoch`: as in RegistrationUnread. `died`: the epoch
    whose partitions must be handled as those of a dead broker; None if the broker is unchanged."""

    broker_id: int
    epoch: int
    died: int | None


@attrs.frozen
class DiskGone(Record):
    """A broker reported that its disk for a partition failed, or works again. Kept in memory only."""

    topic: str
    partition: int
    broker: int
    gone: bool


@attrs.frozen
class DeleteIntended(Record):
    """A removed replica has to be deleted by its broker; durable in the same commit."""

    intent: DeleteIntent


@attrs.frozen
class ReplicaDeleted(Record):
    """The broker acknowledged the deletion."""

    intent: DeleteIntent


@attrs.frozen
class IntentDropped(Record):
    """An intent became void, since its broker is a member of the partition again, or is being `forgotten`. The latter
    commits only if the broker is not registered."""

    intent: DeleteIntent
    cause: str
    forgotten: bool = False


@attrs.frozen
class IntentsKeyEmptied(Record):
    """A key of intents has no open intent: it is deleted. Not in the journal."""

    broker: int
    seq: int


@attrs.frozen
class BrokerAskedAgain(Record):
    """A broker reports a change of its disks: it is sent all its partitions again, and its answer names those that
    failed. Not in the journal."""

    broker_id: int
