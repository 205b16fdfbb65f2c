"""`kedge serve --migrate-to`: a cluster goes to another store, and its clients go on."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import kafka
import pytest
from click.testing import CliRunner
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import KafkaConnectionError

from kedge.controller.cli.root import kedge
from kedge.controller.codec import keys
from kedge.controller.runtime.clock import Chance, SystemClock
from kedge.controller.runtime.migration import Migration
from kedge.stores import ABSENT, Put, open_store
from kedge.stores.base import Delete
from tests.cli.store.places import etcd_url, zookeeper_url
from tests.kit.waiting import until
from tests.serve.processes import ANYTHING, DEADLINE_S, Running, running
from tests.serve.test_sharing import refused

pytestmark = [pytest.mark.server, pytest.mark.slow]

GROUPS = ("--offsets-partitions", "1")


class _Stopped(Exception):
    """The process that moves the cluster dies here."""


def _stored(url: str) -> dict[str, bytes]:
    with closing(open_store(url)) as store:
        return {entry.key: entry.value for entry in store.snapshot("/", timeout_s=30).entries if entry.owner is None}


def _shown(url: str) -> str:
    return url.partition("?")[0]


def _is_in(found: Running, url: str) -> bool:
    status = found.status()
    return status["store"] == _shown(url) and status["controller_epoch"] is not None


class _Clients:
    """A producer and a member of a group, on one topic."""

    def __init__(self, found: Running) -> None:
        place = found.at["bootstrap"]
        self.producer = kafka.KafkaProducer(bootstrap_servers=place, acks="all", retries=20)
        options: dict[str, Any] = {"group_id": "readers", "auto_offset_reset": "earliest"}
        self.consumer = kafka.KafkaConsumer("orders", bootstrap_servers=place, auto_commit_interval_ms=100, **options)
        self.sent: list[bytes] = []
        self.read: list[bytes] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.consumer.close()
        self.producer.close()

    def go_on(self) -> bool:
        """One more record is acknowledged, and some are read."""
        value = b"%d" % len(self.sent)
        self.producer.send("orders", value).get(timeout=DEADLINE_S)
        self.sent.append(value)
        self.poll()
        return True

    def poll(self) -> bool:
        """Read what there is; whether all is read. kafka-python raises where a broker hangs up while it is asked for
        metadata, and goes on with the next poll."""
        with contextlib.suppress(KafkaConnectionError):
            for records in self.consumer.poll(timeout_ms=50).values():
                self.read += [record.value for record in records]
        return set(self.read) == set(self.sent)


@pytest.mark.full
@pytest.mark.parametrize("kinds", [(zookeeper_url, etcd_url), (etcd_url, zookeeper_url)], ids=["to etcd", "to zk"])
def test_clients_go_on_while_the_cluster_moves(
    tmp_path: Path, kinds: tuple[Callable[[Path], str], Callable[[Path], str]]
) -> None:
    """And the same command starts over the new store afterwards; the old one alone is refused."""
    source, target = (make(tmp_path) for make in kinds)
    move = ("--store", source, "--migrate-to", target)
    with running(*move, "--topic", "orders:2:3", *GROUPS, may_say=ANYTHING) as found:
        with _Clients(found) as clients:
            until(lambda: clients.go_on() and _is_in(found, target), "the cluster is in the new store")
            clients.go_on()
            until(clients.poll, "all is read")
        options = {"bootstrap_servers": found.at["bootstrap"], "group_id": "readers"}
        with closing(kafka.KafkaConsumer(**options)) as reader:
            offsets = [reader.committed(kafka.TopicPartition("orders", number)) or 0 for number in (0, 1)]
        assert sum(offsets) == len(clients.sent)
    assert b"moved" in _stored(source)[keys.MIGRATION]
    with running(*move, may_say="kedge: the cluster is in .*") as found:
        assert _is_in(found, target)
    said = refused("--store", source)
    assert f"this cluster was moved to {_shown(target)}; start with --store for it" in said


BROKEN = keys.topic("broken")


@pytest.mark.full
def test_a_cluster_that_cannot_be_moved_stays_and_follows_later(tmp_path: Path) -> None:
    """What prevents the migration is printed; once that is mended, `kedge store migrate` moves the cluster with its
    configs, its groups and the reassignment that runs, and the process follows."""
    source, target = etcd_url(tmp_path), zookeeper_url(tmp_path)
    with closing(open_store(source)) as store:
        store.commit([Put(BROKEN, b"{", ABSENT)], timeout_s=30)
    arguments = ("--store", source, "--migrate-to", target, *GROUPS, "--copy-rate", "100000")
    with running(*arguments, "--no-auto-create", may_say=ANYTHING) as found, closing(_admin(found)) as admin:
        topic = NewTopic("orders", replica_assignments={0: [1, 2]}, topic_configs={"retention.ms": "123456789"})
        admin.create_topics([topic])
        with _Clients(found) as clients:
            assert clients.go_on()
            clients.producer.send("orders", b"large" * 200_000).get(timeout=DEADLINE_S)
            clients.sent.append(b"large" * 200_000)
            admin.alter_partition_reassignments({kafka.TopicPartition("orders", 0): [3, 1]})
            assert _is_in(found, source)
            with closing(open_store(source)) as store:
                entry = store.get(BROKEN, timeout_s=30)
                assert entry is not None
                store.commit([Delete(BROKEN, entry.version)], timeout_s=30)
            done = CliRunner().invoke(kedge, ["store", "migrate", source, target, "--no-progress"])
            assert done.exit_code == 0, done.output
            until(lambda: clients.go_on() and _is_in(found, target), "the process follows")
            moving = admin.list_partition_reassignments()
            assert list(moving) == [kafka.TopicPartition("orders", 0)]
            until(lambda: clients.go_on() and not admin.list_partition_reassignments(), "the reassignment ends")
            until(clients.poll, "all is read")
        (described,) = admin.describe_topics(["orders"])
        assert sorted(described["partitions"][0]["isr_nodes"]) == [1, 3]
        configs = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "orders")])
        assert "123456789" in str(configs)


def _admin(found: Running) -> kafka.KafkaAdminClient:
    return kafka.KafkaAdminClient(bootstrap_servers=found.at["bootstrap"])


def test_a_store_with_other_keys_is_refused(tmp_path: Path) -> None:
    """Nothing is written, and nothing starts."""
    source, target = zookeeper_url(tmp_path), etcd_url(tmp_path)
    with closing(open_store(target)) as store:
        store.commit([Put("/somebody", b"else", ABSENT)], timeout_s=30)
    before = _stored(source), _stored(target)
    assert "--migrate-to: TO is not empty" in refused("--store", source, "--migrate-to", target)
    assert (_stored(source), _stored(target)) == before


@pytest.mark.full
def test_a_migration_that_died_behind_its_fence_is_completed_by_the_next_start(tmp_path: Path) -> None:
    source, target = etcd_url(tmp_path), zookeeper_url(tmp_path)
    with running("--store", source, "--topic", "orders:2:3"):
        pass
    with closing(open_store(source)) as here, closing(open_store(target)) as there:
        migration = Migration(
            here,
            there,
            (_shown(source), _shown(target)),
            clock=SystemClock(),
            chance=Chance(),
            pause=lambda _: None,
            say=_dies_at_the_fence,
        )
        with pytest.raises(_Stopped):
            migration.run(DEADLINE_S, without_brokers=True)
    said = refused("--store", source)
    assert f"this cluster is being moved to {_shown(target)}; complete that with kedge store migrate" in said
    assert "a cluster is being moved here from" in refused("--store", target)
    with running("--store", source, "--migrate-to", target, may_say=ANYTHING) as found:
        assert _is_in(found, target)
        with closing(_admin(found)) as admin:
            assert "orders" in admin.list_topics()


def _dies_at_the_fence(text: str) -> None:
    if re.match("FROM is fenced", text):
        raise _Stopped


@pytest.mark.full
def test_every_process_on_the_store_follows(tmp_path: Path) -> None:
    """A stand-by without brokers, and the one with the brokers: after the move clients may begin at either."""
    source, target = (f"{make(tmp_path)}&session_timeout=5" for make in (etcd_url, zookeeper_url))
    move = ("--store", source, "--migrate-to", target, *GROUPS)
    stand_by = (*move, "--node-id", "102", "--broker-count", "0")
    with (
        running(*stand_by, may_say=ANYTHING) as one,
        running(*move, "--topic", "orders:2:3", may_say=ANYTHING) as other,
    ):
        for found in (one, other):
            until(lambda found=found: found.status()["store"] == _shown(target), "both follow")  # type: ignore[misc]
        until(lambda: one.is_active or other.is_active, "a controller is active")
        for found in (one, other):
            with _Clients(found) as clients:
                assert clients.go_on()
