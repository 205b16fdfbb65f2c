"""The requests of producers, brokers and tools to a coordinator, as values, and its settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import attrs

from ..coordinators.settings import positive
from ..model.values import TopicPartition
from .records import NO_EPOCH, NO_ID


def _set(partitions: Iterable[TopicPartition]) -> frozenset[TopicPartition]:
    return frozenset(partitions)


@attrs.frozen
class Initialize:
    """InitProducerId: a producer asks for its id and epoch. `producer_id`, `producer_epoch`: those that it had, if it
    continues after an error. `principal`: the client's identity, empty if it has none."""

    transactional_id: str
    timeout_ms: int
    producer_id: int = NO_ID
    producer_epoch: int = NO_EPOCH
    principal: str = ""


@attrs.frozen
class AddPartitions:
    """The transaction includes these partitions. `version`: of the producer's transactions."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition] = attrs.field(converter=_set)
    version: int = 0


@attrs.frozen
class VerifyPartitions:
    """A leader asks whether the transaction includes these partitions (KIP-890)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition] = attrs.field(converter=_set)


@attrs.frozen
class End:
    """Commit or abort the transaction. `version`: of the producer's transactions."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_commit: bool
    version: int = 0


@attrs.frozen
class Describe:
    """Read the state of the transactional id."""

    transactional_id: str


TransactionRequest: TypeAlias = Initialize | AddPartitions | VerifyPartitions | End | Describe


@attrs.frozen(kw_only=True)
class TransactionSettings:
    """As Kafka's settings of brokers: `transaction.max.timeout.ms`, `transactional.id.expiration.ms` and
    `transaction.remove.expired.transaction.cleanup.interval.ms`. `retry_ms`: after it a marker or record that could not
    be written is tried again. `held_bytes_max`: what all transactional ids of a process may hold
    (`kedge.controller.coordinators.held`); Kafka has no such bound."""

    timeout_max_ms: int = attrs.field(default=900_000, validator=positive)
    expiration_ms: int = attrs.field(default=7 * 24 * 3_600_000, validator=positive)
    expiration_check_ms: int = attrs.field(default=3_600_000, validator=positive)
    retry_ms: int = attrs.field(default=50, validator=positive)
    held_bytes_max: int = attrs.field(default=64 * 1024 * 1024, validator=positive)
