"""Throttled moves, throttles and fewer partitions, by the private requests of KIP-179 and KIP-694."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kedge import TopicPartition
from kedge.controller.model.throttle_configs import LISTS, RATES
from tests.kit.waiting import until
from tests.wire.asking import ask, contents, in_sync, led, new_topic, partitions_of
from tests.wire.served import DEADLINE_S, RawClient, Served

BROKERS = {1: "a", 2: "b", 3: "c", 4: "a", 5: "b", 6: "c"}
NO_THROTTLE = 2**63 - 1
INVALID_THROTTLE = 10_179


@pytest.fixture
def served() -> Iterator[Served]:
    """Topics t and u of three partitions each on the brokers 1, 2 and 3."""
    with Served(BROKERS) as opened, RawClient(opened.address) as client:
        three = {p: [1, 2, 3] for p in range(3)}
        ask(client, "CreateTopics", 7, topics=[new_topic(name, assignments=three) for name in ("t", "u")])
        led(client, "t"), led(client, "u")
        yield opened


def said(rows: Any) -> dict[Any, int]:
    """The code per broker, or per partition."""
    if rows and hasattr(rows[0], "broker_id"):
        return {row.broker_id: row.error_code for row in rows}
    return {(row.topic, p.partition_id): p.error_code for row in rows for p in row.partitions}


def settings(served: Served, kind: str, name: str) -> dict[str, str]:
    """What is set of a topic or a broker itself."""

    def ask_for(view: Any) -> dict[str, str]:
        return dict(view.topic_config(name) if kind == "topics" else view.broker_config(name))

    return served.controller.query(ask_for).result(DEADLINE_S)


@pytest.mark.parametrize("version", range(5))
def test_private_requests_are_advertised_only_to_kedge_clients(client: RawClient, version: int) -> None:
    def offered(name: str) -> dict[int, int]:
        answer = client.ask("ApiVersions", version, client_software_name=name)
        return {row.api_key: row.max_version for row in answer.api_keys if row.api_key >= 20_000}

    assert offered("kedge") == ({20_000: 0, 20_001: 1, 20_002: 0, 20_003: 0} if version >= 3 else {})
    assert offered("kafka-python") == offered("") == {}


# --- ReassignPartitions


def reassign(client: RawClient, targets: dict[str, dict[int, list[int]]], throttle: int = 1000, **more: Any) -> Any:
    topics = [
        {"topic": name, "partitions": [{"partition_id": p, "brokers": brokers} for p, brokers in each.items()]}
        for name, each in targets.items()
    ]
    fields = {"topics": topics, "throttle": throttle, "remove_throttle": True, "validate_only": False, **more}
    return said(ask(client, "ReassignPartitions", 0, **fields).topics)


@pytest.mark.checklist(1, 2, 12, 17)
def test_a_throttled_move_begins_and_takes_its_throttle_with_it(served: Served, client: RawClient) -> None:
    assert reassign(client, {"t": {0: [4, 2, 3]}}) == {("t", 0): 0}
    both = dict.fromkeys(RATES["replication"], "1000")
    assert {broker: settings(served, "brokers", str(broker)) for broker in (1, 2, 3, 4)} == dict.fromkeys(
        (1, 2, 3, 4), both
    )
    assert settings(served, "topics", "t") == {LISTS[0]: "0:1,0:2,0:3", LISTS[1]: "0:4"}
    in_sync(served, TopicPartition("t", 0), [1, 2, 3, 4])
    until(lambda: led(client, "t")[0].replica_nodes == [4, 2, 3])
    until(lambda: not settings(served, "topics", "t") and not settings(served, "brokers", "4"))


@pytest.mark.checklist(8, 11, 25, 26, 27, 28, 29, 30)
def test_bad_partitions_are_refused_and_good_ones_move_unless_something_moves(
    served: Served, client: RawClient
) -> None:
    before = contents(served)
    asked = {"t": {0: [4, 2, 3], 1: [], 2: [77], 9: [1]}, "no-such": {0: [1]}}
    answer = {("t", 0): 0, ("t", 1): 39, ("t", 2): 25, ("t", 9): 39, ("no-such", 0): 17}
    assert reassign(client, asked, NO_THROTTLE, validate_only=True) == answer
    assert reassign(client, {"t": {0: [4, 2, 3]}}, 0) == {("t", 0): INVALID_THROTTLE}
    assert reassign(client, {"t": {0: [4, 2, 3]}}, timeout_ms=-1) == {("t", 0): 7}
    rows = [{"topic": "t", "partitions": [{"partition_id": p, "brokers": [4, 2, 3]}]} for p in (0, 1)]
    twice = ask(client, "ReassignPartitions", 0, topics=rows, throttle=9, remove_throttle=True, validate_only=False)
    assert said(twice.topics) == {("t", 0): 42, ("t", 1): 42}
    assert contents(served) == before
    assert reassign(client, asked, NO_THROTTLE) == answer
    assert not settings(served, "topics", "t")
    assert reassign(client, {"u": {0: [4, 2, 3]}}) == {("u", 0): 60}


# --- throttles


def alter_rates(client: RawClient, rates: list[tuple[int, int, int]], version: int = 1, **more: Any) -> dict[Any, int]:
    brokers = [{"broker_id": b, "leader_rate": leader, "follower_rate": follower} for b, leader, follower in rates]
    fields = {"brokers": brokers, "remove_throttle": False, "validate_only": False, **more}
    return said(ask(client, "AlterInterbrokerThrottledRates", version, **fields).brokers)


@pytest.mark.checklist(44, 45)
@pytest.mark.parametrize("version, family", [(0, None), (1, 0), (1, 1)])
def test_rates_are_set_and_what_is_not_named_is_given_back(
    served: Served, client: RawClient, version: int, family: int | None
) -> None:
    more = {} if family is None else {"family": family}
    marked = {"remove_throttle": True, **more}
    names = RATES["reassignment" if family == 1 else "replication"]
    assert alter_rates(client, [(1, 10, 20), (2, 30, 40)], version, **marked) == {1: 0, 2: 0}
    assert settings(served, "brokers", "1") == dict(zip(names, ("10", "20"), strict=True))
    assert alter_rates(client, [(2, 50, 60)], version, **marked) == {2: 0}
    assert settings(served, "brokers", "1") == {}
    assert settings(served, "brokers", "2") == dict(zip(names, ("50", "60"), strict=True))
    assert alter_rates(client, [], version, **marked) == {}
    assert settings(served, "brokers", "2") == {}


@pytest.mark.checklist(48, 49)
def test_rates_that_cannot_be_are_refused_and_nothing_is_written(served: Served, client: RawClient) -> None:
    alter_rates(client, [(1, 10, 20)], remove_throttle=True)
    before = contents(served)
    assert alter_rates(client, [(2, 10, 20)], validate_only=True) == {2: 0}
    assert alter_rates(client, [(2, 0, 20), (77, 1, 1), (-1, 1, 1)]) == {-1: 25, 2: INVALID_THROTTLE, 77: 25}
    assert alter_rates(client, [(-1, 1, 1)]) == {-1: 25}
    assert alter_rates(client, [(2, 1, 1), (3, 1, 1), (2, 1, 1)]) == {2: 42, 3: 42}
    assert alter_rates(client, [(2, 1, 1)], family=7) == {2: 42}
    assert alter_rates(client, [(2, 1, 1)], timeout_ms=0) == {2: 7}
    assert contents(served) == before


def alter_replicas(client: RawClient, replicas: list[tuple[str, int, Any, Any]], **more: Any) -> dict[Any, int]:
    topics = [
        {"topic": name, "partitions": [{"partition_id": p, "leaders": leaders, "followers": followers}]}
        for name, p, leaders, followers in replicas
    ]
    fields = {"topics": topics, "remove_throttle": True, "validate_only": False, **more}
    return said(ask(client, "AlterInterbrokerThrottledReplicas", 0, **fields).topics)


@pytest.mark.checklist(51, 52, 53)
def test_throttled_replicas_are_set_with_null_for_all_and_the_rest_removed(served: Served, client: RawClient) -> None:
    assert alter_replicas(client, [("t", 0, [1, 2], [3]), ("u", 1, None, [])]) == {("t", 0): 0, ("u", 1): 0}
    assert settings(served, "topics", "t") == {LISTS[0]: "0:1,0:2", LISTS[1]: "0:3"}
    assert settings(served, "topics", "u")[LISTS[0]] == "1:1,1:2,1:3,1:4,1:5,1:6"
    assert alter_replicas(client, [("t", 1, [1], [2])]) == {("t", 1): 0}
    assert settings(served, "topics", "u") == {}


@pytest.mark.checklist(54, 55)
def test_throttled_replicas_that_cannot_be_are_refused_and_nothing_is_written(
    served: Served, client: RawClient
) -> None:
    alter_replicas(client, [("t", 0, [1, 2], [3])])
    before = contents(served)
    assert alter_replicas(client, [("u", 0, [1], [2])], validate_only=True) == {("u", 0): 0}
    assert alter_replicas(client, [("t", 9, [1], []), ("no", 0, [1], []), ("u", 0, [77], [])]) == {
        ("t", 9): 3,
        ("no", 0): 3,
        ("u", 0): 25,
    }
    assert alter_replicas(client, [("u", 0, [1], []), ("u", 0, [2], [])]) == {("u", 0): 42}
    assert contents(served) == before


# --- DeletePartitions


def delete(client: RawClient, named: list[tuple[str, list[int]]], *, immediate: bool = True, **more: Any) -> Any:
    topics = [{"name": name, "partitions": partitions} for name, partitions in named]
    return ask(client, "DeletePartitions", 0, topics=topics, immediate_delete=immediate, **more)


def statuses(answer: Any) -> dict[tuple[str, int], tuple[int, int]]:
    """Status and code per partition."""
    return {
        (row.name, p.partition_index): (p.status_code, p.error_code) for row in answer.responses for p in row.partitions
    }


def status(served: Served, topic: str, partition: int) -> int | None:
    """As it is committed."""
    row = served.controller.query(lambda view: view.partition(topic, partition)).result(DEADLINE_S)
    return None if row is None else row.status_code


@pytest.mark.checklist(185, 186, 187, 206, 210)
def test_the_last_partitions_go_at_once_or_are_read_until_then(client: RawClient) -> None:
    answer = delete(client, [("t", [2, 1])], immediate=False)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert statuses(answer) == {("t", 2): (-1, 0), ("t", 1): (-1, 0)}
    assert set(partitions_of(client, "t")) == {0, 1, 2}
    assert statuses(delete(client, [("t", [1, 2])], immediate=False)) == {("t", 1): (-1, 0), ("t", 2): (-1, 0)}
    assert statuses(delete(client, [("t", [2])])) == {("t", 2): (1, 0)}
    until(lambda: set(partitions_of(client, "t")) == {0, 1})


@pytest.mark.checklist(207, 208, 209)
def test_partitions_that_may_not_go_keep_their_status_and_nothing_is_written(served: Served, client: RawClient) -> None:
    delete(client, [("u", [2])], immediate=False)
    until(lambda: status(served, "u", 2) == -1)
    before = contents(served)
    assert statuses(delete(client, [("t", [0]), ("u", [2, 9]), ("no-such", [1])])) == {
        ("t", 0): (0, 37),
        ("u", 2): (-1, 3),
        ("u", 9): (0, 3),
        ("no-such", 1): (0, 3),
    }
    assert statuses(delete(client, [("t", [0, 1, 2])])) == dict.fromkeys([("t", p) for p in range(3)], (0, 37))
    assert statuses(delete(client, [("t", [2, 2])])) == {("t", 2): (0, 42)}
    assert statuses(delete(client, [("t", [2]), ("t", [1])]))["t", 1] == (0, 42)
    assert statuses(delete(client, [("t", [2])], timeout_ms=-5)) == {("t", 2): (0, 7)}
    empty = delete(client, [("t", [])])
    assert (empty.error_code, statuses(empty)) == (37, {})
    assert contents(served) == before
