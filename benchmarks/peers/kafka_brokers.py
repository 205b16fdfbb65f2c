"""Three real Kafka 3.9.1 brokers under Kafka's own controller and under Kedge, in turn, on one machine.

    python -m benchmarks.peers.kafka_brokers --partitions 1000 --idle 2000 --rounds 3

Each round prints one line of JSON per figure and controller, with seconds. A JDK 17 and Maven are needed, as for the
tests. A short run, to see that it works: --partitions 20 --idle 30 --rounds 1

* `moves`: so many partitions with 10 kB each move from broker 1 to broker 2, by one request of kafka-python's client.
* `failover`: with `--idle` partitions on the brokers, the controller hands over. Kedge gets SIGTERM; for Kafka
  `/controller` is deleted, which is all that can be done without killing a broker. From when every broker knows all
  of them, until a topic that is created right afterwards has a leader.
* `death`: broker 3 is killed. From the end of its session, until it leads nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import perf_counter, sleep
from typing import Final, TypeAlias
from uuid import uuid4

import kafka
from kafka.admin import NewTopic
from kafka.structs import TopicPartition

from kedge.controller.cli.kafka import Endpoint, connected
from kedge.stores import MetadataStore
from kedge.stores.base import PRESENT, Delete
from servers import LocalZooKeeper
from tests.kafka.conftest import are_known
from tests.kafka_brokers.clients import admin_of, produce
from tests.kafka_brokers.cluster import BROKERS, CONTROLLERS, FollowingCluster

CALL_S: Final = 60.0
WAIT_S: Final = 1_800.0
JVM: Final = ("-Xmx1g", "-Xms1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")
"""As Kafka's own start script has it: the small heap of the tests does not hold 20,000 partitions."""
SETTINGS: Final = {"num.network.threads": "3", "num.io.threads": "8"}  # Kafka's defaults; tests have fewer
TOPIC_PARTITIONS: Final = 1_000
RECORD_BYTES: Final = 10_000

Figure: TypeAlias = tuple[str, int, float]  # what, how many, seconds


def main(arguments: list[str]) -> int:
    asked = options(
        "kafka_brokers",
        __doc__,
        (
            ("partitions", 1_000, "partitions that move, from 1"),
            ("idle", 2_000, "partitions on the brokers at the failover and when a broker dies"),
            ("rounds", 3, "rounds, each with Kedge and with Kafka"),
        ),
        arguments,
    )
    for number in range(1, asked.rounds + 1):
        for who in ("kedge", "kafka"):
            with LocalZooKeeper() as zookeeper, FollowingCluster(zookeeper, settings=SETTINGS, jvm=JVM) as cluster:
                for figure in measured(cluster, asked.partitions, asked.idle, is_kedge=who == "kedge"):
                    printed(figure, who, number)
    return 0


def options(
    module: str, text: str | None, wanted: Iterable[tuple[str, int, str]], arguments: list[str]
) -> argparse.Namespace:
    """The numbers that were given. `wanted`: name, default and help of each."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.peers.{module}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, default, what in wanted:
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{what} (default: {default})")
    return parser.parse_args(arguments)


def printed(figure: Figure, who: str, number: int) -> None:
    """One line of JSON."""
    what, n, seconds = figure
    row = {"what": what, "controller": who, "round": number, "n": n, "seconds": round(seconds, 2)}
    print(json.dumps(row), flush=True)


def measured(cluster: FollowingCluster, partitions: int, idle: int, *, is_kedge: bool) -> Iterator[Figure]:
    """One figure after the other."""
    if is_kedge:
        for controller in CONTROLLERS:
            cluster.start_controller(controller)
    cluster.start_brokers()
    with contextlib.closing(cluster.store()) as store:
        until(lambda: len(store.children("/brokers/ids", timeout_s=CALL_S)) == len(BROKERS))
        if is_kedge:
            until(
                lambda: all(has_leader(cluster, store, name) for name in ("__consumer_offsets", "__transaction_state"))
            )
        yield "moves", partitions, moves(cluster, store, partitions)
        yield "failover", idle, failover(cluster, store, idle, is_kedge=is_kedge)
        yield "death", idle // len(BROKERS), death(cluster, store)


def moves(cluster: FollowingCluster, store: MetadataStore, count: int) -> float:
    name = f"m{uuid4().hex[:8]}"
    create(cluster, name, {p: [1] for p in range(count)})
    until(partial(_are_known, cluster, name, count), pause_s=0.2)
    produce(cluster, name, 1, range(count), size=RECORD_BYTES)
    with admin_of(cluster) as admin:
        began = perf_counter()
        admin.alter_partition_reassignments({TopicPartition(name, p): [2] for p in range(count)})
    until(lambda: set(map(tuple, assignments(cluster, store, name))) == {(2,)})
    until(lambda: all(s["isr"] == [2] for s in cluster.states(store, name)))
    return perf_counter() - began


def failover(cluster: FollowingCluster, store: MetadataStore, count: int, *, is_kedge: bool) -> float:
    for first in range(0, count, TOPIC_PARTITIONS):
        name = f"i{uuid4().hex[:8]}"
        here = min(TOPIC_PARTITIONS, count - first)
        create(cluster, name, {p: [BROKERS[p % len(BROKERS)]] for p in range(here)})
        until(partial(_are_known, cluster, name, here), pause_s=0.2)  # logs are made long after the state was written
    active = cluster.read(store, "/controller")["brokerid"]
    began = perf_counter()
    if is_kedge:
        cluster.controllers[active].stop()
    else:
        store.commit([Delete("/controller", PRESENT)], timeout_s=CALL_S)
    name = f"a{uuid4().hex[:8]}"
    create(cluster, name, {0: [1]})
    until(lambda: has_leader(cluster, store, name))
    return perf_counter() - began


def death(cluster: FollowingCluster, store: MetadataStore) -> float:
    name = f"d{uuid4().hex[:8]}"
    create(cluster, name, {p: [3, 1 + p % 2] for p in range(200)})
    until(lambda: all(len(s["isr"]) == 2 for s in cluster.states(store, name)) and has_leader(cluster, store, name))
    cluster.brokers[3].kill()
    until(lambda: store.get("/brokers/ids/3", timeout_s=CALL_S) is None)
    began = perf_counter()
    until(lambda: all(s["leader"] != 3 for s in cluster.states(store, name)))
    return perf_counter() - began


def create(cluster: FollowingCluster, name: str, assignments: dict[int, list[int]]) -> None:
    """By a new client each time, again where the controller is not found yet."""
    end = perf_counter() + WAIT_S
    while True:
        try:
            with admin_of(cluster) as admin:
                admin.create_topics([NewTopic(name, replica_assignments=assignments)])
        except kafka.errors.TopicAlreadyExistsError:
            return
        except (kafka.errors.KafkaError, RuntimeError):  # the latter where brokers name no controller
            if perf_counter() >= end:
                raise
            sleep(0.05)
        else:
            return


def assignments(cluster: FollowingCluster, store: MetadataStore, name: str) -> list[list[int]]:
    return list(cluster.read(store, f"/brokers/topics/{name}")["partitions"].values())


def _are_known(cluster: FollowingCluster, name: str, count: int) -> bool:
    with connected(Endpoint(cluster.servers)) as asked:
        return are_known(asked, [name], count)


def has_leader(cluster: FollowingCluster, store: MetadataStore, name: str) -> bool:
    if cluster.read(store, f"/brokers/topics/{name}") is None:
        return False
    states = cluster.states(store, name)
    return bool(states) and all(state["leader"] >= 0 for state in states)


def until(holds: Callable[[], object], pause_s: float = 0.02) -> None:
    end = perf_counter() + WAIT_S
    while not holds():
        if perf_counter() >= end:
            raise TimeoutError(f"not within {WAIT_S:g} s")
        sleep(pause_s)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
