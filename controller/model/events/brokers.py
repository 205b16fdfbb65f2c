"""Brokers come, go, leave and report."""

from __future__ import annotations

from collections.abc import Collection

from controller.model.events.base import Event
from controller.model.frozen import frozen
from controller.model.values import Broker, DeleteIntent


@frozen
class BrokerGone(Event):
    """The registration `epoch` of a live broker is no more."""

    broker_id: int
    epoch: int


@frozen
class ReplicaDied(Event):
    """One partition of a broker's death, or of its disk's."""

    topic: str
    partition: int
    broker: int


@frozen
class ReplicasDied(Event):
    """One partition of all the deaths that a takeover found. `dead`: those of them that were in its ISR, which are not
    born again before this is decided."""

    topic: str
    partition: int
    dead: Collection[int]


@frozen
class DeathDone(Event):
    """Every partition of a death was decided. `returned`: the broker as a takeover found it registered anew; it is live
    again at once, before its registration is looked at again."""

    broker_id: int
    epoch: int
    returned: Broker | None = None


@frozen
class ShutdownAsked(Event):
    """A live broker asks for a controlled shutdown."""

    broker_id: int
    epoch: int


@frozen
class ReplicaLeaves(Event):
    """One partition of a controlled shutdown."""

    topic: str
    partition: int
    broker: int


@frozen
class ShutdownDecided(Event):
    """Every partition of a controlled shutdown was decided."""

    broker_id: int
    epoch: int


@frozen
class BrokerCame(Event):
    """A broker is registered that is not live; nothing of its former death is left to do."""

    broker: Broker


@frozen
class BrokerRedescribed(Event):
    """A live broker says other endpoints or another rack under the same epoch, or was found live by a takeover and
    has to be admitted."""

    broker: Broker


@frozen
class BrokerUnread(Event):
    """A broker that is not live is registered, and its registration cannot be read. `epoch`: its `created`."""

    broker_id: int
    epoch: int


@frozen
class BrokerKnown(Event):
    """What could not be read of a broker's registration can be: `epoch` is what it is registered under, None where it
    is not registered any more."""

    broker_id: int
    epoch: int | None


@frozen
class DiskReported(Event):
    """A broker answered for a partition: its disk is gone (error 56), or it is there."""

    topic: str
    partition: int
    broker: int
    gone: bool


@frozen
class DeletionAcknowledged(Event):
    """A broker deleted replicas that it was told to."""

    intents: tuple[DeleteIntent, ...]
