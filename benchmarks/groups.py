"""Consumer groups of `kedge serve`: how fast members get partitions, many groups at once, and commits of offsets.

Stock clients (librdkafka) where it says so; otherwise the coordinators are asked in this process, without a gateway.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from itertools import count
from typing import Any, Final

import confluent_kafka as confluent

from benchmarks.figures import rate, timed
from kedge import TopicPartition
from kedge.controller.groups.records import Committed
from kedge.controller.groups.replies import Joined, Synced
from kedge.controller.groups.requests import Commit, GroupRequest, Join, Sync
from tests.kit.waiting import until
from tests.wire.living import Living

GROUPS, COMMITS, IN_FLIGHT, PARTITIONS, MEMBERS = 500, 20_000, 500, 12, 3
PER_REQUEST: Final = 50
_WAIT_S: Final = 60.0
_TOPIC: Final = "orders"


def run() -> None:
    with Living() as living:
        living.topic(_TOPIC, [[1, 2, 3]] * PARTITIONS)
        living.topic("many", [[1, 2, 3]] * PER_REQUEST)
        _assigned(living)
        _many(living)
        _commits_here(living)
        _commits_of_a_client(living)


def _assigned(living: Living) -> None:
    members = [_consumer(living, "members") for _ in range(MEMBERS)]
    with timed() as took:
        for member in members:
            member.subscribe([_TOPIC])
        until(lambda: _partitions(members) == PARTITIONS)
    rate(
        f"{MEMBERS} members of librdkafka over {PARTITIONS} partitions, assigned",
        PARTITIONS,
        took.seconds,
        store="memory",
    )
    for member in members:
        member.close()


def _consumer(living: Living, group: str, **more: Any) -> confluent.Consumer:
    where = {"bootstrap.servers": living.bootstrap, "group.id": group, "log_level": 0}
    return confluent.Consumer({**where, "enable.auto.commit": False, **more})


def _partitions(members: Sequence[confluent.Consumer]) -> int:
    for member in members:
        member.poll(0.001)
    owned = [len(member.assignment()) for member in members]
    return sum(owned) if all(owned) else 0


def _many(living: Living) -> None:
    names = [f"group-{number}" for number in range(GROUPS)]
    joins = [Join(name, "", f"{name}-1", "consumer", (("range", b""),), 30_000, 30_000) for name in names]
    with timed() as took:
        joined = _asked(living, joins)
        assert all(isinstance(one, Joined) and not one.error for one in joined)
        syncs = [
            Sync(n, one.generation, one.member_id, {one.member_id: b"x"}) for n, one in zip(names, joined, strict=True)
        ]
        assert all(isinstance(one, Synced) and not one.error for one in _asked(living, syncs))
    rate("groups of one member at once, joined and synced", GROUPS, took.seconds, store="memory")


def _asked(living: Living, requests: Sequence[GroupRequest]) -> list[Any]:
    futures: list[Future[Any]] = [living.cluster.groups.ask(None, request) for request in requests]
    return [future.result(_WAIT_S) for future in futures]


def _commits_here(living: Living) -> None:
    with timed() as took:
        for start in range(0, COMMITS, IN_FLIGHT):
            asked = [
                Commit(f"here-{number % 100}", {TopicPartition(_TOPIC, number % PARTITIONS): Committed(number)})
                for number in range(start, min(start + IN_FLIGHT, COMMITS))
            ]
            _asked(living, asked)
    rate(f"commits of one offset, {IN_FLIGHT} at once, in this process", COMMITS, took.seconds, store="memory")


def _commits_of_a_client(living: Living) -> None:
    """Requests of `PER_REQUEST` offsets, as a consumer with so many partitions commits them."""
    ended, requests = threading.Event(), COMMITS // PER_REQUEST
    answered = count(1)

    def committed(error: Any, _: Any) -> None:
        assert error is None, error
        if next(answered) == requests:
            ended.set()

    client = _consumer(living, "client", on_commit=committed)
    offsets = [confluent.TopicPartition("many", partition, 0) for partition in range(PER_REQUEST)]
    client.assign(offsets)
    client.commit(offsets=offsets, asynchronous=False)  # it has found its coordinator, whose look-up waits by a second
    client.poll(0)
    with timed() as took:
        for number in range(1, requests + 1):
            for each in offsets:
                each.offset = number
            client.commit(offsets=offsets, asynchronous=True)
            client.poll(0)
        until(lambda: client.poll(0.01) is None and ended.is_set())
    rate(
        f"offsets that librdkafka commits, {PER_REQUEST} in a request",
        requests * PER_REQUEST,
        took.seconds,
        store="memory",
    )
    client.close()
