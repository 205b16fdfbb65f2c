"""The things of a cluster as values: partitions, moves, topics, brokers.

Rules read a `Partition` and return a new one; none is ever written to. Names are Kafka's: R = `replicas` (topic key),
I = `isr` and T = `target_replicas` (state key, KIP-455).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias

import attrs

Replicas: TypeAlias = tuple[int, ...]
"""Broker ids, preferred leader first."""

Extra: TypeAlias = Mapping[str, object]
"""Unknown fields of a key; they are kept and written back unchanged."""

NO_LEADER: Final = -1
TARGETS_SINCE: Final = 3  # the LeaderAndIsr version that carries target_replicas (KIP-455)
NEW_BROKER_ID: Final = -1  # requests a generated id, as Kafka's broker.id=-1 does
NO_EPOCH: Final = -1  # the leader epoch of a partition that has no state key yet; a broker epoch that is unknown
BROKERS_WITHOUT_INTENT: Final = (
    "brokers_without_intent"  # a field of the state key, see Partition.brokers_without_intent
)
LEADER_DURING_DELETE: Final = -2  # of a stopped partition whose topic is being deleted; in metadata also of one that a
# reduction purged
EPOCH_DURING_DELETE: Final = 2**30  # the least leader epoch of such a partition: above all that brokers were sent


@attrs.frozen(order=True)
class TopicPartition:
    """The name of a partition. TypeError if the topic is not a str or the partition is not an int; the controller
    checks whether it exists."""

    topic: str
    partition: int

    def __attrs_post_init__(self) -> None:
        if type(self.topic) is not str or type(self.partition) is not int:
            raise TypeError(f"TopicPartition takes a str and an int, not {self.topic!r:.80}, {self.partition!r:.80}")

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@attrs.frozen
class Move:
    """What is kept about a running reassignment, beside `targetReplicas` in the state key (KIP-455).

    `target`: T, the complete final replicas. `origin`: R before the first request, which a replaced target keeps. Times
    are Unix milliseconds; `deadline_ms` None: no deadline.
    """

    target: Replicas
    origin: Replicas
    started_ms: int
    deadline_ms: int | None = None


class _Same(enum.Enum):
    SAME = "same"


_SAME: Final = _Same.SAME  # a global, since an attribute of an enum costs a call


@attrs.frozen
class Partition:
    """One partition as the controller sees it. Without a state key: isr (), leader -1, leader_epoch -1.

    `status_code`: 0 online, -1 read-only, 1 offline (KIP-694). `leader_recovery_state`: 1 after an unclean election.
    """

    topic: str
    partition: int
    replicas: Replicas
    isr: Replicas
    leader: int
    leader_epoch: int
    move: Move | None = None
    status_code: int = 0
    leader_recovery_state: int = 0
    extra: Extra | None = None

    @property
    def target_replicas(self) -> Replicas | None:
        """T, or None when the partition is not being reassigned."""
        return None if self.move is None else self.move.target

    @property
    def has_state(self) -> bool:
        """Whether it has a state key. A partition whose replicas were all dead since its creation has none."""
        return bool(self.isr)

    @property
    def is_offline(self) -> bool:
        """Whether a reduction took it offline (KIP-694)."""
        return self.status_code == 1

    @property
    def members(self) -> Replicas:
        """R, followed by the members of T that are not in R: all brokers that may rightly hold a log of it."""
        if self.move is None:
            return self.replicas
        return (*self.replicas, *[b for b in self.move.target if b not in self.replicas])

    @property
    def brokers_without_intent(self) -> Replicas:
        """Of a stopped partition whose topic is being deleted, or an offline one: the brokers that may hold a log of it
        and have no intent to delete it yet. Stored in a field that most state keys do not have."""
        goes = self.leader == LEADER_DURING_DELETE or self.is_offline
        found = None if self.extra is None or not goes else self.extra.get(BROKERS_WITHOUT_INTENT)
        return tuple(b for b in found if type(b) is int) if isinstance(found, list) else ()

    @property
    def are_holders_told(self) -> bool:
        """Of an offline partition: whether all brokers that may hold a log of it have or had an intent to delete it."""
        return self.is_offline and self.extra is not None and self.extra.get(BROKERS_WITHOUT_INTENT) == []

    @property
    def is_stopped(self) -> bool:
        """Whether it has no leader for good, and all brokers that may hold a log of it have an intent to delete it."""
        return self.leader == LEADER_DURING_DELETE and not self.brokers_without_intent

    @property
    def tp(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def but(
        self,
        *,
        replicas: Replicas | None = None,
        isr: Replicas | None = None,
        leader: int | None = None,
        leader_epoch: int | None = None,
        move: Move | Literal[_Same.SAME] | None = _SAME,
        status_code: int | None = None,
        leader_recovery_state: int | None = None,
        extra: Extra | Literal[_Same.SAME] | None = _SAME,
    ) -> Partition:
        """A copy with other values for the named fields. Written out, since a move makes six copies and `attrs.evolve`
        takes five times as long."""
        return Partition(
            self.topic,
            self.partition,
            self.replicas if replicas is None else replicas,
            self.isr if isr is None else isr,
            self.leader if leader is None else leader,
            self.leader_epoch if leader_epoch is None else leader_epoch,
            self.move if move is _SAME else move,
            self.status_code if status_code is None else status_code,
            self.leader_recovery_state if leader_recovery_state is None else leader_recovery_state,
            self.extra if extra is _SAME else extra,
        )


def without_state(topic: str, partition: int, replicas: Replicas) -> Partition:
    """A partition that has no state key (yet)."""
    return Partition(topic, partition, replicas, (), NO_LEADER, NO_EPOCH)


@attrs.frozen
class KafkaMove:
    """A running move in a topic key of Kafka's: R as the key lists it (with the added replicas), adding, removing."""

    replicas: Replicas
    adding: Replicas
    removing: Replicas


@attrs.frozen
class Topic:
    """A topic without the state of its partitions. `retired_epochs`: partition id -> last leader epoch of a partition
    that a reduction purged. `kafka_moves`: Kafka's own moves that are not taken over yet, by partition id; they stay in
    the topic's key until the commit that takes them over."""

    name: str
    topic_id: str
    retired_epochs: Mapping[int, int] = attrs.field(factory=dict)
    extra: Extra | None = None
    kafka_moves: Mapping[int, KafkaMove] = attrs.field(factory=dict)

    def created_epoch(self, partition: int) -> int:
        return self.retired_epochs.get(partition, NO_EPOCH) + 1 if self.retired_epochs else 0


@attrs.frozen
class Endpoint:
    """Where a broker listens: protocol, host and port of a named listener, such as `SSL://host:9093`."""

    listener: str
    host: str
    port: int
    protocol: str = "PLAINTEXT"


def _rack_or_none(rack: str | None) -> str | None:
    return rack or None


def _as_endpoints(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    return tuple(endpoints)


def _extra_or_none(value: Extra | None) -> Extra | None:
    return None if value is None else dict(value)


@attrs.frozen
class BrokerRegistration:
    """The registration of a broker (KIP-36). `rack`: None or "" if it has none.

    `broker_id` NEW_BROKER_ID (-1, as Kafka's `broker.id`): a new id is generated, above
    `Settings.reserved_broker_max_id`.
    `leader_and_isr_version`: a broker with a version below 3 is not sent `target_replicas`. ValueError or TypeError for
    a field of the wrong range or type.
    """

    broker_id: int
    host: str = "localhost"
    port: int = 9092
    rack: str | None = attrs.field(default=None, converter=_rack_or_none)
    endpoints: tuple[Endpoint, ...] = attrs.field(default=(), converter=_as_endpoints)
    leader_and_isr_version: int = 3
    extra: Extra | None = attrs.field(default=None, converter=_extra_or_none)

    def __attrs_post_init__(self) -> None:
        if type(self.broker_id) is not int or type(self.host) is not str or type(self.port) is not int:
            raise TypeError(f"a registration needs int broker_id, str host, int port: {self!r:.200}")
        if self.rack is not None and type(self.rack) is not str:
            raise TypeError(f"rack must be a str or None, not {self.rack!r:.80}")
        if not NEW_BROKER_ID <= self.broker_id <= 2**31 - 1:
            raise ValueError(f"broker_id must be within 0..2^31-1, or -1 for a generated id, not {self.broker_id}")
        if not -1 <= self.port <= 65535:
            raise ValueError(f"port must be within -1..65535, not {self.port}")


@attrs.frozen
class Broker:
    """A registered broker: its registration, and its broker epoch (`created` of its key)."""

    registration: BrokerRegistration
    epoch: int

    @property
    def broker_id(self) -> int:
        return self.registration.broker_id

    @property
    def rack(self) -> str | None:
        return self.registration.rack


class UnreadConfigs(dict[str, str]):
    """The last known configs (empty if never known) of a key that cannot be read now. It may say anything, so no action
    is taken that needs permission by a config."""

    __slots__ = ()


class KeyConfigs(dict[str, str]):
    """Configs from a key with unknown fields, `more`, which survive a rewrite."""

    __slots__ = ("more",)

    def __init__(self, settings: Mapping[str, str], more: Mapping[str, object]) -> None:
        super().__init__(settings)
        self.more = more


def configs_after(before: Mapping[str, str], after: Mapping[str, str]) -> Mapping[str, str]:
    """`after`, with the unknown fields of the key that held `before`."""
    return KeyConfigs(after, before.more) if isinstance(before, KeyConfigs) else after


TOPICS: Final = "topics"
BROKERS: Final = "brokers"
USERS: Final = "users"
CLIENTS: Final = "clients"
ALL_BROKERS: Final = "<default>"


@attrs.frozen
class ConfigEntity:
    """The owner of configs: `kind` "topics" or "brokers", and `name`: the topic, the broker's id in decimal, or
    "<default>" for the defaults of all brokers. Of "users" and "clients", which have quotas: as in `quota.clients`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@attrs.frozen
class DeleteIntent:
    """A replica that its broker must delete; durable until the broker acknowledged StopReplica(delete)."""

    broker: int
    topic: str
    topic_id: str
    partition: int
    leader_epoch: int


def _setting(default: int, high: int = 2**31 - 1, low: int = 1) -> int:
    """A field that holds an int within `low`..`high`, not a bool."""

    def check(_: object, attribute: attrs.Attribute[int], value: object) -> None:
        if type(value) is not int:
            raise TypeError(f"{attribute.name} must be an int, not {value!r:.80}")
        if not low <= value <= high:
            raise ValueError(f"{attribute.name} must be within {low}..{high}, not {value}")

    field: int = attrs.field(default=default, validator=check)
    return field


def _check_bool(_: object, attribute: attrs.Attribute[bool], value: object) -> None:
    if type(value) is not bool:
        raise TypeError(f"{attribute.name} must be a bool, not {value!r:.80}")


@attrs.frozen
class Settings:
    """The settings of a host, under Kafka's names with underscores. The name ends in the unit of a time. Numbers are at
    least 1 and at most 2^31-1 (`registration_version`: 5; `reserved_broker_max_id`, the percentage and
    `metadata_linger_ms` may be 0).
    TypeError or ValueError for a field of the wrong type or range.
    """

    num_partitions: int = _setting(1)
    default_replication_factor: int = _setting(1)
    unclean_leader_election_enable: bool = attrs.field(default=False, validator=_check_bool)
    registration_version: int = _setting(5, high=5)
    commit_decisions_max: int = _setting(2000)
    topic_rewrite_interval_ms: int = _setting(1000)
    callback_deadline_ms: int = _setting(30_000)
    metadata_linger_ms: int = _setting(10, 2**31 - 1, 0)
    inbox_max: int = _setting(100_000)
    reserved_broker_max_id: int = _setting(1000, 2**31 - 2, 0)
    auto_leader_rebalance_enable: bool = attrs.field(default=True, validator=_check_bool)
    leader_imbalance_check_interval_seconds: int = _setting(300)
    leader_imbalance_per_broker_percentage: int = _setting(10, 100, 0)
    resume_foreign_targets: bool = attrs.field(default=False, validator=_check_bool)
    kafka_brokers: bool = attrs.field(default=False, validator=_check_bool)
    depose_kafka_controller: bool = attrs.field(default=False, validator=_check_bool)
    delete_topic_enable: bool = attrs.field(default=True, validator=_check_bool)
    delete_topic_partition_enable: bool = attrs.field(default=True, validator=_check_bool)
    delete_topic_partition_interval_delay_ms: int = _setting(300_000)
