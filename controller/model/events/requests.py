"""Events for the requests of callers."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from ..config_requests import AlterConfigOp
from ..values import ConfigEntity, DeleteIntent, Partition, Replicas
from .base import Event


@attrs.define
class AlterReassignment(Event):
    """Set, replace or cancel (target None) the reassignment of one partition. `to_origin`: the target is the origin of
    the running move. `policy_message`: why the host's policy refuses it."""

    topic: str
    partition: int
    target: Replicas | None
    move_timeout_ms: int | None = None
    allow_replication_factor_change: bool = True
    force: bool = False
    to_origin: bool = False
    policy_message: str | None = None


@attrs.define
class ElectLeader(Event):
    """Elect the preferred leader of a partition, or (`unclean`) any leader for a partition without one."""

    topic: str
    partition: int
    unclean: bool = False


@attrs.define
class CreateTopic(Event):
    """`assignments` None: placed by rack from `start` and `shift`. The runtime draws these two and `topic_id`."""

    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[Replicas, ...] | None
    configs: Mapping[str, str]
    validate_only: bool
    topic_id: str
    start: int
    shift: int
    policy_message: str | None = None


@attrs.define
class CreatePartitions(Event):
    topic: str
    total_count: int
    assignments: tuple[Replicas, ...] | None
    validate_only: bool = False


@attrs.define
class DeleteTopic(Event):
    topic: str


@attrs.define
class AlterConfigs(Event):
    """Alter the configs of a topic, a broker or all brokers. `replaces`: `ops` are all configs that remain.
    `policy_message`: why the host's policy refuses it."""

    entity: ConfigEntity
    ops: tuple[AlterConfigOp, ...]
    replaces: bool = False
    validate_only: bool = False
    policy_message: str | None = None


@attrs.define
class ForgetBroker(Event):
    """A broker will never return. What waits for it is dropped one by one; the answer follows when all is dropped."""

    broker: int


@attrs.define
class ForgetIntent(Event):
    """Drop one open delete intent of a broker that is being forgotten."""

    intent: DeleteIntent


@attrs.define
class ForgettingDone(Event):
    """Everything that waited for a forgotten broker at the last check was decided. `left`: the intents, and the
    partitions of topics under deletion, that were found then."""

    broker: int
    left: tuple[DeleteIntent | Partition, ...]


@attrs.define
class AlterIsr(Event):
    """A leader requests a change of the ISR (in the form of KIP-497). `isr_epochs`: the broker epochs under which it
    knows members of the new ISR, by broker (KIP-903)."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    new_isr: Replicas
    broker_epoch: int
    leader_recovery_state: int = 0
    isr_epochs: Mapping[int, int] | None = None
