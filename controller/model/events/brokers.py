"""Brokers come, go, leave and report."""

from __future__ import annotations

import attrs

from controller.model.events.base import Event, LastOf
from controller.model.values import Broker, DeleteIntent


@attrs.frozen(weakref_slot=False)
class BrokerGone(Event):
    """The registration `epoch` of a live broker is no more."""

    broker_id: int
    epoch: int


@attrs.frozen(weakref_slot=False)
class ReplicaDied(Event):
    """One partition of a broker's death, or of its disk's."""

    topic: str
    partition: int
    broker: int


@attrs.frozen(weakref_slot=False)
class DeathDone(LastOf):
    """Every partition of a death was decided."""

    broker_id: int
    epoch: int

    def waits_for(self, other: Event) -> bool:
        return type(other) is ReplicaDied and other.broker == self.broker_id


@attrs.frozen(weakref_slot=False)
class ShutdownAsked(Event):
    """A live broker asks for a controlled shutdown."""

    broker_id: int
    epoch: int


@attrs.frozen(weakref_slot=False)
class ReplicaLeaves(Event):
    """One partition of a controlled shutdown."""

    topic: str
    partition: int
    broker: int


@attrs.frozen(weakref_slot=False)
class ShutdownDecided(LastOf):
    """Every partition of a controlled shutdown was decided."""

    broker_id: int
    epoch: int

    def waits_for(self, other: Event) -> bool:
        return type(other) is ReplicaLeaves and other.broker == self.broker_id


@attrs.frozen(weakref_slot=False)
class BrokerCame(Event):
    """A broker is registered that is not live; nothing of its former death is left to do."""

    broker: Broker


@attrs.frozen(weakref_slot=False)
class BrokerRedescribed(Event):
    """A live broker says other endpoints or another rack under the same epoch, or was found live by a takeover and
    has to be admitted."""

    broker: Broker


@attrs.frozen(weakref_slot=False)
class BrokerUnread(Event):
    """A broker that is not live is registered, and its registration cannot be read. `epoch`: its `created`, None where
    not even that can be read."""

    broker_id: int
    epoch: int | None


@attrs.frozen(weakref_slot=False)
class BrokerKnown(Event):
    """What could not be read of a broker's registration can be: `epoch` is what it is registered under, None where it
    is not registered any more."""

    broker_id: int
    epoch: int | None


@attrs.frozen(weakref_slot=False)
class DiskReported(Event):
    """A broker answered for a partition: its disk is gone (error 56), or it is there."""

    topic: str
    partition: int
    broker: int
    gone: bool


@attrs.frozen(weakref_slot=False)
class DeletionAcknowledged(Event):
    """A broker deleted replicas that it was told to."""

    intents: tuple[DeleteIntent, ...]
