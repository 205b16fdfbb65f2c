"""The host that reaches brokers by TCP: what it sends to which version, and what it does when a broker fails it."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from kedge import BrokerRegistration, Controller, NewTopic
from kedge.controller.model.host import LeaderAndIsrRequest, UpdateMetadataRequest
from kedge.controller.model.values import Endpoint
from kedge.controller.wire import Tls, Users
from kedge.controller.wire import messages as m
from kedge.controller.wire.link import Link, NotDelivered
from kedge.controller.wire.messages import messages_of
from kedge.controller.wire.protocol import SIZE
from kedge.controller.wire.remote import Credentials, RemoteHost
from kedge.stores import MemoryServer, MemoryStore
from tests.kit.waiting import until
from tests.wire.certificates import Authority
from tests.wire.peers import Peer
from tests.wire.remote import Remote
from tests.wire.served import RawClient
from tests.wire.test_sessions import register as announce

LATEST = {4: (0, 7), 5: (0, 4), 6: (0, 8)}
LEADER_AND_ISR = messages_of("LeaderAndIsr")


@pytest.fixture
def host() -> Iterator[RemoteHost]:
    with closing(RemoteHost(timeout_s=5.0)) as opened:
        yield opened


@pytest.fixture
def controller(host: RemoteHost) -> Iterator[Controller]:
    with driving(host) as opened:
        yield opened


def create_orders(controller: Controller, *, deleted: bool = False) -> None:
    """Once broker 1 is alive. `deleted`: and delete it."""
    until(lambda: controller.describe().live_brokers == (1,))
    controller.admin.create_topics({"orders": NewTopic(1, 1)}).all().result(30)
    if deleted:
        controller.admin.delete_topics(["orders"]).all().result(30)
        until(lambda: controller.describe().replicas_to_delete == 0 and not controller.describe().deleting_topics)


@contextmanager
def driving(host: RemoteHost) -> Iterator[Controller]:
    with closing(MemoryStore()) as store, closing(host), Controller(store, 1, host) as controller:
        host.attach(controller)
        controller.start()
        yield controller


def register(controller: Controller, broker_id: int, peer: Peer) -> int:
    return controller.register_broker(BrokerRegistration(broker_id, peer.address.host, peer.address.port))


def asked(peer: Peer, kind: Any) -> list[Any]:
    return [request for request in peer.asked if isinstance(request, kind)]


def states(peer: Peer) -> list[Any]:
    """Every partition that the peer got by LeaderAndIsr, in order."""
    requests = asked(peer, m.LeaderAndIsrRequest)
    grouped = [p for request in requests for topic in request.topic_states or () for p in topic.partition_states]
    return grouped + [p for request in requests for p in request.ungrouped_partition_states or ()]


def until_not_delivered(controller: Controller, words: str) -> None:
    until(lambda: any(words in text for text in controller.describe().findings.values()))


@pytest.mark.parametrize("version", range(8))
def test_each_version_of_leader_and_isr_tells_a_broker_what_it_leads(controller: Controller, version: int) -> None:
    with Peer({**LATEST, 4: (0, version)}) as peer:
        epoch = register(controller, 1, peer)
        create_orders(controller)
        until(lambda: states(peer))
    assert states(peer)[0].leader == 1
    assert {request.API_VERSION for request in asked(peer, m.LeaderAndIsrRequest)} == {version}
    assert {r.broker_epoch for r in asked(peer, m.LeaderAndIsrRequest)} == {epoch if version >= 2 else -1}
    assert asked(peer, m.UpdateMetadataRequest)


@pytest.mark.parametrize("version", range(5))
def test_a_topic_that_is_deleted_is_deleted_on_brokers_of_every_version(controller: Controller, version: int) -> None:
    with Peer({**LATEST, 5: (0, version)}) as peer:
        register(controller, 1, peer)
        create_orders(controller, deleted=True)
    assert {request.API_VERSION for request in asked(peer, m.StopReplicaRequest)} == {version}


def test_connection_to_a_broker_that_left_is_closed(controller: Controller) -> None:
    """When the others hear that it left."""
    with Peer(LATEST) as staying, Peer(LATEST) as leaving:
        register(controller, 1, staying)
        epoch = register(controller, 2, leaving)
        until(lambda: asked(leaving, m.UpdateMetadataRequest))
        controller.unregister_broker(2, epoch)
        until(lambda: leaving.ended == 1)
        assert staying.ended == 0


@pytest.mark.slow
def test_a_broker_that_refuses_to_delete_is_asked_again(controller: Controller) -> None:
    refusals = [56]

    def answer(request: Any) -> dict[str, Any]:
        if not isinstance(request, m.StopReplicaRequest) or not refusals:
            return {}
        row = {"topic_name": "orders", "partition_index": 0, "error_code": refusals.pop()}
        return {"partition_errors": [row]}

    with Peer(LATEST, answer) as peer:
        register(controller, 1, peer)
        create_orders(controller, deleted=True)
    assert len(asked(peer, m.StopReplicaRequest)) >= 2


def test_broker_without_the_api_gets_no_request_and_is_named(controller: Controller) -> None:
    with Peer({6: (0, 8)}) as peer:
        register(controller, 1, peer)
        until_not_delivered(controller, "supports LeaderAndIsr in no version, this host 0 to 7")
    assert peer.asked == []


def test_what_a_broker_closed_meanwhile_is_asked_again_on_a_new_connection(
    controller: Controller,
) -> None:
    with Peer(LATEST) as peer:
        register(controller, 1, peer)
        until(lambda: asked(peer, m.UpdateMetadataRequest))
        hang_ups = [None]
        peer.answer = lambda _: hang_ups.pop() if hang_ups else {}
        create_orders(controller)
        until(lambda: len(states(peer)) == 2)  # once for nothing, once more on the new connection
        assert peer.connections == 2
    first, second = asked(peer, m.LeaderAndIsrRequest)[-2:]
    assert first.to_dict() == second.to_dict()
    assert not any("not delivered" in text for text in controller.describe().findings.values())


def test_a_broker_that_comes_back_elsewhere_is_found_there(controller: Controller) -> None:
    with Peer(LATEST) as first, Peer(LATEST) as second:
        epoch = register(controller, 1, first)
        until(lambda: asked(first, m.UpdateMetadataRequest))
        controller.unregister_broker(1, epoch)
        later = register(controller, 1, second)
        until(lambda: asked(second, m.LeaderAndIsrRequest))
    assert asked(second, m.LeaderAndIsrRequest)[0].broker_epoch == later
    assert asked(second, m.LeaderAndIsrRequest)[0].request_type == 2


@pytest.mark.slow
def test_a_broker_that_does_not_answer_in_time_is_given_up() -> None:
    with Peer(LATEST, lambda _: b"") as peer, closing(Link(peer.address, 0.2)) as link:
        began = time.monotonic()
        with pytest.raises(NotDelivered, match=r"did not answer"):
            link.ask(LEADER_AND_ISR, 7, {})
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    "answer, words",
    [
        (b"\xff\xff\xff\xff", "announces -1 bytes"),
        (b"\x7f\xff\xff\xff", "announces 2147483647 bytes"),
        (SIZE.pack(3) + b"abc", "no LeaderAndIsr response"),
        (SIZE.pack(9) + b"\x00\x00\x00\x63\x00\x00\x00\x01\x00", "response to 99"),
        (None, "closed the connection before it answered"),
    ],
)
def test_what_is_no_answer_is_not_delivered(answer: bytes | None, words: str) -> None:
    with (
        Peer(LATEST, lambda _: answer) as peer,
        closing(Link(peer.address, 5.0)) as link,
        pytest.raises(NotDelivered, match=words),
    ):
        link.ask(LEADER_AND_ISR, 7, {})


def test_who_is_not_there_is_not_reached() -> None:
    with Peer(LATEST) as peer:
        address = peer.address
    with pytest.raises(NotDelivered, match="cannot be reached"):
        Link(address, 5.0)


def test_a_host_without_its_controller_and_one_without_time_say_so() -> None:
    with pytest.raises(NotDelivered, match="no controller is attached"):
        RemoteHost().update_metadata(UpdateMetadataRequest(1, 1, 1, 1, True, (), ()))
    with pytest.raises(ValueError, match="timeout_s must be positive"):
        RemoteHost(timeout_s=0)


def test_a_broker_of_another_epoch_is_not_called(controller: Controller, host: RemoteHost) -> None:
    with Peer(LATEST) as peer:
        epoch = register(controller, 1, peer)
        until(lambda: controller.describe().live_brokers == (1,))
        with pytest.raises(NotDelivered, match="is not registered under epoch"):
            host.leader_and_isr(LeaderAndIsrRequest(1, epoch + 1, 1, 1, False, (), ()))


def test_a_broker_is_reached_by_whichever_controller_leads_wherever_it_registered() -> None:
    server = MemoryServer()
    with Remote(server=server, node_id=1) as first, Remote(server=server, node_id=2) as second, Peer(LATEST) as peer:
        until(lambda: first.controller.is_active)
        with RawClient(second.address) as client:
            assert announce(client, 7, peer.address).error_code == 0
        until(lambda: asked(peer, m.LeaderAndIsrRequest))
        first.controller.close()
        until(lambda: len({r.controller_epoch for r in asked(peer, m.LeaderAndIsrRequest)}) == 2)
    orders = asked(peer, m.LeaderAndIsrRequest)
    assert [r.controller_id for r in orders] == [1, 2]
    assert orders[0].controller_epoch < orders[1].controller_epoch
    assert [r.request_type for r in orders] == [2, 2]


def test_broker_with_tls_gets_requests_by_tls_and_its_certificate_is_checked(tmp_path: Path) -> None:
    authority, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    signed = authority.sign("broker")
    trusting, wary = (ssl.create_default_context(cafile=str(each.file)) for each in (authority, stranger))
    with Peer(LATEST, tls=Tls(signed.certificate, signed.key).context()) as peer:
        address = (peer.address.host, peer.address.port)
        with driving(RemoteHost(tls=trusting)) as controller:
            listener = Endpoint("INTERNAL", *address, "SSL")
            controller.register_broker(BrokerRegistration(1, *address, endpoints=(listener,)))
            until(lambda: asked(peer, m.UpdateMetadataRequest))
        with pytest.raises(NotDelivered, match="certificate verify failed"):
            Link(peer.address, 5.0, wary)


USERS = {"kedge": "be,tween=brokers"}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_broker_that_requires_a_login_gets_requests_after_it(tmp_path: Path, protocol: str, mechanism: str) -> None:
    authority = Authority(tmp_path)
    signed = authority.sign("broker")
    trusting = ssl.create_default_context(cafile=str(authority.file))
    trusting.check_hostname = False
    tls = Tls(signed.certificate, signed.key).context() if protocol == "SASL_SSL" else None
    login = Credentials("kedge", USERS["kedge"], mechanism)
    host = RemoteHost(tls=None if tls is None else trusting, login=login, plain_without_tls=True)
    with Peer(LATEST, tls=tls, users=Users(USERS)) as peer, driving(host) as it:
        it.register_broker(listening(peer, protocol))
        until(lambda: asked(peer, m.UpdateMetadataRequest))
        assert peer.connections == 1


@pytest.mark.parametrize(
    "login, words",
    [
        (Credentials("kedge", "wrong", "PLAIN"), "as 'kedge': error 58: Authentication failed: Invalid username"),
        (Credentials("kedge", "wrong"), "as 'kedge': error 58: Authentication failed during authentication"),
        (Credentials("nobody", "x", "SCRAM-SHA-256"), "as 'nobody': error 58"),
        (Credentials("\n", "x"), "the login by SCRAM-SHA-512 failed"),
    ],
    ids=["PLAIN", "SCRAM", "nobody", "no name"],
)
def test_a_broker_that_does_not_let_us_in_is_named_with_its_reason(login: Credentials, words: str) -> None:
    host = RemoteHost(login=login, plain_without_tls=True)
    with Peer(LATEST, users=Users(USERS)) as peer, driving(host) as controller:
        controller.register_broker(listening(peer, "SASL_PLAINTEXT"))
        until_not_delivered(controller, words)
        assert not any("wrong" in text for text in controller.describe().findings.values())
        assert not peer.asked


def test_credentials_are_of_a_mechanism_that_there_is_and_do_not_show_the_password() -> None:
    with pytest.raises(ValueError, match="GSSAPI"):
        Credentials("kedge", "secret", "GSSAPI")
    assert "secret" not in repr(Credentials("kedge", "secret"))


def listening(peer: Peer, protocol: str) -> BrokerRegistration:
    host, port = peer.address.host, peer.address.port
    return BrokerRegistration(1, host, port, endpoints=(Endpoint("INTERNAL", host, port, protocol),))


@pytest.mark.parametrize(
    "protocol, words",
    [
        ("SSL", "listens with SSL, but this host has no TLS context"),
        ("SASL_PLAINTEXT", "listens with SASL_PLAINTEXT, but this host has no credentials for a login"),
        ("SASL_SSL", "listens with SASL_SSL, but this host has no TLS context"),
        ("OTHER", "listens with OTHER, which this host does not support"),
    ],
)
def test_a_broker_that_cannot_be_spoken_to_is_named(controller: Controller, protocol: str, words: str) -> None:
    with Peer(LATEST) as peer:
        controller.register_broker(listening(peer, protocol))
        until_not_delivered(controller, words)
    assert peer.connections == 0
