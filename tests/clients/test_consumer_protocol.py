"""Groups of the consumer protocol (KIP-848): stock clients, unmodified, on brokers that keep records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pytest
from confluent_kafka import admin

from kedge import TopicPartition
from kedge.controller.coordinators import OFFSETS_TOPIC
from tests.clients import test_groups_of_each
from tests.clients.consuming import CLIENTS, SETTINGS, Member, Programs
from tests.clients.producing import Flow, produce
from tests.clients.test_group_failover import Watched, leader
from tests.kit.waiting import until
from tests.wire.living import Living

EACH: Final = [pytest.param(name, marks=[pytest.mark.server, pytest.mark.full]) for name in CLIENTS]
FULL: Final = (pytest.mark.server, pytest.mark.full)
PARTITIONS: Final = 6
TIMEOUT_S: Final = 30
STATIC: Final = [name for name in CLIENTS if name != "franz-go"]
"""franz-go 1.22 leaves without its instance id. Coordinators refuse that, so its successor waits for the end of its
session."""


@pytest.fixture
def living() -> Iterator[Living]:
    with Living(groups={"offsets_partitions": 1, "settings": SETTINGS}) as opened:
        opened.topic("orders", [[1, 2, 3]] * PARTITIONS)
        yield opened


@pytest.fixture
def programs(living: Living) -> Iterator[Programs]:
    with Programs(living.bootstrap) as opened:
        yield opened


def types(living: Living) -> dict[str, str]:
    """The protocol of each group."""
    client: Any = admin.AdminClient({"bootstrap.servers": living.bootstrap, "log_level": 0})
    return {each.group_id: each.type.name for each in client.list_consumer_groups().result(TIMEOUT_S).valid}


def share(members: Sequence[Member]) -> None:
    """Wait until each has as many partitions as any other, and each partition one owner."""

    def shared() -> bool:
        held = [member.partitions for member in members]
        return {len(each) for each in held} == {PARTITIONS // len(members)} and len(set().union(*held)) == PARTITIONS

    until(shared, f"share: {[(member.name, member.failures) for member in members]}")


@pytest.fixture
def flow(living: Living) -> Iterator[Flow]:
    opened = Flow(living, PARTITIONS)
    yield opened
    opened.stop()


def is_read(flow: Flow, members: Sequence[Member]) -> None:
    """It stops. Each number is read at least once."""
    flow.stop()
    until(lambda: {number for member in members for number in member.numbers} == {*range(flow.sent)})


@pytest.mark.checklist(258)
@pytest.mark.parametrize("client", [pytest.param("librdkafka", marks=pytest.mark.slow), *EACH[1:]])
def test_members_share_hand_over_and_continue(living: Living, programs: Programs, client: str) -> None:
    """Each record is read once, though each member closes once."""
    produce(living, PARTITIONS, range(60))
    first = programs.open(client, "shared", ["orders"])
    until(lambda: len(first.numbers) == 60)
    second = programs.open(client, "shared", ["orders"])
    share([first, second])
    assert types(living) == {"shared": "CONSUMER"}
    first.close()
    share([second])
    produce(living, PARTITIONS, range(60, 120))
    until(lambda: len(second.numbers) == 60)
    second.close()
    third = programs.open(client, "shared", ["orders"])
    share([third])
    produce(living, PARTITIONS, range(120, 180))
    until(lambda: len(third.numbers) == 60)
    assert sorted(first.numbers + second.numbers + third.numbers) == [*range(180)]


@pytest.mark.parametrize("client", EACH)
def test_killed_member_loses_no_record(programs: Programs, flow: Flow, client: str) -> None:
    first, killed = programs.open(client, "dies", ["orders"]), programs.open(client, "dies", ["orders"], alone=True)
    share([first, killed])
    flow.goes_on()
    killed.program.kill()
    share([first])
    is_read(flow, [first, killed])


ROLLS: Final = [
    # The classic client, its assignor, and the client of the consumer protocol.
    ("librdkafka", "range", "java-4.3.1"),
    ("java-4.3.1", "cooperative-sticky", "librdkafka"),
    ("librdkafka", "cooperative-sticky", "librdkafka"),
    ("java-3.9.1", "range", "java-4.3.1"),
    ("franz-go", "cooperative-sticky", "franz-go"),
]


@pytest.mark.parametrize("rolled", [pytest.param(each, marks=FULL, id=" ".join(each)) for each in ROLLS])
def test_group_changes_protocol_and_back_without_loss(
    living: Living, programs: Programs, flow: Flow, rolled: tuple[str, str, str]
) -> None:
    """Two classic members are replaced one by one by consumer members, and back. What is produced while the group is
    settled is read once."""
    old, strategy, new = rolled
    watched, live, every = Watched(living, "rolled"), dict[int, Member](), list[Member]()
    classic: dict[str, Any] = {"group_protocol": "classic", "partition_assignment_strategy": strategy}
    settled: list[int] = []

    def roll(place: int, client: str, **options: Any) -> None:
        if place in live:
            live.pop(place).close()
        live[place] = programs.open(client, "rolled", ["orders"], **options)
        every.append(live[place])

    def settles(protocol: str) -> None:
        share([*live.values()])
        assert types(living)["rolled"] == protocol
        settled.extend(flow.goes_on())
        until(watched.look)

    roll(0, old, **classic)
    roll(1, old, **classic)
    settles("CLASSIC")
    for place, client, options, protocol in (
        (0, new, {}, "CONSUMER"),
        (1, new, {}, "CONSUMER"),
        (0, old, classic, "CONSUMER"),
        (1, old, classic, "CLASSIC"),
    ):
        roll(place, client, **options)
        settles(protocol)
    is_read(flow, every)
    counts = Counter(number for member in every for number in member.numbers)
    assert [number for number in settled if counts[number] != 1] == []
    until(lambda: watched.look() and sum(watched.offsets.values()) == flow.sent)


CLASSIC: Final[dict[str, Callable[[str, str, int], list[int]]]] = {
    name: reads for name, reads in test_groups_of_each.CLIENTS.items() if name not in {*CLIENTS, "kafka-go"}
}
"""Clients without the consumer protocol. The subscription of kafka-go 0.4.51 lacks a field of its version, so that no
coordinator can read it, not even Kafka's."""


@pytest.mark.parametrize("client", [pytest.param(name, marks=FULL) for name in CLASSIC])
def test_classic_client_reads_beside_a_consumer(living: Living, programs: Programs, flow: Flow, client: str) -> None:
    """The classic one goes after some records, and the consumer gets its partitions."""
    consumer = programs.open("librdkafka", "beside", ["orders"])
    share([consumer])
    values = CLASSIC[client](living.bootstrap, "beside", 100)
    assert len(values) == 100
    share([consumer])
    flow.stop()
    until(lambda: {*consumer.numbers, *values} == {*range(flow.sent)})
    assert types(living) == {"beside": "CONSUMER"}


@pytest.mark.parametrize("client", [pytest.param(name, marks=FULL) for name in STATIC])
def test_static_member_restarts_without_rebalance(living: Living, programs: Programs, client: str) -> None:
    """The listener of the other member is not called."""
    stays = programs.open(client, "static", ["orders"], group_instance_id="stays")
    before = programs.open(client, "static", ["orders"], group_instance_id="restarts")
    share([stays, before])
    calls, partitions = [*stays.calls], before.partitions
    before.close()
    after = programs.open(client, "static", ["orders"], group_instance_id="restarts")
    share([stays, after])
    produce(living, PARTITIONS, range(60))
    until(lambda: len(stays.numbers) + len(after.numbers) == 60)
    assert (after.partitions, stays.calls) == (partitions, calls)


PATTERNS: Final = [
    *(pytest.param((name, "^metrics-.*"), marks=FULL, id=name) for name in CLIENTS),
    pytest.param(("java-4.3.1", "metrics-.*"), marks=FULL, id="java-4.3.1 by the coordinator"),
]


@pytest.mark.parametrize("subscribed", PATTERNS)
def test_new_topic_that_matches_is_read(living: Living, programs: Programs, subscribed: tuple[str, str]) -> None:
    """Expressions of Java are the client's if they begin with `^`, else the coordinator's, as those of the others."""
    client, pattern = subscribed
    options: dict[str, Any] = {"metadata_max_age_ms": 1000} if client.startswith("java") else {}
    member = programs.open(client, "pattern", pattern, **options)

    def reads(topic: str, count: int) -> None:
        living.topic(topic, [[1, 2, 3]] * PARTITIONS)
        produce(living, PARTITIONS, range(60), topic)
        until(lambda: len(member.records) == count, f"{count} records of {member.calls}, {member.failures}")

    reads("metrics-1", 60)
    reads("other-metrics", 60)
    reads("metrics-2", 120)
    assert {record.topic for record in member.records} == {"metrics-1", "metrics-2"}


@pytest.mark.checklist(261)
@pytest.mark.server
@pytest.mark.full
def test_group_goes_on_while_its_coordinator_moves(living: Living, programs: Programs, flow: Flow) -> None:
    """Members of three clients. The coordinator is killed, and its partition of the log moves."""
    members = [programs.open(name, "g", ["orders"]) for name in ("librdkafka", "java-4.3.1", "franz-go")]
    share(members)
    watched, log = Watched(living), TopicPartition(OFFSETS_TOPIC, 0)
    for _ in range(3):
        killed = leader(living)
        living.cluster.kill_broker(killed)
        flow.goes_on()
        watched.goes_on(PARTITIONS)
        living.cluster.restart_broker(killed)
        living.move(log, [broker for broker in (1, 2, 3) if broker != leader(living)])
        until(lambda: not living.is_moving)
        watched.goes_on(PARTITIONS)
    share(members)
    is_read(flow, members)
    assert [(member.name, member.failures) for member in members if member.failures] == []
