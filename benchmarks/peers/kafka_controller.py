"""Kafka 3.9.1's own controller and `kedge kafka-controller` over the same simulated brokers, in turn, on one machine.

    python -m benchmarks.peers.kafka_controller --partitions 200000 --moves 10000 --rounds 3

Each round prints one line of JSON per figure and controller, with seconds. A JDK 17 and Maven are needed, as for the
tests. A short run, to see that it works: --partitions 2000 --moves 200 --rounds 1

Ten brokers in one Java program (benchmarks/java/SimulatedBrokers.java) speak Kafka's protocol, hold no data and answer
at once, so the time is that of the controller and of ZooKeeper. Each round and controller has a new ZooKeeper, filled
with realistic content of RF 3 in Kafka's layout.

* `failover`: from when `/controller` is given up, until every replica's broker has received the partition's
  LeaderAndIsr under the new controller epoch, and until every broker has received the metadata of every partition.
  Of two processes of `kedge kafka-controller` the active one gets SIGTERM, which is when the time begins. For Kafka
  `/controller` is deleted. Its one node is elected again, with its code compiled already, which favours it; with
  `--kafka-nodes 2` either node can be elected.
* `moves`: partitions get a replica set at random brokers that hold none of their replicas, by requests of at most
  10,000. Until the answer, and until all topic keys have their targets and the controller lists no move. Leaders report
  the new replicas in sync as soon as they hear of them.
* `death`: the session of one broker is closed. Until every live broker knows from its metadata that no partition is led
  by it, and that it is in no ISR.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from random import Random
from typing import Final, TypeAlias

import attrs
import kafka
from kafka.structs import TopicPartition

from benchmarks.content import REPLICATION_FACTOR, Made, realistic
from benchmarks.peers.kafka_brokers import CALL_S, WAIT_S, Figure, options, printed, until
from benchmarks.peers.simulated import BROKERS, Cluster, running, taken_over
from kedge.controller.codec import keys
from kedge.controller.coordinators.partitions import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kedge.stores import MetadataStore

DIES: Final = 3
TOPIC_PARTITIONS: Final = 100  # on average
REQUEST_MOVES: Final = 10_000
_SEED: Final = 1125

Moves: TypeAlias = Mapping[TopicPartition, Sequence[int]]


def main(arguments: list[str]) -> int:
    wanted = (
        ("partitions", 200_000, "partitions in the cluster, at least 200"),
        ("moves", 10_000, "partitions that move"),
        ("rounds", 3, "rounds, each with Kedge and with Kafka"),
        ("kafka-nodes", 1, "nodes of Kafka that can be its controller"),
    )
    asked = options("kafka_controller", __doc__, wanted, arguments)
    made = content(asked.partitions)
    targets = targets_of(made, asked.moves)
    for number in range(1, asked.rounds + 1):
        for who in ("kedge", "kafka"):
            with running(made, who, asked.kafka_nodes) as cluster:
                for figure in measured(cluster, made, targets):
                    printed(figure, who, number)
    return 0


def content(partitions: int) -> list[Made]:
    """Topics with so many partitions in all. The internal topics are two of them, since Kedge would create these."""
    made = list(realistic(partitions // TOPIC_PARTITIONS, partitions, BROKERS))
    for index, name in enumerate((OFFSETS_TOPIC, TRANSACTIONS_TOPIC)):
        rows = tuple(attrs.evolve(p, topic=name) for p in made[index].partitions)
        made[index] = attrs.evolve(made[index], topic=attrs.evolve(made[index].topic, name=name), partitions=rows)
    return made


def targets_of(made: Sequence[Made], count: int) -> Moves:
    """Partitions from all over the cluster, with brokers that do not have them."""
    chance = Random(_SEED)
    rows = [p for each in made for p in each.partitions]
    return {
        TopicPartition(p.topic, p.partition): chance.sample(
            [b for b in BROKERS if b not in p.replicas], REPLICATION_FACTOR
        )
        for p in rows[:: len(rows) // count][:count]
    }


def measured(cluster: Cluster, made: Sequence[Made], targets: Moves) -> Iterator[Figure]:
    """One figure after the other."""
    yield from failover(cluster, sum(len(each.partitions) for each in made))
    yield from moves(cluster, targets)
    yield from death(cluster)
    _check(cluster.store, made)


def failover(cluster: Cluster, partitions: int) -> Iterator[Figure]:
    with admin_of(cluster) as admin:
        admin.list_partition_reassignments()  # answered after what happened before: see Cluster.give_up
    epoch = cluster.ask("stats")["epoch"]
    began = time.time()  # of the same clock as the brokers' times
    cluster.give_up()
    found = taken_over(cluster.ask, partitions, epoch)
    yield "failover, LeaderAndIsr at all replicas", partitions, found["states_ms"] / 1000 - began
    yield "failover, metadata at all brokers", partitions, found["metadata_ms"] / 1000 - began


@contextmanager
def admin_of(cluster: Cluster) -> Iterator[kafka.KafkaAdminClient]:
    """A client of the active controller, with a long timeout."""
    wait_ms = int(WAIT_S * 1000)
    with closing(
        kafka.KafkaAdminClient(
            bootstrap_servers=cluster.active()[1], request_timeout_ms=wait_ms, connections_max_idle_ms=2 * wait_ms
        )
    ) as made:
        yield made


def moves(cluster: Cluster, targets: Moves) -> Iterator[Figure]:
    wanted: dict[str, dict[str, list[int]]] = {}
    for tp, target in targets.items():
        wanted.setdefault(tp.topic, {})[str(tp.partition)] = list(target)
    with admin_of(cluster) as admin:
        began = time.perf_counter()
        for first in range(0, len(targets), REQUEST_MOVES):
            some = dict(list(targets.items())[first : first + REQUEST_MOVES])
            refused = {tp: error for tp, error in admin.alter_partition_reassignments(some).items() if error}
            if refused:
                raise RuntimeError(f"{len(refused)} moves are refused: {next(iter(refused.items()))}")
        yield "moves, accepted", len(targets), time.perf_counter() - began
        for topic, assignments in wanted.items():
            until(partial(_has_moved, cluster.store, topic, assignments))
        until(lambda: not admin.list_partition_reassignments())
        yield "moves, done", len(targets), time.perf_counter() - began


def _has_moved(store: MetadataStore, topic: str, assignments: Mapping[str, list[int]]) -> bool:
    """Whether the topic's key has these, and no move of Kafka's."""
    entry = store.get(keys.topic(topic), timeout_s=CALL_S)
    found = json.loads(entry.value) if entry is not None else {"partitions": {}}
    is_moving = found.get("adding_replicas") or found.get("removing_replicas")
    return not is_moving and assignments.items() <= found["partitions"].items()


def death(cluster: Cluster) -> Iterator[Figure]:
    on = f"on {DIES}"
    before = cluster.ask(on)
    began = time.perf_counter()
    cluster.ask(f"kill {DIES}")
    until(lambda: not cluster.ask(on)["led"])
    yield "death, leaders moved", before["led"], time.perf_counter() - began
    until(lambda: not cluster.ask(on)["in_sync"])
    yield "death, out of every ISR", before["in_sync"], time.perf_counter() - began


def _check(store: MetadataStore, made: Sequence[Made]) -> None:
    """Raises RuntimeError where the store has another state than the brokers heard of."""
    paths = [keys.state(p.topic, p.partition) for each in made for p in each.partitions]
    states = [json.loads(entry.value) for entry in store.get_many(paths, timeout_s=WAIT_S) if entry is not None]
    left = [state for state in states if state["leader"] == DIES or DIES in state["isr"]]
    if left or len(states) != len(paths):
        raise RuntimeError(f"of {len(paths)} partitions {len(states)} have a state, {len(left)} name the dead broker")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as for Ctrl-C, the servers end too
    sys.exit(main(sys.argv[1:]))
