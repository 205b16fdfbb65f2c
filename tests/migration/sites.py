"""A cluster that is moved from one store to another while moves, throttles and a deletion are under way."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

from kedge import Controller, NewTopic, ThrottledRate, ThrottledReplicas, TopicPartition
from kedge.controller.codec import keys
from kedge.controller.model.throttle_configs import LISTS, RATES
from kedge.controller.model.values import BrokerRegistration
from kedge.controller.runtime.clock import IdSource
from kedge.controller.runtime.migration import Migration
from kedge.stores import MemoryServer, MemoryStore
from kedge.stores.base import Entry, MetadataStore, StoreError
from kedge.stores.faults import Fault
from kedge.stores.tree import TreeEntry
from tests.kit.death import Death
from tests.runtime.world import Brokers

NAMES: Final = ("memory:from", "memory:to")
DEAD: Final = 6
"""The broker that a deletion waits for."""
MOVED: Final = TopicPartition("t", 0)
TARGET: Final = (4, 5, 1)
UNDER_WAY: Final = {keys.REPLICAS_REMOVAL, keys.RATES_REMOVAL, keys.delete_topic("gone"), keys.topic("gone")}
DEADLINE_S: Final = 30.0
LEADER_LIST, FOLLOWER_LIST = LISTS


class Site:
    """A store, over which controllers come and go; the brokers of `host` live on."""

    def __init__(self, opening: Callable[[], MetadataStore], host: Brokers) -> None:
        self.open = opening
        self.host = host

    @contextmanager
    def led(self, *brokers: int) -> Iterator[Led]:
        """A controller leads, and these brokers are live."""
        with closing(self.open()) as store:
            controller = Controller(store, 1, self.host)
            try:
                led = Led(self, controller)
                for broker in brokers:
                    controller.register_broker(BrokerRegistration(broker, rack="abc"[broker % 3]))
                led.until(lambda: controller.describe().live_brokers == brokers)
                led.until_idle()
                yield led
            finally:
                controller.close()

    def refusal(self) -> str | None:
        """Why a controller does not lead here; None: it leads."""
        with closing(self.open()) as store:
            controller = Controller(store, 1, self.host)
            try:
                Led(self, controller).until(lambda: controller.is_active or keys.MIGRATION in findings(controller))
                return findings(controller).get(keys.MIGRATION)
            finally:
                controller.close()

    def entries(self) -> dict[str, Entry]:
        """All lasting keys."""
        with closing(self.open()) as store:
            return {e.key: e for e in store.snapshot("/", timeout_s=30).entries if e.owner is None}

    def values(self) -> dict[str, bytes]:
        return {key: entry.value for key, entry in self.entries().items()}

    def leader_epochs(self) -> dict[str, int]:
        states = {key: value for key, value in self.values().items() if key.endswith("/state")}
        return {key: json.loads(value)["leader_epoch"] for key, value in states.items()}


class Led:
    """A controller, driven by the thread that waits."""

    def __init__(self, site: Site, controller: Controller) -> None:
        self.site = site
        self.controller = controller

    def until(self, holds: Callable[[], object]) -> None:
        end = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < end, self.controller.describe()
            self.controller.poll_once(0.01)

    def until_idle(self) -> None:
        self.until(lambda: not self.controller.poll_once(0))

    def result(self, future: Any) -> Any:
        self.until(future.done)
        return future.result(0)

    def isr(self, tp: TopicPartition, isr: tuple[int, ...]) -> None:
        """Its leader reports who is in sync."""
        entry = self.site.entries()[keys.state(tp.topic, tp.partition)]
        state = json.loads(entry.value)
        epoch = self.controller.broker_epoch(state["leader"])
        assert epoch is not None
        self.result(
            self.controller.alter_isr(tp, state["leader"], state["leader_epoch"], entry.generation, list(isr), epoch)
        )


def findings(controller: Controller) -> dict[str, str]:
    return dict(controller.describe().findings)


def memory(server: MemoryServer, host: Brokers) -> Site:
    return Site(lambda: MemoryStore(server), host)


def copy_of(server: MemoryServer) -> MemoryServer:
    """Another server with the same lasting keys."""
    other = MemoryServer()
    other.plant(TreeEntry(key, row[0], row[2]) for key, row in sorted(server.table.rows.items()) if row[4] is None)
    return other


def make_busy(site: Site) -> None:
    """A move with throttles over those of an operator runs, a topic is being deleted, and no controller is left."""
    with site.led(1, 2, 3, 4, 5, DEAD) as led:
        admin = led.controller.admin
        created = {
            "t": NewTopic(replica_assignments=[[1, 2, 3], [2, 3, 1]], configs={LEADER_LIST: "9:9"}),
            "u": NewTopic(replica_assignments=[[4, 5], [5, 4]]),
            "gone": NewTopic(replica_assignments=[[5, DEAD]]),
        }
        led.result(admin.create_topics(created).all())
        led.until(lambda: len(site.leader_epochs()) == 5)
    with site.led(1, 2, 3, 4, 5) as led:
        admin = led.controller.admin
        led.result(admin.alter_partition_reassignments({MOVED: list(TARGET)}).all())
        lists = admin.alter_interbroker_throttled_replicas({MOVED: ThrottledReplicas([1], [4])})
        led.result(lists[MOVED])
        rates = admin.alter_interbroker_throttled_rates({1: ThrottledRate(5_000, 5_000)})
        led.result(rates[1])
        led.result(admin.delete_topics(["gone"]).all())
        led.until_idle()


def finish(site: Site) -> None:
    """The move, its throttles and the deletion end, as they would have without the move to another store."""
    before = site.values()
    assert before.keys() >= UNDER_WAY
    assert {LEADER_LIST, FOLLOWER_LIST} <= json.loads(before[keys.topic_config("t")])["config"].keys()
    assert json.loads(before[keys.broker_config("1")])["config"] == dict.fromkeys(RATES["replication"], "5000")
    with site.led(1, 2, 3, 4, 5, DEAD) as led:
        led.isr(MOVED, (1, 4, 5))
        led.until(lambda: json.loads(site.values()[keys.state("t", 0)]).get("targetReplicas") is None)
        led.until(lambda: not UNDER_WAY & site.values().keys())
        led.until_idle()
    after = site.values()
    assert json.loads(after[keys.topic("t")])["partitions"]["0"] == list(TARGET)
    assert json.loads(after[keys.topic_config("t")])["config"] == {LEADER_LIST: "9:9"}
    assert json.loads(after.get(keys.broker_config("1"), b'{"config":{}}'))["config"] == {}
    assert not [key for key in after if key.startswith(keys.REPLICA_DELETIONS + "/")]


def migration(
    source: MetadataStore, target: MetadataStore, names: tuple[str, str] = NAMES, **options: Any
) -> Migration:
    return Migration(source, target, names, id_source=IdSource(), patience_s=0.0, **options)


def move(source: Site, target: Site, names: tuple[str, str] = NAMES) -> int:
    """Run it to its end."""
    with closing(source.open()) as here, closing(target.open()) as there:
        run = migration(here, there, names)
        run.check()
        return run.run()


def cut(source: Site, target: Site, at: int, fault: Fault, names: tuple[str, str] = NAMES) -> bool:
    """Move it, and die at that commit; whether it did not end before."""
    death = Death(at, fault)
    with closing(source.open()) as here, closing(target.open()) as there:
        run = migration(death.store(here), death.store(there), names)
        run.check()
        try:
            run.run()
        except StoreError:
            return True
    return False


def one_is_valid(source: Site, target: Site, names: tuple[str, str] = NAMES, *, goes_on: bool) -> None:
    """After a cut a controller leads over one of the stores at most, and there all that was under way ends. `goes_on`:
    the move is completed before."""
    is_moved = source.refusal()
    before = source.leader_epochs()
    if is_moved is None and not goes_on:
        if keys.topic("t") in target.values():
            assert "unfinished copy" in (target.refusal() or "")
        finish(source)
        return
    if is_moved is not None:
        assert is_moved.endswith(f"the cluster was moved to {names[1]}")
    if is_moved is None or target.refusal() is not None:
        move(source, target, names)
    assert (source.refusal() or "").endswith(f"the cluster was moved to {names[1]}")
    after = target.leader_epochs()
    assert after.keys() == before.keys()
    assert all(after[key] > epoch for key, epoch in before.items())
    finish(target)
