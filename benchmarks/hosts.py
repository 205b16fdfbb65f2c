"""What a host does with the requests that it gets: encode them for each broker, encode what brokers have in common once
(as `RemoteHost` does), or drop them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from struct import Struct
from threading import Event
from typing import Final

from kedge import HostResponse
from kedge.controller.model.host import (
    Host,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    PartitionMetadata,
    Shared,
    StopReplicaRequest,
    UpdateMetadataRequest,
)

HOSTS: Final = ("encoding", "sharing", "dropping")
_HELD_S: Final = 60.0


class MeasuredHost:
    """Wraps the host of a benchmark. `updated`: the brokers that have received everything once. `kind`: of `HOSTS`;
    requests become bytes, a struct for each partition and broker, as they do where brokers are other processes, or for
    each partition of a `Shared`. `may_begin`: a benchmark that measures what comes before the first request clears it,
    since many threads that encode would keep its own from the clock."""

    def __init__(self, host: Host, kind: str) -> None:
        self.updated: set[int] = set()
        self.encoded_bytes = 0
        self.may_begin = Event()
        self.may_begin.set()
        self._host = host
        self._kind = kind

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        self.may_begin.wait(_HELD_S)
        self._encode(request.partitions)
        return self._host.leader_and_isr(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        self._encode(request.partitions)
        response = self._host.update_metadata(request)
        if request.full:
            self.updated.add(request.broker_id)  # its LeaderAndIsr came before
        return response

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self._host.stop_replica(request)

    def _encode(self, partitions: Iterable[LeaderAndIsrPartition | PartitionMetadata]) -> None:
        if self._kind == "dropping":
            return
        if self._kind == "encoding" or not isinstance(partitions, Shared):
            self.encoded_bytes += len(encoded(partitions))
        elif encoded not in partitions.prepared:  # two threads may do it at once, as seldom as they meet
            partitions.prepared[encoded] = encoded(partitions)
            self.encoded_bytes += len(partitions.prepared[encoded])


def encoded(partitions: Iterable[LeaderAndIsrPartition | PartitionMetadata]) -> bytes:
    """Numbers and lists of each partition, as Kafka's requests have them."""
    return b"".join([_struct(p) for p in partitions])


def _struct(p: LeaderAndIsrPartition | PartitionMetadata) -> bytes:
    isr, replicas = p.isr, p.replicas
    pack = _packer(len(isr) + len(replicas))
    return pack(p.partition, p.leader, p.leader_epoch, p.partition_epoch, len(isr), *isr, len(replicas), *replicas)


@cache
def _packer(ids: int) -> Callable[..., bytes]:
    return Struct(f">{6 + ids}i").pack
