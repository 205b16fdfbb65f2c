"""Events about brokers: they register, leave, shut down and report."""

from __future__ import annotations

import attrs

from ..values import Broker, DeleteIntent
from .base import Event


@attrs.define
class BrokerGone(Event):
    """The registration `epoch` of a live broker has ended."""

    broker_id: int
    epoch: int


@attrs.define
class DeathDone(Event):
    """All partitions of a dead broker were decided. `returned`: the broker, if a takeover found it registered again. It
    is live at once, before its registration is read again."""

    broker_id: int
    epoch: int
    returned: Broker | None = None


@attrs.define
class ShutdownAsked(Event):
    """A live broker requests a controlled shutdown."""

    broker_id: int
    epoch: int


@attrs.define
class ReplicaLeaves(Event):
    """One partition of a controlled shutdown."""

    topic: str
    partition: int
    broker: int


@attrs.define
class ShutdownDecided(Event):
    """Every partition of a controlled shutdown was decided."""

    broker_id: int
    epoch: int


@attrs.define
class BrokerCame(Event):
    """A broker that is not live has registered, and nothing of its former death is left to do."""

    broker: Broker


@attrs.define
class BrokerRedescribed(Event):
    """A live broker registered other endpoints or another rack under the same epoch, or a takeover found it live and
    has to admit it."""

    broker: Broker


@attrs.define
class BrokerUnread(Event):
    """A broker that is not live is registered, but its registration cannot be read. `epoch`: the key's `created`."""

    broker_id: int
    epoch: int


@attrs.define
class BrokerKnown(Event):
    """An unreadable registration of a broker can be read again, or is gone. `epoch`: the registered epoch, None if the
    broker is no longer registered."""

    broker_id: int
    epoch: int | None


@attrs.define
class DiskReported(Event):
    """A broker answered for a partition: its disk is gone (error 56), or it is there."""

    """A broker's answer about a partition says that its disk failed (`gone`, error 56), or that it works."""
    topic: str
    partition: int
    broker: int
    gone: bool


@attrs.define
class DeletionAcknowledged(Event):
    """A broker confirmed that it deleted replicas."""

    intents: tuple[DeleteIntent, ...]
