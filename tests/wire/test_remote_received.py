"""What a controller orders arrives at brokers of another process as it was meant: there and back by the wire."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.model.host import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LivePeer,
    PartitionMetadata,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from kedge.controller.model.values import Endpoint
from kedge.controller.wire import messages as m
from kedge.controller.wire.protocol import build
from kedge.controller.wire.remote import orders, received

ID = "AAECAwQFBgcICQoLDA0ODw"
ids = st.integers(0, 2**31 - 1)
epochs = st.integers(0, 2**31 - 1)
brokers = st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=5).map(tuple)
who = {"broker_id": st.just(5), "broker_epoch": st.integers(0, 2**62), "controller_id": ids, "controller_epoch": epochs}
of_partition = {"topic": st.sampled_from(["a", "b.c", "\u00e4"]), "topic_id": st.just(ID), "partition": ids}
state = {"leader": st.integers(-2, 9), "leader_epoch": epochs, "isr": brokers, "partition_epoch": epochs}
statuses = st.sampled_from([-1, 0, 1])
endpoints = st.builds(
    Endpoint, st.just("IN"), st.just("h"), st.integers(1, 65535), st.sampled_from([*orders.PROTOCOLS])
)


def read(kind: Any, fields: dict[str, Any]) -> Any:
    """What the other side decodes, in the newest version."""
    return kind.decode(bytes(build(kind, kind.max_version, fields).encode()), version=kind.max_version)


def in_order(request: Any) -> Any:
    """By topic: only within one the order of partitions is kept, and no more is required."""
    return attrs.evolve(request, partitions=tuple(sorted(request.partitions, key=lambda p: p.topic)))


members = st.builds(
    LeaderAndIsrPartition,
    **of_partition,
    **state,
    replicas=brokers,
    target_replicas=st.none() | brokers,
    is_new=st.booleans(),
    status_code=statuses,
    leader_recovery_state=st.sampled_from([0, 1]),
)


@pytest.mark.slow
@given(
    st.builds(
        LeaderAndIsrRequest,
        **who,
        full=st.booleans(),
        partitions=st.lists(members).map(tuple),
        live_leaders=st.just(()),
    )
)
def test_leader_and_isr(request: LeaderAndIsrRequest) -> None:
    order = read(m.LeaderAndIsrRequest, orders.leader_and_isr(request, 7))
    assert in_order(received.leader_and_isr(order, 5)) == in_order(request)


known = st.builds(
    PartitionMetadata, **of_partition, **state, replicas=brokers, offline_replicas=brokers, status_code=statuses
)


@pytest.mark.slow
@given(
    st.builds(
        UpdateMetadataRequest,
        **who,
        full=st.booleans(),
        partitions=st.lists(known).map(tuple),
        live_brokers=st.just(()),
    )
)
def test_update_metadata(request: UpdateMetadataRequest) -> None:
    order = read(m.UpdateMetadataRequest, orders.update_metadata(request, 8))
    assert in_order(received.update_metadata(order, 5)) == in_order(request)


@given(st.lists(endpoints, min_size=1, max_size=3), st.none() | st.just("a"))
def test_brokers_of_update_metadata(listed: list[Endpoint], rack: str | None) -> None:
    peer = LivePeer(7, listed[0].host, listed[0].port, rack, tuple(listed))
    request = UpdateMetadataRequest(5, 1, 2, 3, True, (peer,), ())
    order = read(m.UpdateMetadataRequest, orders.update_metadata(request, 8))
    assert received.update_metadata(order, 5).live_brokers == (peer,)


stopped = st.builds(StopReplicaPartition, **of_partition, leader_epoch=epochs, delete=st.booleans())


@pytest.mark.slow
@given(st.builds(StopReplicaRequest, **who, partitions=st.lists(stopped).map(tuple)))
def test_stop_replica(request: StopReplicaRequest) -> None:
    """It goes in two requests: what is deleted, and what is not."""
    parts = [received.stop_replica(read(m.StopReplicaRequest, f), 5) for f in orders.stop_replica(request, 4)]
    told = in_order(attrs.evolve(request, partitions=tuple(p for part in parts for p in part.partitions)))
    meant = sorted(request.partitions, key=lambda p: not p.delete)
    assert told == in_order(attrs.evolve(request, partitions=tuple(meant)))
