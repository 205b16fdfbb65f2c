"""Leaders are elected through a gateway."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.waiting import until
from tests.wire.asking import ask, contents, led, new_topic, partitions_of
from tests.wire.served import RawClient, Served

NOT_NEEDED = "Leader election not needed for topic partition"


@pytest.fixture
def served() -> Iterator[Served]:
    """Topic t has its two partitions on the brokers 1, 2 and 3, and both prefer 1."""
    with Served() as opened, RawClient(opened.address) as client:
        ask(client, "CreateTopics", 7, topics=[new_topic("t", assignments={0: [1, 2, 3], 1: [1, 2, 3]})])
        led(client, "t")
        yield opened


def elect(client: RawClient, version: int, partitions: list[int] | None, kind: int = 0, topic: str = "t") -> Any:
    named = None if partitions is None else [{"topic": topic, "partitions": partitions}]
    return ask(client, "ElectLeaders", version, topic_partitions=named, election_type=kind)


def said(answer: Any) -> dict[tuple[str, int], tuple[int, str | None]]:
    """Code and message per partition."""
    return {
        (row.topic, p.partition_id): (p.error_code, p.error_message)
        for row in answer.replica_election_results
        for p in row.partition_result
    }


def leaders(client: RawClient) -> list[int]:
    return [row.leader_id for _, row in sorted(partitions_of(client, "t").items())]


def led_elsewhere(client: RawClient) -> None:
    """Both partitions are led by 2, though 1 is back."""
    target = [{"partition_index": p, "replicas": [2, 1, 3]} for p in (0, 1)]
    ask(client, "AlterPartitionReassignments", 0, topics=[{"name": "t", "partitions": target}])
    elect(client, 2, [0, 1])
    target = [{"partition_index": p, "replicas": [1, 2, 3]} for p in (0, 1)]
    ask(client, "AlterPartitionReassignments", 0, topics=[{"name": "t", "partitions": target}])
    assert leaders(client) == [2, 2]


@pytest.mark.parametrize("version", range(3))
def test_preferred_leaders_are_elected_by_name_in_every_version(client: RawClient, version: int) -> None:
    led_elsewhere(client)
    assert said(elect(client, version, [0])) == {("t", 0): (0, None)}
    assert leaders(client) == [1, 2]
    assert said(elect(client, version, [0, 0, 9])) == {
        ("t", 0): (84, f"{NOT_NEEDED}: the preferred leader 1 leads t-0."),
        ("t", 9): (3, "No such partition as t-9"),
    }
    assert said(elect(client, version, [0], topic="no-such")) == {("no-such", 0): (3, "No such topic as no-such")}


@pytest.mark.parametrize("version", range(3))
def test_null_elects_all_that_need_it_and_names_them_alone(client: RawClient, version: int) -> None:
    led_elsewhere(client)
    elect(client, version, [0])
    assert said(elect(client, version, None)) == {("t", 1): (0, None)}
    assert leaders(client) == [1, 1]
    assert said(elect(client, version, None)) == {}


@pytest.mark.parametrize("version", range(1, 3))
def test_an_unclean_leader_is_elected_where_there_is_none(served: Served, client: RawClient, version: int) -> None:
    """2 and 3 fall out of the isr, 1 dies: no leader until 2 is taken, with what it has."""
    served.leave(2)
    served.leave(3)
    until(lambda: all(row.isr_nodes == [1] for row in partitions_of(client, "t").values()))
    served.leave(1)
    until(lambda: leaders(client) == [-1, -1])
    served.join(2, "b")
    assert said(elect(client, version, [0])) == {
        ("t", 0): (80, "The preferred leader was not available: 1 of t-0 is not alive.")
    }
    assert said(elect(client, version, [0], kind=1)) == {("t", 0): (0, None)}
    assert leaders(client) == [2, -1]
    assert said(elect(client, version, [0], kind=1)) == {("t", 0): (84, f"{NOT_NEEDED}: 2 leads t-0.")}


def test_an_unknown_kind_of_election_is_refused_and_nothing_is_written(served: Served, client: RawClient) -> None:
    before = contents(served)
    answer = elect(client, 2, [0], kind=7)
    assert answer.error_code == 42
    assert said(answer) == {("t", 0): (42, "There is no election type 7.")}
    assert contents(served) == before


def test_call_without_waiting_times_out(served: Served, client: RawClient) -> None:
    led_elsewhere(client)
    before = contents(served)
    named = [{"topic": "t", "partitions": [0]}]
    answer = ask(client, "ElectLeaders", 2, topic_partitions=named, election_type=0, timeout_ms=-1)
    assert 7 in {answer.error_code, *(code for code, _ in said(answer).values())}
    assert contents(served) == before
