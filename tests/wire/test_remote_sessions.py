"""Brokers that register at a gateway are alive while they beat."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.admin.cluster import DescribeClusterRequest, DescribeClusterResponse
from kafka.protocol.metadata.metadata import MetadataRequest, MetadataResponse

from controller.wire import messages as m
from controller.wire.calls import Address
from controller.wire.remote import with_remote_brokers
from kedge import BrokerRegistration, Hooks, NewTopic
from tests.kit.waiting import until
from tests.wire.peers import Peer
from tests.wire.remote import CLUSTER, Remote
from tests.wire.served import RawClient, Served

LATEST = {4: (0, 7), 5: (0, 4), 6: (0, 8)}
NOWHERE = Address("127.0.0.1", 1)


@pytest.fixture
def remote() -> Iterator[Remote]:
    with Remote() as opened:
        yield opened


@pytest.fixture
def client(remote: Remote) -> Iterator[RawClient]:
    with RawClient(remote.address) as opened:
        yield opened


def register(client: RawClient, broker_id: int, address: Address, version: int = 4, **fields: Any) -> Any:
    listener = {"name": "PLAINTEXT", "host": address.host, "port": address.port, "security_protocol": 0}
    known = {"cluster_id": CLUSTER, "incarnation_id": uuid.uuid4(), "listeners": [listener]}
    return client.ask(
        m.BrokerRegistrationRequest, m.BrokerRegistrationResponse, version, broker_id=broker_id, **(known | fields)
    )


def beat(client: RawClient, broker_id: int, epoch: int, version: int = 1, **fields: Any) -> Any:
    asked = {"broker_id": broker_id, "broker_epoch": epoch, **fields}
    return client.ask(m.BrokerHeartbeatRequest, m.BrokerHeartbeatResponse, version, **asked)


@pytest.mark.parametrize("version", range(5))
def test_a_broker_registers_in_every_version(remote: Remote, client: RawClient, version: int) -> None:
    with Peer(LATEST) as peer:
        answer = register(client, 7, peer.address, version, rack="a")
        assert answer.error_code == 0
        remote.live(7)
        found = remote.controller.query(lambda view: view.brokers[7]).result(30)
    assert (found.epoch, found.rack) == (answer.broker_epoch, "a")
    assert (found.registration.host, found.registration.port) == (peer.address.host, peer.address.port)
    assert [e.listener for e in found.registration.endpoints] == ["PLAINTEXT"]


@pytest.mark.parametrize("version", range(2))
def test_who_beats_under_its_epoch_is_served_and_who_does_not_has_to_register(client: RawClient, version: int) -> None:
    assert beat(client, 7, 1, version).error_code == 77
    epoch = register(client, 7, NOWHERE).broker_epoch
    answer = beat(client, 7, epoch, version)
    assert (answer.error_code, answer.is_caught_up, answer.is_fenced, answer.should_shut_down) == (
        0,
        True,
        False,
        False,
    )
    assert beat(client, 7, epoch + 1, version).error_code == 77


@pytest.mark.slow
def test_a_broker_that_stops_beating_dies() -> None:
    with Remote(session_s=0.3) as remote, RawClient(remote.address) as client:
        epochs = {broker_id: register(client, broker_id, NOWHERE).broker_epoch for broker_id in (1, 2)}
        remote.live(1, 2)

        def has_died() -> bool:
            assert beat(client, 1, epochs[1]).error_code == 0
            return remote.controller.describe().live_brokers == (1,)

        until(has_died)
        assert beat(client, 2, epochs[2]).error_code == 77
        assert register(client, 2, NOWHERE).broker_epoch > epochs[2]
        remote.live(1, 2)


def test_the_same_process_that_registers_again_keeps_its_epoch(remote: Remote, client: RawClient) -> None:
    process = uuid.uuid4()
    epoch = register(client, 7, NOWHERE, incarnation_id=process).broker_epoch
    assert register(client, 7, NOWHERE, incarnation_id=process, rack="b").broker_epoch == epoch
    until(
        lambda: (
            remote.controller.query(lambda view: view.brokers[7].rack if 7 in view.brokers else "").result(30) == "b"
        )
    )


@pytest.mark.slow
def test_a_broker_that_was_restarted_at_its_address_is_let_in_once_its_former_self_is_silent() -> None:
    """Until then it is refused and tries again; the former self has to register again."""
    with Remote(session_s=6.0) as remote, RawClient(remote.address) as client:
        epoch = register(client, 7, NOWHERE).broker_epoch
        answers: list[Any] = []

        def is_let_in() -> bool:
            answers.append(register(client, 7, NOWHERE))
            return bool(answers[-1].error_code == 0)

        until(is_let_in)
        later = answers[-1].broker_epoch
        assert later > epoch
        assert {answer.error_code for answer in answers[:-1]} <= {101}
        assert beat(client, 7, epoch).error_code == 77
        assert beat(client, 7, later).error_code == 0


def test_broker_that_was_allowed_to_leave_is_admitted_again_at_once(remote: Remote, client: RawClient) -> None:
    """A restart in good order waits for nothing."""
    epoch = register(client, 7, NOWHERE).broker_epoch
    remote.live(7)
    until(lambda: beat(client, 7, epoch, want_shut_down=True).should_shut_down)
    assert register(client, 7, NOWHERE).broker_epoch > epoch


@pytest.mark.parametrize("address", [NOWHERE, Address("127.0.0.1", 2)], ids=["same address", "elsewhere"])
def test_a_second_process_under_the_id_of_one_that_beats_is_refused(
    client: RawClient, caplog: pytest.LogCaptureFixture, address: Address
) -> None:
    """The first keeps its epoch, and the log names it in a sentence."""
    epoch = register(client, 7, NOWHERE).broker_epoch
    assert register(client, 7, address).error_code == 101
    assert beat(client, 7, epoch).error_code == 0
    assert "broker 7 is registered already at 127.0.0.1:1 by another process, whose last heartbeat was" in caplog.text


def test_the_id_of_a_broker_of_the_gateways_own_process_is_refused(
    remote: Remote, client: RawClient, caplog: pytest.LogCaptureFixture
) -> None:
    epoch = remote.controller.register_broker(BrokerRegistration(7, "127.0.0.1", 1))
    assert register(client, 7, NOWHERE).error_code == 101
    assert remote.controller.broker_epoch(7) == epoch
    assert "broker 7 is registered already by the gateway's own process" in caplog.text


@pytest.mark.parametrize(
    "fields, error_code",
    [
        ({"cluster_id": "another"}, 104),
        ({"listeners": []}, 42),
        ({"broker_id": -1}, 42),
    ],
)
def test_invalid_registration_is_refused_and_registers_no_broker(
    remote: Remote, client: RawClient, fields: dict[str, Any], error_code: int
) -> None:
    broker_id = fields.pop("broker_id", 7)
    answer = register(client, broker_id, NOWHERE, **fields)
    assert (answer.error_code, answer.broker_epoch) == (error_code, -1)
    assert remote.controller.broker_epochs == {}


def test_a_broker_that_wants_to_go_may_when_another_leads(remote: Remote, client: RawClient) -> None:
    with Peer(LATEST) as one, Peer(LATEST) as two:
        epochs = {i: register(client, i, peer.address).broker_epoch for i, peer in {1: one, 2: two}.items()}
        remote.live(1, 2)
        topics = {"both": NewTopic(replica_assignments=[[1, 2]]), "alone": NewTopic(replica_assignments=[[1]])}
        remote.controller.admin.create_topics(topics).all().result(30)
        asked = {"broker_id": 1, "broker_epoch": epochs[1]}
        for version in (1, 2, 3):  # version 1 names no epoch
            answer = client.ask(m.ControlledShutdownRequest, m.ControlledShutdownResponse, version, **asked)
            assert answer.error_code == 0
            assert [(p.topic_name, p.partition_index) for p in answer.remaining_partitions] == [("alone", 0)]
        assert remote.partition("both").leader == 2
        assert not beat(client, 1, epochs[1], want_shut_down=True).should_shut_down
        remote.controller.admin.delete_topics(["alone"]).all().result(30)
        until(lambda: beat(client, 1, epochs[1], want_shut_down=True).should_shut_down)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_unknown_broker_cannot_shut_down(client: RawClient, version: int) -> None:
    asked = {"broker_id": 9, "broker_epoch": 5}
    answer = client.ask(m.ControlledShutdownRequest, m.ControlledShutdownResponse, version, **asked)
    assert (answer.error_code, list(answer.remaining_partitions)) == (77, [])


def test_what_brokers_ask_takes_cluster_action() -> None:
    with (
        Remote(hooks=Hooks(authorizer=lambda _, operation, __: operation != "CLUSTER_ACTION")) as remote,
        RawClient(remote.address) as client,
    ):
        asked = {"broker_id": 7, "broker_epoch": 1}
        assert register(client, 7, NOWHERE).error_code == 31
        assert beat(client, 7, 1).error_code == 31
        for request, response in (
            (m.ControlledShutdownRequest, m.ControlledShutdownResponse),
            (m.AlterPartitionRequest, m.AlterPartitionResponse),
        ):
            assert client.ask(request, response, 3, **asked).error_code == 31
        assert remote.controller.broker_epochs == {}


def test_the_gateway_tells_what_brokers_may_ask() -> None:
    apis = with_remote_brokers()
    offered = {key: (api.messages.versions.start, api.messages.versions[-1]) for key, api in apis.items()}
    assert {key: offered[key] for key in (7, 56, 62, 63)} == {7: (1, 3), 56: (0, 3), 62: (0, 4), 63: (0, 1)}
    with pytest.raises(ValueError, match="session_s must be positive"):
        with_remote_brokers(session_s=0)


@pytest.mark.parametrize("broker_listener", [None, "CLIENTS", "OTHER"])
def test_clients_get_the_listener_of_that_name_or_the_gateway(broker_listener: str | None) -> None:
    """A broker without such a listener stays at the gateway."""
    with Served({1: "a"}, apis=with_remote_brokers(), broker_listener=broker_listener) as served:
        with RawClient(served.address) as client:
            listeners = [
                {"name": name, "host": "127.0.0.1", "port": port, "security_protocol": 0}
                for name, port in {"ORDERS": 1, "CLIENTS": 2}.items()
            ]
            assert register(client, 7, NOWHERE, listeners=listeners).error_code == 0
            until(lambda: served.controller.describe().live_brokers == (1, 7))
            metadata = client.ask(MetadataRequest, MetadataResponse, 12, topics=[])
            described = client.ask(DescribeClusterRequest, DescribeClusterResponse, 0)
        told = {b.node_id: (b.host, b.port) for b in metadata.brokers}
        assert told == {b.broker_id: (b.host, b.port) for b in described.brokers}
        assert (told[7] == ("127.0.0.1", 2)) == (broker_listener == "CLIENTS")
        ours = [b for b in told if b == 1 or broker_listener != "CLIENTS"]
        for broker, address in served.gateway.addresses(ours).items():
            assert told[broker] == (address.host, address.port)
