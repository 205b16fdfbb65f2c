"""What commands see of a cluster: values that `cluster.py` makes of the answers of servers."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import attrs

from ...model import numerals
from ...model.values import TopicPartition

# API keys that Kedge's gateway adds to Kafka's.
RATES: Final = 20001
DELETE_PARTITIONS: Final = 20003
UNKNOWN_TOPIC: Final = 3
DEFAULT_TIMEOUT_MS: Final = 30_000


@attrs.frozen
class Broker:
    id: int
    host: str
    port: int
    rack: str | None


@attrs.frozen
class PartitionState:
    """`leader` is None where there is none. `elr`, `last_known_elr`: None where the server does not say.
    `status`: Kedge's (KIP-694): 0 online, -1 read only, 1 offline; of other servers always 0. `leader_epoch` is None
    where the server does not say."""

    index: int
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    status: int = 0
    leader_epoch: int | None = None


@attrs.frozen
class TopicState:
    """Partitions in the order of their ids. `topic_id`: 22 characters base64, as Kafka prints it; empty if unknown."""

    name: str
    topic_id: str
    is_internal: bool
    partitions: tuple[PartitionState, ...]


@attrs.frozen
class Move:
    """A reassignment that runs. `replicas`: all that hold it or shall, `adding` and `removing` parts of them."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def sources(self) -> tuple[int, ...]:
        return tuple(broker for broker in self.replicas if broker not in self.adding)


@attrs.frozen
class LogDir:
    """Where a broker holds a replica, its bytes there and how many messages it is behind its leader. `is_future`: it is
    being moved there from another directory of the same broker."""

    path: str
    size: int
    lag: int
    is_future: bool


@attrs.frozen
class Disk:
    """The volume of a broker's directory. `error`: why the directory cannot be read; 0: it can. Bytes are None where
    the broker does not report them (KIP-827). `is_cordoned`: the broker creates no new replicas there (KIP-1066)."""

    error: int
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool


@attrs.frozen
class Description:
    """A broker's directories, by path, and replicas."""

    dirs: dict[str, Disk]
    replicas: dict[TopicPartition, tuple[LogDir, ...]]


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class Op(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Source(IntEnum):
    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


@attrs.frozen(order=True)
class Resource:
    """`name`: of a topic, or a broker's id in digits; "" is what holds for all brokers."""

    type: ResourceType
    name: str

    @property
    def at(self) -> int | None:
        """The broker that must be asked; None: any."""
        named = self.type in {ResourceType.BROKER, ResourceType.BROKER_LOGGER} and self.name
        return numerals.whole(self.name) if named else None


@attrs.frozen
class Synonym:
    name: str
    value: str | None
    source: Source


@attrs.frozen
class Setting:
    """`value` is None where it is a secret (`is_sensitive`) or unset."""

    name: str
    value: str | None
    source: Source
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[Synonym, ...]


@attrs.frozen
class Change:
    """`value` is not looked at with Op.DELETE."""

    name: str
    op: Op
    value: str | None = None
