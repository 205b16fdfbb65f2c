"""A cluster goes from memory to a real ZooKeeper and on to a real etcd, with moves that run and deletions that wait."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from click.testing import CliRunner
from kazoo.client import KazooClient

from kedge import Controller, NewTopic, TopicPartition
from kedge.controller.cli.root import kedge
from kedge.controller.codec import keys
from kedge.controller.model.values import BrokerRegistration
from kedge.controller.runtime.clock import Chance, SystemClock
from kedge.controller.runtime.migration import Migration
from kedge.stores import MemoryServer, MemoryStore, open_store
from kedge.stores.base import MetadataStore
from tests.conformance.zookeeper import server as zookeeper
from tests.runtime.world import Brokers
from tests.stores.etcd.served import fresh_root
from tests.stores.etcd.served import server as etcd

BROKERS = range(1, 6)
DEADLINE_S = 60.0
_numbers = itertools.count()


class Site:
    """A store, and a controller over it, driven by the thread that waits."""

    def __init__(self, opening: Callable[[], MetadataStore], host: Brokers, stack: ExitStack, *, awaits: bool) -> None:
        self.open = opening
        self.look = opening()
        store = opening()
        self.controller = Controller(store, 1, host, awaits_cluster=awaits)
        for close in (self.look.close, store.close, self.controller.close):
            stack.callback(close)

    def until(self, holds: Callable[[], object], *others: Site) -> None:
        end = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < end, self.controller.describe()
            for site in (self, *others):
                site.controller.poll_once(0.01)

    def register(self) -> None:
        for broker in BROKERS:
            self.controller.register_broker(BrokerRegistration(broker, rack="abc"[broker % 3]))

    def states(self) -> dict[str, dict[str, object]]:
        found = self.look.snapshot(keys.TOPICS, timeout_s=30).entries
        return {e.key: json.loads(e.value) for e in found if e.key.endswith("/state")}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def moved(source: Site, target: Site, stack: ExitStack) -> None:
    """The cluster of `source` is led in `target`, under leader epochs above the former ones."""
    target.until(lambda: not target.controller.poll_once())
    assert not target.controller.is_active
    target.register()
    before = source.states()
    stores = source.open(), target.open()
    for store in stores:
        stack.callback(store.close)

    def pause(_: float) -> None:
        source.controller.poll_once(0.05)

    migration = Migration(*stores, ("a", "b"), clock=SystemClock(), chance=Chance(), pause=pause, say=lambda _: None)
    assert migration.plan().obstacles == ()
    assert migration.run(DEADLINE_S) == ()
    assert migration.verify().differing == ()
    target.until(lambda: target.controller.is_active, source)
    # It hears of it from its own store, which may be after the other has begun.
    target.until(lambda: not source.controller.is_active, source)
    target.until(lambda: target.look.get(keys.MIGRATION, sync=True, timeout_s=30) is None, source)
    assert migration.verify().compared == 0
    after = target.states()
    assert after.keys() == before.keys()
    for key, state in before.items():
        assert after[key]["leader_epoch"] == state["leader_epoch"] + 1, key  # type: ignore[operator]
        changed = {"leader_epoch", "controller_epoch"}
        assert {k: v for k, v in after[key].items() if k not in changed} == {
            k: v for k, v in state.items() if k not in changed
        }
    assert target.controller.describe().live_brokers == tuple(BROKERS)
    assert stores[0].children(keys.MIGRATION, timeout_s=30) == ["1"]


@pytest.mark.server
@pytest.mark.slow
def test_a_broker_that_does_not_come_in_time_ends_the_command_with_1_and_nothing_is_fenced(stack: ExitStack) -> None:
    """It names the broker; run with --abort neither store holds anything of the move."""
    chroot = f"/migration-{os.getpid()}-{next(_numbers)}"
    urls = f"zookeeper://{zookeeper().address}{chroot}", etcd().url(fresh_root())
    first = Site(lambda: open_store(urls[0]), Brokers(), stack, awaits=False)
    first.until(lambda: first.controller.is_active)
    first.register()
    created = first.controller.admin.create_topics({"t": NewTopic(3, 3)})
    first.until(created.all().done)
    before = first.states()
    late = CliRunner().invoke(kedge, ["store", "migrate", *urls, "--timeout", "0"])
    assert (late.exit_code, late.stdout) == (1, ""), late.output
    assert "brokers [1, 2, 3, 4, 5] are not registered in TO; FROM is not fenced yet" in late.stderr
    first.until(lambda: first.look.get(keys.MIGRATION, sync=True, timeout_s=30) is not None)
    assert first.controller.is_active
    aborted = CliRunner().invoke(kedge, ["store", "migrate", *urls, "--abort"])
    assert (aborted.exit_code, aborted.stderr) == (0, ""), aborted.output
    store = open_store(urls[1])
    stack.callback(store.close)
    assert store.snapshot("/", timeout_s=30).entries == ()
    assert first.look.get(keys.MIGRATION, sync=True, timeout_s=30) is None
    assert first.states() == before


@pytest.mark.server
@pytest.mark.slow
def test_a_cluster_goes_from_memory_to_zookeeper_to_etcd_with_all_that_runs(stack: ExitStack) -> None:
    """Each time the next store is led under a higher epoch; running moves and open intents go along."""
    host, server = Brokers(), MemoryServer()
    chroot = f"/migration-{os.getpid()}-{next(_numbers)}"
    first = Site(lambda: MemoryStore(server), host, stack, awaits=False)
    first.until(lambda: first.controller.is_active)
    first.register()
    first.until(lambda: len(first.controller.describe().live_brokers) == len(BROKERS))
    created = first.controller.admin.create_topics({f"t{n}": NewTopic(20, 3) for n in range(10)})
    first.until(created.all().done)
    first.until(lambda: len(first.states()) == 200)
    moving = first.controller.admin.alter_partition_reassignments({TopicPartition("t0", 0): [4, 5, 1]})
    first.until(moving.all().done)

    second = Site(lambda: open_store(f"zookeeper://{zookeeper().address}{chroot}"), host, stack, awaits=True)
    moved(first, second, stack)
    kazoo = KazooClient(hosts=zookeeper().address)
    kazoo.start(timeout=10)
    stack.callback(kazoo.close)
    stack.callback(kazoo.stop)
    value, _ = kazoo.get(f"{chroot}/brokers/topics/t0/partitions/0/state")  # as Kafka's own tools read it
    assert json.loads(value)["targetReplicas"] == [4, 5, 1]

    root = fresh_root()
    third = Site(lambda: open_store(etcd().url(root)), host, stack, awaits=True)
    urls = f"zookeeper://{zookeeper().address}{chroot}", etcd().url(root)
    tried = CliRunner().invoke(kedge, ["store", "migrate", *urls, "--dry-run"])
    assert tried.exit_code == 0, tried.output
    assert "10 topics, 200 partitions" in tried.stdout
    assert third.look.snapshot("/", timeout_s=30).entries == ()
    moved(second, third, stack)
    verified = CliRunner().invoke(kedge, ["store", "migrate", *urls, "--verify"])
    assert (verified.exit_code, verified.stderr) == (0, ""), verified.output
    held = json.loads(kazoo.get(f"{chroot}/controller")[0])
    assert held["brokerid"] == 2**31 - 1
    assert kazoo.get(f"{chroot}/controller")[1].ephemeralOwner == 0
    epochs = [site.look.get("/controller_epoch", sync=True, timeout_s=30) for site in (first, second, third)]
    numbers = [int(entry.value) for entry in epochs if entry is not None]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 3
