"""Several `kedge serve` on one store: clients begin at either, and either may be killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import confluent_kafka as ck
import kafka
import pytest
from kafka.admin import NewTopic

from kedge.controller.wire.security.users import salted
from servers import free_ports
from tests.browser import dom
from tests.cli.store.places import etcd_url
from tests.kit.private import write_private
from tests.kit.waiting import until
from tests.serve.processes import ANYTHING, DEADLINE_S, NOT_REACHED, Running, begun, refuses_orders, running
from tests.serve.test_process import get
from tests.wire.certificates import Authority

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

NONE: Final = ("--broker-count", "0")
RACKS: Final = ("--racks", "a,b,c")


@pytest.fixture
def store(tmp_path: Path) -> tuple[str, str]:
    """The option that names it. So long there is no controller when the active one was killed."""
    return "--store", f"{etcd_url(tmp_path)}&session_timeout=5"


@pytest.fixture
def leading(store: tuple[str, str]) -> Iterator[Running]:
    """Controller 102, without brokers. It may tell that it does not reach brokers whose process ends."""
    with running(*store, "--node-id", "102", *NONE, may_say=ANYTHING) as found:
        assert found.is_active
        yield found


@pytest.fixture
def standing_by(store: tuple[str, str], leading: Running) -> Iterator[Running]:  # noqa: ARG001 - it is to lead
    """Controller 101, with three brokers and a topic that it asked the other one for."""
    with running(*store, *RACKS, "--topic", "orders:3:3", "--metrics", "127.0.0.1:0") as found:
        yield found


def refused(*arguments: str) -> str:
    """What a process says that is not to begin."""
    process = begun("--listen", "127.0.0.1:0", "--no-status", *arguments)
    said, complaint = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, said, complaint.count("\n")) == (2, "", 1), complaint
    return complaint


def described(at: Running, topic: str) -> tuple[dict[int, str], int, dict[int, int]]:
    """As a client that begins there sees it: where brokers are, who is for the controller, who leads."""
    with closing(kafka.KafkaAdminClient(bootstrap_servers=at.at["bootstrap"])) as admin:
        cluster = admin.describe_cluster()
        partitions = admin.describe_topics([topic])[0]["partitions"]
    brokers = {each["broker_id"]: f"{each['host']}:{each['port']}" for each in cluster["brokers"]}
    return brokers, cluster["controller_id"], {p["partition_index"]: p["leader_id"] for p in partitions}


def produced(at: Running, topic: str, **login: Any) -> int:
    """The offset of a record, written with acks=all by a client that begins there."""
    options = {"bootstrap_servers": at.at["bootstrap"], "acks": "all", **login}
    with closing(kafka.KafkaProducer(**options)) as producer:
        return int(producer.send(topic, b"x", partition=0).get(DEADLINE_S).offset)


def test_clients_may_begin_at_either(leading: Running, standing_by: Running) -> None:
    """The brokers' addresses are those of the process that has them, and there is everything that is asked of them."""
    ours = {int(broker): place for broker, place in standing_by.at["brokers"].items()}
    for at in (leading, standing_by):
        brokers, controller_id, leaders = described(at, "orders")
        assert brokers == ours
        assert controller_id in ours
        assert sorted(leaders.values()) == [1, 2, 3]
    assert [produced(leading, "orders"), produced(standing_by, "orders")] == [0, 1]
    refuses_orders(ours[1])  # of a client that is no controller on this store
    with closing(kafka.KafkaAdminClient(bootstrap_servers=standing_by.at["bootstrap"])) as admin:
        admin.create_topics([NewTopic("bills", 2, 2)], timeout_ms=30_000)
        assert "bills" in admin.list_topics()
        moved = kafka.TopicPartition("orders", 0)
        assert admin.alter_partition_reassignments({moved: [3, 2]}) == {moved: None}
        until(lambda: not admin.list_partition_reassignments())
    with closing(kafka.KafkaConsumer(bootstrap_servers=leading.at["bootstrap"])) as consumer:
        assert consumer.end_offsets([moved]) == {moved: 2}


def copies_all(at: Running) -> bool:
    """Whether it shows the rate in all that the test is about."""
    return bool(1_200 < at.status()["copy_rate_bytes_s"] < 2_800)


def test_transactions_are_answered_where_the_brokers_are(standing_by: Running) -> None:
    basis = {"bootstrap.servers": standing_by.at["bootstrap"]}
    consumer = ck.Consumer({**basis, "group.id": "g"})
    producer = ck.Producer({**basis, "transactional.id": "t"})
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce("orders", b"a", partition=0)
    place = [ck.TopicPartition("orders", 0, 1)]
    producer.send_offsets_to_transaction(place, consumer.consumer_group_metadata(), DEADLINE_S)
    producer.commit_transaction(DEADLINE_S)
    assert [each.offset for each in consumer.committed(place, DEADLINE_S)] == [1]
    consumer.close()


def test_active_page_shows_progress_of_brokers_elsewhere(leading: Running, store: tuple[str, str]) -> None:
    """The brokers live in the other process, and report how many bytes their logs hold."""
    with (
        running(*store, *RACKS, "--copy-rate", "2000", "--topic", "orders:1:1") as other,
        closing(kafka.KafkaAdminClient(bootstrap_servers=other.at["bootstrap"])) as admin,
        closing(kafka.KafkaProducer(bootstrap_servers=other.at["bootstrap"])) as producer,
    ):
        for _ in range(50):
            producer.send("orders", b"x" * 2_000, partition=0).get(DEADLINE_S)
        (held,) = admin.describe_topics(["orders"])[0]["partitions"][0]["replica_nodes"]
        target = held % 3 + 1
        admin.alter_partition_reassignments({kafka.TopicPartition("orders", 0): [target]})
        until(lambda: any(move["remaining_s"] for move in leading.status()["moves"]))
        shown = leading.status()
        (move,) = shown["moves"]
        (waits,) = move["waits_on"]
        assert waits["broker"] == target
        assert 0 < move["bytes_copied"] < move["bytes_to_copy"]
        assert move["bytes_to_copy"] > 100_000
        assert move["rate_bytes_s"] == pytest.approx(2_000, rel=0.6)
        until(lambda: copies_all(leading) and copies_all(other))  # their window of 10 s begins before the move
        assert other.status()["moves"] == []
        admin.alter_partition_reassignments({kafka.TopicPartition("orders", 0): None})


def test_pages_of_both_say_who_is_active(leading: Running, standing_by: Running, tmp_path: Path) -> None:
    assert [leading.at["active"], standing_by.at["active"]] == [102, 102]
    assert "This controller is on standby; controller 102 is active" in dom(standing_by.at["status"], tmp_path)
    produced(leading, "orders")
    until(lambda: all(each["bytes"] for each in standing_by.status()["brokers"]))  # followers copy it a moment later
    here, there = standing_by.status(), leading.status()
    assert (here["active"], here["controller"], here["controller_epoch"]) == (102, 101, None)
    assert (there["active"], there["controller"], there["topics"]) == (102, 102, 1)
    assert [(each["id"], each["replicas"]) for each in here["brokers"]] == [(1, 3), (2, 3), (3, 3)]
    assert all(each["bytes"] for each in here["brokers"])
    until(lambda: [b["bytes"] for b in leading.status()["brokers"]] == [b["bytes"] for b in here["brokers"]])
    assert 'kafka_controller_kafkacontroller_activecontrollercount{controller_id="101"} 0.0' in get(
        standing_by.at["metrics"]
    )


def test_a_second_process_needs_an_id_of_its_own_and_no_brokers(
    store: tuple[str, str], leading: Running, standing_by: Running
) -> None:
    said = refused(*store, "--node-id", "102", *NONE)
    where = leading.at["bootstrap"]
    assert said.startswith(f"kedge: --node-id 102: controller 102 is already running, its gateway listens at {where}; ")
    said = refused(*store, "--node-id", "103")
    first = standing_by.at["brokers"]["1"]
    assert said.startswith(f"kedge: --brokers: broker 1 is already registered at {first}; ")
    assert [leading.is_active, standing_by.is_active] == [True, False]
    assert produced(leading, "orders") == 0


def test_who_stands_by_takes_over_and_producers_go_on(leading: Running, standing_by: Running) -> None:
    """Clients of the one that is killed go on, too: the brokers are elsewhere."""
    with closing(kafka.KafkaProducer(bootstrap_servers=leading.at["bootstrap"], acks="all")) as producer:
        offsets = [producer.send("orders", b"x", partition=0).get(DEADLINE_S).offset]
        leading.kill()
        while not offsets[1:] or not standing_by.is_active:
            offsets.append(producer.send("orders", b"x", partition=0).get(DEADLINE_S).offset)
        offsets.append(producer.send("orders", b"x", partition=0).get(DEADLINE_S).offset)
    assert offsets == list(range(len(offsets)))
    with closing(kafka.KafkaAdminClient(bootstrap_servers=standing_by.at["bootstrap"])) as admin:
        admin.create_topics([NewTopic("bills", 1, 3)], timeout_ms=30_000)
    assert produced(standing_by, "bills") == 0


def test_with_the_process_of_the_brokers_they_go_and_come_back(store: tuple[str, str]) -> None:
    """It led; the other one leads from then on. It may report the brokers that it does not reach."""
    victim = running(*store, "--node-id", "102", "--topic", "orders:1:3")
    with victim as killed, running(*store, *NONE, may_say=NOT_REACHED) as survivor:
        assert [killed.is_active, survivor.is_active] == [True, False]
        assert produced(survivor, "orders") == 0
        killed.kill()
        until(lambda: survivor.is_active and survivor.status()["leaderless"] == 1)
        until(lambda: not any(each["is_live"] for each in survivor.status()["brokers"]))
        with running(*store, "--node-id", "102") as back:
            until(lambda: survivor.status()["leaderless"] == 0)
            assert produced(survivor, "orders") == 0
            assert described(survivor, "orders")[0] == {int(b): at for b, at in back.at["brokers"].items()}


def test_a_process_that_comes_back_where_it_was_need_not_wait_for_what_it_left(store: tuple[str, str]) -> None:
    """The sessions of its brokers would live for longer than it is waited for."""
    where = ("--store", store[1].replace("session_timeout=5", "session_timeout=120"))
    with running(*where, *NONE, "--node-id", "102", may_say=ANYTHING):  # it tells that brokers are not reached
        place = ("--listen", f"127.0.0.1:{free_ports(5)[0]}")  # brokers 1 to 3 listen at those behind
        with running(*where, *place, "--topic", "orders:1:3") as killed:
            killed.kill()
        with running(*where, *place) as again:
            assert again.at["brokers"] == killed.at["brokers"]
            assert produced(again, "orders") == 0


def test_processes_whose_clients_log_in_know_each_other_by_a_secret(store: tuple[str, str], tmp_path: Path) -> None:
    authority, users, rights, secret = (Authority(tmp_path), *(tmp_path / name for name in ("users", "acls", "secret")))
    ours = authority.sign("127.0.0.1")
    write_private(users, json.dumps({"version": 1, "users": {"root": salted("secret")}}))
    rights.write_text(json.dumps({"version": 1, "super_users": ["User:root"]}))
    write_private(secret, "of the processes alone\n")
    options = ["--users", str(users), "--acls", str(rights), "--tls-certificate", str(ours.certificate)]
    options += ["--tls-key", str(ours.key), *store]
    assert "--peers-secret FILE is needed" in refused(*options)
    options += ["--peers-secret", str(secret), "--peers-ca", str(authority.file)]
    login = {"sasl_plain_username": "root", "sasl_plain_password": "secret", "sasl_mechanism": "SCRAM-SHA-256"}
    login |= {"security_protocol": "SASL_SSL", "ssl_cafile": str(authority.file)}
    with running(*options, *NONE, "--node-id", "102") as leads, running(*options, "--topic", "orders:1:3") as stands_by:
        assert leads.is_active
        assert [produced(leads, "orders", **login), produced(stands_by, "orders", **login)] == [0, 1]
