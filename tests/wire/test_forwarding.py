"""Clients of a stand-by's gateway are answered by the active controller."""

from __future__ import annotations

import gc
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Self

import kafka
import pytest
from kafka.admin import ConfigResource

from kedge import BrokerRegistration, Controller, NewTopic
from kedge.controller.codec import keys
from kedge.controller.wire import Acls, Gateway, Limits, Peers, Tls, Users
from kedge.controller.wire.messages import RelayRequest, RelayResponse
from kedge.controller.wire.protocol import build
from kedge.stores import MemoryStore
from kedge.stores.faults import FailBefore, FaultStore, LoseReply, Rule
from kedge.stores.memory import MemoryServer
from tests.kit.waiting import until
from tests.runtime.world import Brokers
from tests.wire.certificates import Authority
from tests.wire.served import RACKS, RawClient, frame_of
from tests.wire.test_access import logged_in

ALTER = ("IncrementalAlterConfigs", 1)
METADATA = ("Metadata", 12)


class Node:
    """A controller, its gateway, and their clients of the store."""

    def __init__(
        self,
        server: MemoryServer,
        node_id: int,
        peers: dict[str, Any],
        options: dict[str, Any],
        plan: tuple[Rule, ...] = (),
    ) -> None:
        self.store, self.other = MemoryStore(server), MemoryStore(server)
        self.faults = FaultStore(self.other, plan)
        with ExitStack() as stack:
            stack.callback(self.store.close)
            stack.callback(self.other.close)
            self.controller = stack.enter_context(Controller(self.store, node_id, Brokers()))
            self.controller.start()
            found = Peers(store=self.faults, **peers)
            self.gateway = Gateway(self.controller, cluster_id="kedge-under-test", peers=found, **options)
            self.address = stack.enter_context(self.gateway).address
            self.close = stack.pop_all().close


class Pair:
    """Two nodes over one store, of which the first leads; the brokers are those of the second."""

    def __init__(self, peers: dict[str, Any] | None = None, **options: Any) -> None:
        self.server = MemoryServer()
        self._made = (peers or {}, options)

    def __enter__(self) -> Self:
        self.active = Node(self.server, 1, *self._made)
        until(lambda: self.active.controller.is_active)
        self.standby = Node(self.server, 2, *self._made)
        for broker, rack in RACKS.items():
            self.standby.controller.register_broker(BrokerRegistration(broker, rack=rack))
        until(lambda: self.active.controller.describe().live_brokers == tuple(RACKS))
        until(lambda: self.standby.controller.active_id == 1)
        self.active.controller.admin.create_topics({"orders": NewTopic(1, 3)}).all().result(30)
        return self

    def __exit__(self, *_: object) -> None:
        self.active.close()
        self.standby.close()


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with Pair() as opened:
        yield opened


def alter(client: RawClient, value: int) -> int:
    """The error of setting a topic's retention."""
    configs = [{"name": "retention.ms", "config_operation": 0, "value": str(value)}]
    asked = [{"resource_type": 2, "resource_name": "orders", "configs": configs}]
    return int(client.ask(*ALTER, resources=asked).responses[0].error_code)


def retention(controller: Controller) -> str | None:
    return controller.query(lambda view: view.topic_config("orders").get("retention.ms")).result(30)


def test_a_standby_answers_as_the_active_one_does_with_addresses_of_its_own(pair: Pair) -> None:
    with RawClient(pair.active.address) as there, RawClient(pair.standby.address) as here:
        expected, answer = (client.ask(*METADATA, topics=None) for client in (there, here))
        assert not {broker.port for broker in answer.brokers} & {broker.port for broker in expected.brokers}
        ports = {broker.port for broker in answer.brokers}
        for broker in answer.brokers:
            with RawClient(broker) as at_broker:
                assert at_broker.ask(*METADATA, topics=None).encode() == answer.encode()
        answer.brokers = expected.brokers
        assert answer.encode() == expected.encode()
        cluster = here.ask("DescribeCluster", 1)
        assert {broker.port for broker in cluster.brokers} == ports
        assert [topic.name for topic in answer.topics] == ["orders"]
        assert alter(here, 5000) == 0
        assert retention(pair.active.controller) == "5000"
        assert here.ask("ApiVersions", 4).error_code == 0
    assert pair.standby.gateway.counts["forwarded"] >= 2
    assert pair.active.gateway.counts["relayed"] >= 2
    assert not pair.active.gateway.counts["forwarded"]


def test_what_is_refused_there_ends_the_connection_here(pair: Pair) -> None:
    before = pair.active.gateway.counts["garbage"]
    with RawClient(pair.standby.address) as client:
        client.send(b"\0\0\0\x0e\0\3\0\1\0\0\0\1\xff\xff\x7f\xff\xff\xff")  # Metadata of 2^31-1 topics
        assert client.receive() is None
    assert pair.active.gateway.counts["garbage"] == before + 1
    until(lambda: pair.standby.gateway.counts["forward_refused"] == 1)


def test_who_does_not_lead_says_so_and_passes_nothing_on_again(pair: Pair) -> None:
    before = pair.active.gateway.counts["relayed"]
    nested = frame_of("Relay", 0, principal="", broker_id=-1, frame=b"")
    for node, frame, code in ((pair.standby, frame_of(*METADATA, topics=None), 41), (pair.active, nested, 42)):
        with RawClient(node.address) as client:
            answer = client.ask("Relay", 0, principal="User:root", broker_id=-1, frame=frame)
        assert (answer.error_code, answer.answer) == (code, None)
    assert pair.active.gateway.counts["relayed"] == before + 1


@pytest.mark.slow
def test_a_gateway_is_found_by_a_key_that_ends_with_it_and_comes_back_with_a_new_session(pair: Pair) -> None:
    with closing(MemoryStore(pair.server)) as store:
        entry = store.get(keys.gateway(2), timeout_s=5)
        assert entry is not None
        assert json.loads(entry.value) == {"version": 1, "host": "127.0.0.1", "port": pair.standby.address.port}
        assert entry.owner == pair.standby.other.session.session_id
        pair.standby.other.expire()
        until(lambda: (again := store.get(keys.gateway(2), timeout_s=5)) is not None and again.owner != entry.owner)
        with closing(Node(pair.server, 3, {}, {})):
            assert store.get(keys.gateway(3), timeout_s=5) is not None
        assert store.get(keys.gateway(3), timeout_s=5) is None


@pytest.mark.slow
def test_faults_of_the_store_delay_a_client_and_no_more(pair: Pair) -> None:
    """Neither the key is put nor the other one's is read at first."""
    put, read = keys.gateway(3), keys.gateway(1)
    plan = (
        Rule(FailBefore(), "commit", put, 1),
        Rule(LoseReply(), "commit", put, 2),
        *(Rule(FailBefore(), "get", read, nth) for nth in range(1, 6)),
    )
    with closing(Node(pair.server, 3, {}, {}, plan)) as third:
        until(lambda: third.controller.active_id == 1)
        with RawClient(third.address) as client:
            assert [topic.name for topic in client.ask(*METADATA, topics=None).topics] == ["orders"]
        until(lambda: third.other.get(put, timeout_s=5) is not None)
        assert len([call for call in third.faults.calls if call.name == "get" and read in call.keys]) == 6


@pytest.mark.slow
def test_gateways_that_ask_for_certificates_tell_each_other_whose_they_were(tmp_path: Path) -> None:
    authority, rights = Authority(tmp_path), tmp_path / "acls.json"
    ours = authority.sign("gateway")
    may = {"principal": "User:CN=alice", "operations": ["DESCRIBE"], "resources": ["TOPIC:*"]}
    rights.write_text(json.dumps({"version": 1, "acls": [may]}))
    context = ssl.create_default_context(cafile=str(authority.file))
    context.load_cert_chain(ours.certificate, ours.key)
    options = {"tls": Tls(ours.certificate, ours.key, authority.file), "authorizer": Acls.from_file(rights)}
    with Pair({"secret": "of gateways", "tls": context}, **options) as pair:
        for name, told in {"alice": ["orders"], "bob": []}.items():
            own = authority.sign(name)
            client = kafka.KafkaAdminClient(
                bootstrap_servers=f"127.0.0.1:{pair.standby.address.port}",
                security_protocol="SSL",
                ssl_cafile=str(authority.file),
                ssl_certfile=str(own.certificate),
                ssl_keyfile=str(own.key),
            )
            try:
                assert client.list_topics() == told
            finally:
                client.close()
        assert pair.active.gateway.counts["relayed"] >= 2


def write_until(
    ended: threading.Event,
    client: kafka.KafkaAdminClient,
    store: MemoryStore,
    acknowledged: list[int],
    untrue: list[int],
) -> None:
    """Set the retention again and again; `untrue`: what was acknowledged and does not stand in the store."""
    number = 0
    while not ended.is_set():
        number += 1
        resource = ConfigResource("topic", "orders", {"retention.ms": str(number)})
        try:
            said = client.alter_configs([resource], incremental=True)["topic"]["orders"]
        except kafka.errors.KafkaError as error:
            said = str(error)
        except ValueError as error:  # a description that is refused is to kafka-python one without settings
            said = str(error)
            assert said == "Unrecognized configs: {'retention.ms'}"
        if said == "OK":
            acknowledged.append(number)
            entry = store.get(keys.topic_config("orders"), timeout_s=5)
            if entry is None or f'"{number}"' not in entry.value.decode():
                untrue.append(number)
        else:
            time.sleep(0.01)  # as clients do: not known, so it asks again


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that the client forgets
@pytest.mark.parametrize("how", ["it is closed", "its session ends"])
def test_the_active_one_dies_under_a_client_of_kafka_and_every_answer_it_got_was_true(how: str) -> None:
    with Pair() as pair, closing(MemoryStore(pair.server)) as store:
        bootstrap = f"127.0.0.1:{pair.standby.address.port}"
        client = kafka.KafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=10_000)
        acknowledged: list[int] = []
        untrue: list[int] = []
        ended = threading.Event()
        writer = threading.Thread(target=write_until, args=(ended, client, store, acknowledged, untrue))
        writer.start()

        def leader() -> Controller | None:
            nodes = (pair.active.controller, pair.standby.controller)
            return next((node for node in nodes if node.is_active and node.controller_epoch == 2), None)

        try:
            until(lambda: len(acknowledged) > 20)
            if how == "it is closed":
                pair.active.close()
            else:
                pair.active.store.expire()
            until(leader)
            survived = len(acknowledged)
            until(lambda: len(acknowledged) > survived + 20)
        finally:
            ended.set()
            writer.join()
            client.close()
            gc.collect()
        found = leader()
        assert found is not None
        assert retention(found) == str(acknowledged[-1])
        assert untrue == []


@pytest.mark.slow
def test_who_asked_is_believed_from_a_gateway_only_and_rights_are_those_of_the_one_who_asked(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    ours = authority.sign("gateway")
    rights = tmp_path / "acls.json"
    may = {"principal": "User:describes", "operations": ["DESCRIBE"], "resources": ["TOPIC:orders"]}
    rights.write_text(json.dumps({"version": 1, "super_users": ["User:root"], "acls": [may]}))
    users = Users(dict.fromkeys(("nobody", "describes", "root", "kedge-gateway"), "secret"))
    options: dict[str, Any] = {"users": users, "authorizer": Acls.from_file(rights)}
    with Pair({"secret": "of gateways"}, **options) as pair:
        told = {}
        for name in ("nobody", "describes", "root"):
            with logged_in(pair.standby, name) as client:  # type: ignore[arg-type]
                told[name] = [topic.name for topic in client.ask(*METADATA, topics=None).topics]
                assert alter(client, 7) == (0 if name == "root" else 29)
                client.begin("Relay", 0, principal="User:root", broker_id=-1, frame=b"")
                assert client.receive() is None  # only a gateway may name the client
        assert told == {"nobody": [], "describes": ["orders"], "root": ["orders"]}
        assert pair.active.gateway.counts["relayed"] == 6
        with RawClient(pair.active.address) as client:  # the name of gateways has the secret of gateways
            client.ask("SaslHandshake", 1, mechanism="PLAIN")
            token = {"auth_bytes": b"\0kedge-gateway\0secret"}
            assert client.ask("SaslAuthenticate", 2, **token).error_code == 58
    tls = Tls(ours.certificate, ours.key)
    with pytest.raises(ValueError, match=r"Peers\.tls"), Pair({"secret": "s"}, tls=tls, **options):
        pass
    with pytest.raises(ValueError, match=r"Peers\.secret"), Pair(**options):
        pass


def test_relay_has_these_bytes() -> None:
    request = build(RelayRequest, 0, {"principal": "User:a", "broker_id": 3, "frame": b"\1\2"})
    assert bytes(request.encode()).hex() == "07557365723a61" + "00000003" + "030102" + "00"
    assert bytes(build(RelayResponse, 0, {"error_code": 41, "answer": None}).encode()).hex() == "0029" + "00" + "00"


def test_a_frame_that_has_no_room_to_be_passed_on_is_refused() -> None:
    with Pair(limits=Limits(request_bytes=10_000)) as pair, RawClient(pair.standby.address) as client:
        client.send((9_000).to_bytes(4) + b"\0\3\0\1\0\0\0\1\xff\xff" + bytes(8_990))
        assert client.receive() is None
        until(lambda: pair.standby.gateway.counts["too_large"] == 1)
