"""A controller as simulated brokers see it: the target of their requests, and the source of callbacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import Protocol

import attrs

from ..model.host import (
    HostNotices,
    HostResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ..model.requests import AcceptedIsr
from ..model.values import TARGETS_SINCE, TopicPartition
from ..runtime.log_reports import LogReport
from .network import Network, Request


class Asked(Protocol):
    """The requests and reports of brokers, as `Controller` takes them."""

    def alter_isr(  # noqa: PLR0917 - as the controller's
        self,
        tp: TopicPartition,
        leader: int,
        leader_epoch: int,
        partition_epoch: int,
        new_isr: Sequence[int],
        broker_epoch: int,
        *,
        isr_epochs: Mapping[int, int] | None = None,
    ) -> Future[AcceptedIsr]: ...

    def report_log(self, reports: Iterable[LogReport]) -> None: ...


class ShutsDown(Protocol):
    """Takes requests for a controlled shutdown, as `Controller` does."""

    def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> Future[tuple[TopicPartition, ...]]: ...


class ControllerNode(Protocol):
    """A node that runs a controller, or is down."""

    @property
    def node_id(self) -> int: ...

    @property
    def is_up(self) -> bool:
        """Whether it runs, and is not paused."""
        ...

    @property
    def process(self) -> object:
        """One life of the node, by identity; None while it is down."""
        ...

    @property
    def controller(self) -> ShutsDown | None:
        """The controller of this node; None while the node is down."""
        ...

    @property
    def asked(self) -> Asked | None:
        """The target of brokers' requests at this node; None while it is down."""
        ...

    @property
    def is_told(self) -> bool:
        """Whether brokers report the state of their logs to it."""
        ...

    def speaking(self) -> AbstractContextManager[None]:
        """Commits in this block are attributed to this node."""
        ...


class NodeHost(HostNotices):
    """The host that a controller calls: every callback goes over the network to a broker. With a LeaderAndIsr version
    below 3 its controller knows no targets: it sends none, and nothing to brokers that are only targets."""

    def __init__(self, controller_id: int, network: Network, leader_and_isr_version: int) -> None:
        self._controller_id = controller_id
        self._network = network
        self._knows_targets = leader_and_isr_version >= TARGETS_SINCE

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        if not self._knows_targets:
            own = (p for p in request.partitions if request.broker_id in p.replicas)
            request = attrs.evolve(request, partitions=tuple(attrs.evolve(p, target_replicas=None) for p in own))
        return self.deliver(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return self.deliver(request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self.deliver(request)

    def deliver(self, request: Request) -> HostResponse:
        """The answer of the broker to any of the three."""
        return self._network.call(self._controller_id, request)

    def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        self._network.config_changed(entity_type, name, configs)

    def partition_purged(self, topic: str, partition: int) -> None:
        """The partition's committed group offsets are deleted."""
        self._network.partition_purged(TopicPartition(topic, partition))
