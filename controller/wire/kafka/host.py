"""The host whose brokers are stock Kafka brokers.

Rules
* A broker refuses to follow a leader that its metadata does not list as alive, and does not ask again. So before a
  LeaderAndIsr it gets an UpdateMetadata with the live brokers and no partition, unless it has that list already.
* A broker sends its own requests (AlterPartition, AllocateProducerIds, ControlledShutdown) to the controller's id,
  which it looks up among the live brokers. So the controller is one of them, at the address of its gateway. Brokers
  place topics over all live brokers, so they do not see it before the internal topics exist (`internal_topics`).
* A broker answers STALE_CONTROLLER_EPOCH for a partition whose leader epoch it has already. Each takeover repeats them
  all, so for a partition that is no error.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from ...host import Controller
from ...model.errors import ErrorCode
from ...model.host import (
    Host,
    HostResponse,
    LeaderAndIsrRequest,
    LivePeer,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ...model.values import Endpoint
from ..calls import Address
from ..remote.host import TIMEOUT_S
from ..remote.orders import Ordered
from .internal_topics import InternalTopics, InternalTopicsCreator

_Listed = tuple[int, int, tuple[LivePeer, ...]]
"""The epochs of a broker and of a controller, and the live brokers that the one got from the other."""


class KafkaHost:
    """Orders stock Kafka brokers about (2.8 to 3.9 in ZooKeeper mode), by way of `brokers`: a `RemoteHost` for their
    inter-broker listener. `listener`, `protocol`: its name and security protocol, as brokers know the controller.
    `internal_topics`: how the topics of groups and transactions are created where they are missing. The controller must
    run in threads. `attach` comes before its `start()`, `serves_at` before brokers come, once per listener.
    """

    def __init__(
        self,
        brokers: Host,
        *,
        listener: str = "PLAINTEXT",
        protocol: str = "PLAINTEXT",
        internal_topics: InternalTopics | None = None,
    ) -> None:
        self._brokers: Final = brokers
        self._listener: Final = listener
        self._protocol: Final = protocol
        self._internal_topics: Final = InternalTopicsCreator(internal_topics or InternalTopics())
        self._controller: Controller | None = None
        self._at: dict[str, Address] = {}
        self._listed: dict[int, _Listed] = {}

    def attach(self, controller: Controller) -> None:
        """The controller that creates the internal topics."""
        self._controller = controller

    def serves_at(self, address: Address, listener: str | None = None) -> None:
        """Where brokers reach the gateway of this controller. `listener`: another one, at which clients do."""
        self._at[self._listener if listener is None else listener] = address

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        listed = self._with_controller(request, request.live_leaders)
        known = (request.broker_epoch, request.controller_epoch, listed)
        if self._listed.get(request.broker_id) != known:
            answer = self._brokers.update_metadata(_only_brokers(request, listed))
            if answer.error:
                return answer
            self._listed[request.broker_id] = known
        answer = self._brokers.leader_and_isr(request)
        errors = {tp: code for tp, code in answer.errors.items() if code != ErrorCode.STALE_CONTROLLER_EPOCH}
        return HostResponse(answer.error, errors)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        listed = self._with_controller(request, request.live_brokers)
        answer = self._brokers.update_metadata(attrs.evolve(request, live_brokers=listed))
        if not answer.error:
            self._listed[request.broker_id] = (request.broker_epoch, request.controller_epoch, listed)
        return answer

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self._brokers.stop_replica(request)

    def _with_controller(self, request: Ordered, peers: Iterable[LivePeer]) -> tuple[LivePeer, ...]:
        """The live brokers, and the controller once no internal topic is missing. Where brokers have racks, so has the
        controller: Kafka's brokers place no topic by racks while one of them has none."""
        brokers, controller, epoch = tuple(peers), self._controller, request.controller_epoch
        at = self._at.get(self._listener)
        if at is None or controller is None:
            return brokers
        if not self._internal_topics.are_complete(controller, epoch, len(brokers), TIMEOUT_S):
            return brokers
        rack = min((peer.rack for peer in brokers if peer.rack is not None), default=None)
        ends = tuple(Endpoint(name, each.host, each.port, self._protocol) for name, each in self._at.items())
        return (*brokers, LivePeer(request.controller_id, at.host, at.port, rack, ends))


def _only_brokers(request: LeaderAndIsrRequest, listed: tuple[LivePeer, ...]) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        full=False,
        live_brokers=listed,
        partitions=(),
    )
