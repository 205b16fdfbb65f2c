"""What commands see of a cluster: values, made from answers of servers in `cluster.py`."""

from __future__ import annotations

import attrs

from controller.model.values import TopicPartition

__all__ = ["Broker", "Description", "LogDir", "Move", "PartitionState", "TopicPartition", "TopicState"]


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
        """Who holds it in the end, preferred leader first."""
        return tuple(broker for broker in self.replicas if broker not in self.removing)

    @property
    def sources(self) -> tuple[int, ...]:
        """Who held it before."""
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
class Description:
    """A broker's directories (path -> error code) and replicas."""

    dirs: dict[str, int]
    replicas: dict[TopicPartition, tuple[LogDir, ...]]
