"""Brokers of one process under the controller of another: all their requests and answers go by TCP."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kafka
import pytest

from kedge import Controller, TopicPartition
from kedge.controller.model.errors import FencedLeaderEpoch, NotController, StaleBrokerEpoch, UnknownTopicOrPartition
from kedge.controller.model.host import StopReplicaPartition, StopReplicaRequest
from kedge.controller.model.logs import Batch
from kedge.controller.model.view import ClusterView
from kedge.controller.runtime.log_reports import LogReport
from kedge.controller.wire import Limits, Peers, Tls, Users
from kedge.controller.wire.link import NotDelivered
from kedge.controller.wire.remote import RemoteHost
from tests.kit.waiting import until
from tests.wire.certificates import Authority
from tests.wire.served import DEADLINE_S, RawClient
from tests.wire.sharing import Shared, as_gateway

_GONE = StopReplicaPartition("t", "AAECAwQFBgcICQoLDA0ODw", 0, 0, delete=False)
REPORT = ("ReportLogs", 0)
ORDERS: dict[tuple[str, int], dict[str, list[Any]]] = {
    ("LeaderAndIsr", 7): {"topic_states": [], "live_leaders": []},
    ("UpdateMetadata", 8): {"topic_states": [], "live_brokers": []},
    ("StopReplica", 4): {"topic_states": []},
}


@pytest.fixture(scope="module")
def shared() -> Iterator[Shared]:
    with Shared() as opened:
        yield opened


def write(shared: Shared, tp: TopicPartition, size: int = 1000) -> None:
    """Until it is taken, as producers do: leaders change."""

    def taken() -> bool:
        answer = shared.cluster.logs.append(None, tp, Batch(b"x" * size, 1, 0), acks=-1, timeout_ms=10_000)
        return not answer.result(DEADLINE_S).error

    until(taken)


def isr(controller: Controller, tp: TopicPartition) -> set[int]:
    """As it is committed."""

    def ask(view: ClusterView) -> set[int]:
        found = view.partition(tp.topic, tp.partition)
        return set() if found is None else set(found.isr)

    return controller.query(ask).result(DEADLINE_S)


@pytest.mark.slow
def test_a_topic_lives_moves_and_goes_by_orders_from_elsewhere(shared: Shared) -> None:
    """LeaderAndIsr, UpdateMetadata, AlterPartition and StopReplica, there and back; no log is left where it left."""
    tp = shared.topic("moves", [[1, 2]])[0]
    write(shared, tp)
    shared.controller.admin.alter_partition_reassignments({tp: [3, 2]}).all().result(DEADLINE_S)
    until(lambda: shared.controller.describe().reassigning_partitions == 0)
    assert isr(shared.controller, tp) == {2, 3}
    until(lambda: shared.broker(1).replica(tp) is None)
    assert shared.broker(3).controller_id == 102
    write(shared, tp)
    shared.controller.admin.delete_topics(["moves"]).all().result(DEADLINE_S)
    until(lambda: not any(broker.replica(tp) for broker in shared.cluster.brokers.values()))


@pytest.mark.full
def test_what_logs_hold_is_known_to_the_controller_elsewhere(shared: Shared) -> None:
    """Also what changes, and what changes back; and to a controller that forgot it, in some seconds."""
    tp = shared.topic("reported", [[2, 3]])[0]
    write(shared, tp, 700)

    def reported(broker: int) -> tuple[int, int] | None:
        found = shared.controller.reported_log(tp, broker)
        return None if found is None else (found.end_offset, found.size_bytes or 0)

    until(lambda: reported(2) == reported(3) == (1, 700))
    assert reported(1) is None
    shared.controller.report_log(LogReport("reported", 0, 2, 0, 0, 9, 9, 9))
    until(lambda: reported(2) == (1, 700))


def test_no_two_producers_get_the_same_id_whichever_process_they_ask(shared: Shared) -> None:
    asked = [each.logs.new_producer_id() for each in (shared.cluster, shared.leading) for _ in range(3)]
    ids = [future.result(DEADLINE_S) for future in asked]
    assert len(set(ids)) == 6
    assert abs(ids[0] - ids[3]) > 1_000_000
    assert all(0 <= each < 2**63 for each in ids)


@pytest.mark.slow
def test_groups_are_coordinated_where_the_brokers_are(shared: Shared) -> None:
    (tp,) = shared.topic("grouped", [[1, 2, 3]])
    for number, gateway in enumerate((shared.active, shared.standby)):
        bootstrap = f"{gateway.address.host}:{gateway.address.port}"
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap)
        producer.send(tp.topic, str(number).encode()).get(timeout=DEADLINE_S)
        producer.close()
        options = {"group_id": "g", "auto_offset_reset": "earliest", "consumer_timeout_ms": int(DEADLINE_S * 1000)}
        consumer = kafka.KafkaConsumer(tp.topic, bootstrap_servers=bootstrap, **options)
        assert next(consumer).value == str(number).encode()
        consumer.close()
    assert shared.standby.counts["Produce"] > 0  # records are the gateway's own affair, though its controller stands by


def test_errors_of_an_isr_change_are_what_the_controller_answers(shared: Shared) -> None:
    tp = shared.topic("errors", [[1, 2, 3]])[0]
    epoch = shared.broker(1).epoch
    replica = shared.broker(1).replica(tp)
    assert replica is not None
    now = (replica.leader_epoch, replica.partition_epoch)
    changes = {
        shared.asking.alter_isr(tp, 1, now[0] - 1, now[1], [1, 2], epoch): FencedLeaderEpoch,
        shared.asking.alter_isr(tp, 1, *now, [1, 2], epoch - 1): StaleBrokerEpoch,
        shared.asking.alter_isr(TopicPartition("none", 0), 1, *now, [1], epoch): UnknownTopicOrPartition,
    }
    accepted = shared.asking.alter_isr(tp, 1, *now, [1, 2], epoch).result(DEADLINE_S)
    assert (set(accepted.isr), accepted.partition_epoch) == ({1, 2}, now[1] + 1)
    for future, kind in changes.items():
        assert type(future.exception(DEADLINE_S)) is kind
    until(lambda: isr(shared.controller, tp) == {1, 2, 3})  # the third one is in sync, and asked for again


def test_orders_are_taken_at_the_addresses_of_brokers_alone_and_not_from_older_controllers(shared: Shared) -> None:
    broker = shared.broker(2)
    stale = {"controller_id": 99, "controller_epoch": 0, "broker_epoch": broker.epoch}
    for (api, version), fields in ORDERS.items():
        for address, code in {shared.standby.address: 42, shared.standby.addresses((2,))[2]: 11}.items():
            with as_gateway(address) as client:
                assert client.ask(api, version, **stale, **fields).error_code == code


def offered(client: RawClient) -> dict[int, tuple[int, int]]:
    """Of the APIs by which brokers get orders."""
    rows = client.ask("ApiVersions", 4).api_keys
    return {row.api_key: (row.min_version, row.max_version) for row in rows if row.api_key in {4, 5, 6}}


def test_orders_are_offered_to_gateways_alone_and_accepted_from_no_other(shared: Shared) -> None:
    """A client that sends one all the same is disconnected, and the broker hears nothing."""
    broker, address = shared.broker(2), shared.standby.addresses((2,))[2]
    known = broker.controller_epoch
    claimed = {"controller_id": 99, "controller_epoch": known + 1, "broker_epoch": broker.epoch}
    for (api, version), fields in ORDERS.items():
        with RawClient(address) as client:
            assert offered(client) == {}
            with pytest.raises(AssertionError, match="hung up"):
                client.ask(api, version, **claimed, **fields)
    with as_gateway(address) as client:
        assert offered(client) == {4: (7, 7), 5: (4, 4), 6: (8, 8)}
    assert broker.controller_epoch == known


def test_orders_are_about_any_number_of_partitions() -> None:
    """However few elements the requests of clients may have."""
    with Shared(limits=Limits(elements=1000, elements_of_others=20)) as limited:
        tps = limited.topic("wide", [[1, 2, 3]] * 200)
        write(limited, tps[-1])


def test_broker_that_is_down_gets_no_request(shared: Shared) -> None:
    shared.cluster.kill_broker(3)
    until(lambda: shared.controller.describe().live_brokers == (1, 2))
    (api, version), fields = next(iter(ORDERS.items()))
    with as_gateway(shared.standby.addresses((3,))[3]) as client, pytest.raises(AssertionError, match="hung up"):
        client.ask(api, version, controller_id=102, controller_epoch=1, broker_epoch=0, **fields)
    shared.cluster.restart_broker(3)
    until(lambda: shared.controller.describe().live_brokers == (1, 2, 3))


@pytest.mark.parametrize("log", [{"end_offset": -1}, {"partition_index": -1}])
def test_reports_of_what_cannot_be_are_refused(shared: Shared, log: dict[str, int]) -> None:
    numbers = {"partition_index": 0, "leader_epoch": 0, "start_offset": 0, "end_offset": 5, "high_watermark": 5}
    topics = [{"name": "t", "partitions": [numbers, {**numbers, **log}]}]
    with RawClient(shared.active.address) as client:
        assert client.ask(*REPORT, broker_id=1, topics=topics).error_code == 42
    assert shared.controller.reported_log(TopicPartition("t", 0), 1) is None


@pytest.mark.slow
def test_closed_gateway_answers_that_there_is_no_controller() -> None:
    with Shared() as shared:
        shared.standby.close()
        future = shared.asking.alter_isr(TopicPartition("t", 0), 1, 0, 0, [1], 0)
        assert isinstance(future.exception(DEADLINE_S), NotController)
        assert isinstance(shared.asking.ask(3, 0, {}).exception(DEADLINE_S), NotController)


@pytest.mark.slow
def test_brokers_go_on_under_their_own_controller_when_the_other_one_ends() -> None:
    """What was asked of the one that is gone is asked again."""
    with Shared() as shared:
        tp = shared.topic("orders", [[1, 2, 3]])[0]
        shared.leading.close()
        controller = shared.cluster.controller
        until(lambda: controller.is_active)
        shared.cluster.kill_broker(3)
        until(lambda: controller.describe().live_brokers == (1, 2))
        shared.cluster.restart_broker(3)
        write(shared, tp)
        until(lambda: isr(controller, tp) == {1, 2, 3})


def _gateways(principal: str, *_: str) -> bool:
    return principal == "User:kedge-gateway"


@pytest.mark.slow
@pytest.mark.parametrize("login", ["password", "password and TLS", "certificate"])
def test_brokers_are_ordered_by_who_knows_the_secret_whatever_clients_have_to_show(tmp_path: Path, login: str) -> None:
    """No other has any right."""
    peers: dict[str, Any] = {"secret": "of the processes"}
    options: dict[str, Any] = {"authorizer": _gateways}
    if login != "certificate":
        options["users"] = Users({"root": "secret"})
    if login != "password":
        authority = Authority(tmp_path)
        ours = authority.sign("gateway")
        options["tls"] = Tls(ours.certificate, ours.key, authority.file if login == "certificate" else None)
        peers["tls"] = ssl.create_default_context(cafile=str(authority.file))
        peers["tls"].load_cert_chain(ours.certificate, ours.key)
    with Shared("SASL_PLAINTEXT" if login == "password" else "SASL_SSL", peers, **options) as shared:
        tp = shared.topic("orders", [[1, 2, 3]])[0]
        shared.cluster.kill_broker(3)
        until(lambda: isr(shared.controller, tp) == {1, 2})
        shared.cluster.restart_broker(3)
        until(lambda: isr(shared.controller, tp) == {1, 2, 3})  # which the leader asks for


@pytest.mark.slow
def test_brokers_are_not_ordered_by_who_has_another_secret() -> None:
    with Shared("SASL_PLAINTEXT", {"secret": "of the processes"}, users=Users({}), authorizer=_gateways) as shared:
        host = RemoteHost(peers=Peers(store=shared.finding, secret="of somebody else"))  # noqa: S106
        host.attach(shared.controller)
        broker = shared.broker(1)
        request = StopReplicaRequest(1, broker.epoch, 102, broker.controller_epoch, (_GONE,))
        with pytest.raises(NotDelivered, match="refuses the login"):
            host.stop_replica(request)
        host.close()
