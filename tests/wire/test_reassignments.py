"""Moves are started, listed and cancelled through a gateway, with every null form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kedge import Controller, TopicPartition
from kedge.controller.wire import Gateway
from kedge.stores import MemoryStore
from tests.kit.waiting import until
from tests.runtime.world import Brokers
from tests.wire.asking import ask, contents, in_sync, led, new_topic, partitions_of
from tests.wire.served import RawClient, Served

BROKERS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
INCLUDES = "The manual partition assignment includes"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served(BROKERS) as opened:
        yield opened


@pytest.fixture
def client(served: Served) -> Iterator[RawClient]:
    """With the topics t and u, of three and one partitions on the brokers 1, 2 and 3; nothing moves."""
    with RawClient(served.address) as opened:
        if not partitions_of(opened, "t"):
            three = {p: [1, 2, 3] for p in range(3)}
            asked = [new_topic("t", assignments=three), new_topic("u", assignments={0: [1, 2, 3]})]
            ask(opened, "CreateTopics", 7, topics=asked)
        alter(opened, None)
        led(opened, "t"), led(opened, "u")
        yield opened


def alter(client: RawClient, targets: dict[str, Any] | None, version: int = 0, **more: Any) -> Any:
    """`targets`: topic -> partition -> brokers, each level None where it is to be null."""
    topics = None if targets is None else [_topic(name, each) for name, each in targets.items()]
    return ask(client, "AlterPartitionReassignments", version, topics=topics, **more)


def _topic(name: str, targets: dict[int, Sequence[int] | None] | None) -> dict[str, Any]:
    rows = None if targets is None else [{"partition_index": p, "replicas": each} for p, each in targets.items()]
    return {"name": name, "partitions": rows}


def said(answer: Any) -> dict[tuple[str, int], tuple[int, str | None]]:
    """Code and message per partition."""
    return {
        (topic.name, p.partition_index): (p.error_code, p.error_message)
        for topic in answer.responses
        for p in topic.partitions
    }


def listed(client: RawClient, named: dict[str, Any] | None = None) -> dict[tuple[str, int], Any]:
    """Replicas, adding and removing per partition that moves. `named`: topic -> partitions or None; None: all."""
    topics = None if named is None else [{"name": name, "partition_indexes": each} for name, each in named.items()]
    answer = ask(client, "ListPartitionReassignments", 0, topics=topics)
    assert (answer.error_code, answer.error_message) == (0, None)
    return {
        (topic.name, p.partition_index): (p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in answer.topics
        for p in topic.partitions
    }


@pytest.mark.checklist(76, 96, 97)
@pytest.mark.parametrize("version", range(2))
def test_a_move_is_listed_as_tools_compute_with_it_until_it_is_done(
    served: Served, client: RawClient, version: int
) -> None:
    """However much of it is done, `replicas` without `adding` are the replicas of before."""
    tp, start = TopicPartition("t", 0), partitions_of(client, "t")[0].replica_nodes
    target = [4, 5, 6] if start == [1, 2, 3] else [1, 2, 3]
    answer = alter(client, {"t": {0: target}}, version)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert said(answer) == {("t", 0): (0, None)}
    assert listed(client) == {("t", 0): (target + start, target, start)}
    in_sync(served, tp, [*start, target[0]])
    assert listed(client) == {("t", 0): (target + start, target, start)}
    assert partitions_of(client, "t")[0].replica_nodes == target + start
    in_sync(served, tp, [*start, *target])
    assert listed(client) == {}
    assert led(client, "t")[0].replica_nodes == target


@pytest.mark.checklist(85, 86, 87, 97)
def test_a_listing_is_of_all_or_of_those_named_and_idle_ones_are_absent(client: RawClient) -> None:
    alter(client, {"t": {1: [1, 2, 4], 2: [1, 2, 5]}, "u": {0: [1, 2, 6]}})
    assert set(listed(client)) == {("t", 1), ("t", 2), ("u", 0)}
    assert set(listed(client, {"t": [0, 1], "no-such": [0]})) == {("t", 1)}
    assert set(listed(client, {"t": None})) == {("t", 1), ("t", 2)}
    assert set(listed(client, {"t": None, "u": [0], "no-such": None})) == {("t", 1), ("t", 2), ("u", 0)}
    assert listed(client, {}) == {}
    assert listed(client, {"t": []}) == {}


@pytest.mark.checklist(79, 83, 96)
def test_null_replicas_cancel_the_move_of_that_partition(client: RawClient) -> None:
    alter(client, {"t": {1: [1, 2, 4], 2: [1, 2, 5]}})
    assert said(alter(client, {"t": {1: None}})) == {("t", 1): (0, None)}
    assert set(listed(client)) == {("t", 2)}
    none = (85, "No partition reassignment is in progress.")
    assert said(alter(client, {"t": {1: None}})) == {("t", 1): none}


@pytest.mark.checklist(82, 83, 96)
def test_null_partitions_cancel_all_of_the_topic(client: RawClient) -> None:
    alter(client, {"t": {1: [1, 2, 4], 2: [1, 2, 5]}, "u": {0: [1, 2, 6]}})
    answer = alter(client, {"t": None, "u": {0: [1, 2, 4]}})
    assert said(answer) == {("t", 1): (0, None), ("t", 2): (0, None), ("u", 0): (0, None)}
    assert listed(client) == {("u", 0): ([1, 2, 4, 3], [4], [3])}
    assert said(alter(client, {"t": None})) == {}


@pytest.mark.checklist(81, 83, 96)
def test_null_topics_cancel_everything(client: RawClient) -> None:
    alter(client, {"t": {1: [1, 2, 4]}, "u": {0: [1, 2, 6]}})
    assert said(alter(client, None)) == {("t", 1): (0, None), ("u", 0): (0, None)}
    assert listed(client) == {}
    again = alter(client, None)
    assert (again.error_code, again.responses) == (0, [])


@pytest.mark.checklist(84, 92, 93)
def test_bad_partitions_are_refused_in_kafkas_words_and_good_ones_start(client: RawClient) -> None:
    """An empty list is no cancel, though kafkajs and kafka-go cannot send null."""
    alter(client, {"t": {0: [1, 2, 5]}})
    answer = alter(client, {"t": {0: [], 1: [1, 1], 2: [1, 2, 4], 9: [1]}, "u": {0: [77]}, "no-such": {0: [1]}})
    assert answer.error_code == 0
    assert said(answer) == {
        ("t", 0): (39, f"{INCLUDES} an empty replica list."),
        ("t", 1): (39, f"{INCLUDES} the broker 1 more than once."),
        ("t", 2): (0, None),
        ("t", 9): (3, "Unable to find partition t:9."),
        ("u", 0): (39, f"{INCLUDES} broker 77, but no such broker is registered."),
        ("no-such", 0): (3, "Unable to find a topic named no-such."),
    }
    assert set(listed(client)) == {("t", 0), ("t", 2)}


def test_what_is_named_twice_does_not_move_and_the_others_do(served: Served, client: RawClient) -> None:
    rows = [{"partition_index": p, "replicas": [1, 2, 4]} for p in (0, 1, 0)]
    answer = ask(client, "AlterPartitionReassignments", 0, topics=[{"name": "t", "partitions": rows}])
    assert {key: code for key, (code, _) in said(answer).items()} == {("t", 0): 42, ("t", 1): 0}
    assert set(listed(client)) == {("t", 1)}
    before = contents(served)
    twice = [{"name": "t", "partitions": None}, {"name": "t", "partitions": rows[:1]}]
    refused = ask(client, "AlterPartitionReassignments", 0, topics=twice)
    assert (refused.error_code, refused.responses) == (42, [])
    assert contents(served) == before


def test_the_replication_factor_may_be_kept_as_version_1_asks(served: Served, client: RawClient) -> None:
    before = contents(served)
    answer = alter(client, {"t": {1: [1, 2]}}, 1, allow_replication_factor_change=False)
    assert answer.allow_replication_factor_change is False
    assert said(answer)["t", 1][0] == 38
    assert contents(served) == before


@pytest.mark.slow
def test_hundreds_of_partitions_move_by_one_request_while_others_are_served(client: RawClient) -> None:
    """What is about many is done beside the loop; the answers are the same."""
    count = 700
    ask(client, "CreateTopics", 7, topics=[new_topic("many", assignments={p: [1, 2, 3] for p in range(count)})])
    led(client, "many")
    every = {("many", p) for p in range(count)}
    targets = {partition: [1, 2, 4] for partition in range(count)}
    assert said(alter(client, {"many": targets})) == dict.fromkeys(every, (0, None))
    assert listed(client) == dict.fromkeys(every, ([1, 2, 4, 3], [4], [3]))
    assert said(alter(client, {"many": None})) == dict.fromkeys(every, (0, None))


@pytest.mark.checklist(95)
def test_call_without_waiting_times_out_and_nothing_moves(served: Served, client: RawClient) -> None:
    before = contents(served)
    for timeout_ms in (0, -1):
        answer = alter(client, {"t": {1: [1, 2, 4]}}, timeout_ms=timeout_ms)
        assert said(answer)["t", 1][0] == 7
    assert contents(served) == before


@pytest.mark.checklist(22, 89)
def test_a_stand_by_that_cannot_reach_the_active_one_says_so_for_the_whole(served: Served) -> None:
    """Where the schema has a place for it, which is what clients look at."""
    store = MemoryStore(served.server)
    with Controller(store, 2, Brokers()) as standby, Gateway(standby) as gateway:
        standby.start()
        until(lambda: standby.describe().active_id == 1)
        with RawClient(gateway.address) as client:
            answer = alter(client, {"t": {1: [1, 2, 4]}})
            assert (answer.error_code, said(answer)["t", 1][0]) == (41, 41)
            assert answer.error_message == said(answer)["t", 1][1]
            assert alter(client, None).error_code == 41
            moves = ask(client, "ListPartitionReassignments", 0, topics=None)
            assert (moves.error_code, moves.topics) == (41, [])
            elected = ask(client, "ElectLeaders", 2, topic_partitions=None, election_type=0)
            assert elected.error_code == 41
            created = ask(client, "CreateTopics", 7, topics=[new_topic("t", 1, 1)])
            assert created.topics[0].error_code == 41
            deleted = ask(client, "DeleteTopics", 6, topics=[{"name": "t", "topic_id": None}])
            assert [(row.name, row.error_code) for row in deleted.responses] == [("t", 41)]
            reduced = ask(
                client, "DeletePartitions", 0, immediate_delete=True, topics=[{"name": "t", "partitions": [2]}]
            )
            assert reduced.error_code == 41
    store.close()
