"""What stock clients can do with `kedge serve` and with librdkafka's mock cluster, in one run.

    python -m benchmarks.peers.mock_cluster

Prints one line of JSON per step and cluster: `ok` or the error, and seconds. Each step takes new clients, so seconds
hold their connecting. The mock cluster lives in a producer of confluent-kafka; no JVM is needed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Barrier
from time import perf_counter
from typing import Any, Final
from uuid import uuid4

import confluent_kafka as confluent
import kafka
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec

from kedge.testing import Server

WAIT_S: Final = 10.0
TOPIC: Final = "orders"
GROUPS, RECORDS = 20, 20_000


def main() -> int:
    for name, cluster in (("kedge", kedge()), ("mock", mock())):
        began = perf_counter()
        with cluster as bootstrap:
            said(name, "Start three brokers", "ok", perf_counter() - began)
            for step in STEPS:
                said(name, str(step.__doc__).rstrip("."), *tried(step, bootstrap))
    return 0


def said(cluster: str, step: str, outcome: str, seconds: float) -> None:
    print(json.dumps({"cluster": cluster, "step": step, "outcome": outcome, "seconds": round(seconds, 2)}), flush=True)


def tried(step: Callable[[str], None], bootstrap: str) -> tuple[str, float]:
    """`ok` or what the client said, and seconds."""
    began = perf_counter()
    try:
        step(bootstrap)
        outcome = "ok"
    except Exception as error:  # noqa: BLE001 - what a client says is the result
        outcome = f"{type(error).__name__}: {error}"[:400]
    return outcome, perf_counter() - began


@contextmanager
def kedge() -> Iterator[str]:
    """A process of `kedge serve`."""
    with Server() as server:
        yield server.bootstrap_servers


@contextmanager
def mock() -> Iterator[str]:
    """The mock cluster lives as long as this producer."""
    client = confluent.Producer({"test.mock.num.brokers": 3, "log_level": 0})
    yield ",".join(f"{b.host}:{b.port}" for b in client.list_topics(timeout=WAIT_S).brokers.values())


def asked(bootstrap: str, ask: Callable[[AdminClient], Mapping[Any, Any]]) -> None:
    """Ask by an admin client of its own, which ends when nothing refers to it, and wait for all answers."""
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for future in ask(client).values():
        future.result(WAIT_S)


def consumer(bootstrap: str, group: str, topic: str = TOPIC) -> confluent.Consumer:
    where = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
    found = confluent.Consumer(where)
    found.subscribe([topic])
    return found


def first(client: confluent.Consumer) -> None:
    """Until the group has given this member partitions, and a record of them came."""
    until = perf_counter() + 2 * WAIT_S
    while perf_counter() < until:
        if (message := client.poll(0.05)) is not None and message.error() is None:
            return
    raise TimeoutError("no record within 20 s")


def produce(bootstrap: str) -> None:
    """Produce 20,000 records of 100 bytes, acks=all, topic created by use."""
    client = confluent.Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "log_level": 0})
    for number in range(RECORDS):
        client.produce(TOPIC, b"." * 100, key=str(number).encode())
        client.poll(0)
    if left := client.flush(WAIT_S):
        raise TimeoutError(f"{left} records were not acknowledged")


def consume(bootstrap: str) -> None:
    """One member of a group: subscribe, read, commit."""
    with closing(consumer(bootstrap, "one")) as client:
        first(client)
        client.commit(asynchronous=False)


def groups(bootstrap: str) -> None:
    """20 groups at once: subscribe, read."""
    ready = Barrier(GROUPS)

    def member(number: int) -> None:
        ready.wait(WAIT_S)
        with closing(consumer(bootstrap, f"group-{number}")) as client:
            first(client)

    with ThreadPoolExecutor(GROUPS) as pool:
        for _ in pool.map(member, range(GROUPS)):
            pass


def transactions(bootstrap: str) -> None:
    """100 transactions of ten records."""
    client = confluent.Producer({"bootstrap.servers": bootstrap, "transactional.id": "t", "log_level": 0})
    client.init_transactions(WAIT_S)
    for _ in range(100):
        client.begin_transaction()
        for _ in range(10):
            client.produce(TOPIC, b"x" * 200)
        client.commit_transaction(WAIT_S)


def create(bootstrap: str) -> None:
    """Create a topic."""
    topics = [NewTopic(f"made-{uuid4().hex[:6]}", 12, 3)]
    asked(bootstrap, lambda admin: admin.create_topics(topics, request_timeout=WAIT_S))


def grow(bootstrap: str) -> None:
    """Add partitions."""
    asked(bootstrap, lambda admin: admin.create_partitions([NewPartitions(TOPIC, 20)], request_timeout=WAIT_S))


def configs(bootstrap: str) -> None:
    """Describe the configs of a topic."""
    asked(bootstrap, lambda admin: admin.describe_configs([ConfigResource("topic", TOPIC)], request_timeout=WAIT_S))


def offsets(bootstrap: str) -> None:
    """List offsets by the admin client."""
    wanted = {confluent.TopicPartition(TOPIC, 0): OffsetSpec.latest()}
    asked(bootstrap, lambda admin: admin.list_offsets(wanted, request_timeout=WAIT_S))


def delete_records(bootstrap: str) -> None:
    """Delete records."""
    asked(
        bootstrap, lambda admin: admin.delete_records([confluent.TopicPartition(TOPIC, 0, 1)], request_timeout=WAIT_S)
    )


def describe_group(bootstrap: str) -> None:
    """Describe a group."""
    asked(bootstrap, lambda admin: admin.describe_consumer_groups(["one"], request_timeout=WAIT_S))


def reassign(bootstrap: str) -> None:
    """Reassign a partition, by kafka-python."""
    with closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap.split(","), bootstrap_timeout_ms=5_000)) as admin:
        admin.alter_partition_reassignments({kafka.TopicPartition(TOPIC, 0): [2, 3]})


def delete(bootstrap: str) -> None:
    """Delete a topic."""
    asked(bootstrap, lambda admin: admin.delete_topics([TOPIC], request_timeout=WAIT_S))


STEPS: Final[tuple[Callable[[str], None], ...]] = (
    produce,
    consume,
    groups,
    transactions,
    create,
    grow,
    configs,
    offsets,
    delete_records,
    describe_group,
    reassign,
    delete,
)

if __name__ == "__main__":
    sys.exit(main())
