"""What a host does with what it is handed: encode it for a broker, or drop it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from struct import Struct
from typing import Final

from controller import HostResponse
from controller.model.host import (
    Host,
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    PartitionMetadata,
    StopReplicaRequest,
    UpdateMetadataRequest,
)

HOSTS: Final = ("encoding", "dropping")


class HandedHost:
    """The host of a run around that of a benchmark. `told`: the brokers that were told everything. `encodes`: what is
    handed over becomes bytes, a struct for each partition and broker, as it does where brokers are other processes."""

    def __init__(self, host: Host, *, encodes: bool) -> None:
        self.told: set[int] = set()
        self._host = host
        self._encodes = encodes

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        if self._encodes:
            encoded(request.partitions)
        return self._host.leader_and_isr(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        if self._encodes:
            encoded(request.partitions)
        response = self._host.update_metadata(request)
        if request.full:
            self.told.add(request.broker_id)  # its LeaderAndIsr came before
        return response

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self._host.stop_replica(request)


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
