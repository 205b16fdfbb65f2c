"""Topics are created, grown and deleted through a gateway, in every version of the requests."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kedge.controller.model.errors import ErrorCode
from tests.kit.waiting import until
from tests.wire.asking import ask, contents, led, new_topic, partitions_of
from tests.wire.served import DEADLINE_S, RACKS, RawClient, Served

NOT_HOSTED = "This server does not host this topic-partition."


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as opened, RawClient(opened.address) as client:
        ask(client, "CreateTopics", 7, topics=[new_topic("java-a", 3, 2)])
        led(client, "java-a")
        yield opened


def said(answer: Any) -> dict[str, tuple[int, str | None]]:
    """Code and message per topic."""
    rows = getattr(answer, "topics", None) or getattr(answer, "results", None) or getattr(answer, "responses", None)
    return {row.name: (row.error_code, row.error_message) for row in rows or ()}


# --- CreateTopics


@pytest.mark.parametrize("version", range(8))
def test_a_topic_is_created_by_counts_in_every_version(client: RawClient, version: int) -> None:
    name = f"counted-{version}"
    answer = ask(client, "CreateTopics", version, topics=[new_topic(name, 2, 3, configs={"retention.ms": "1000"})])
    [topic] = answer.topics
    assert (topic.name, topic.error_code) == (name, 0)
    if version >= 1:
        assert topic.error_message is None
    assert set(partitions_of(client, name)) == {0, 1}  # what was answered is seen by the next request
    for partition in led(client, name).values():
        assert {RACKS[broker] for broker in partition.replica_nodes} == {"a", "b", "c"}
    if version >= 5:
        assert (topic.topic_config_error_code, topic.num_partitions, topic.replication_factor) == (0, 2, 3)
        told = {config.name: (config.value, config.config_source) for config in topic.configs}
        assert told["retention.ms"] == ("1000", 1)
        assert told["cleanup.policy"] == ("delete", 5)


@pytest.mark.parametrize("version", range(1, 8))
def test_what_would_be_created_is_printed_and_nothing_is_written(
    served: Served, client: RawClient, version: int
) -> None:
    before = contents(served)
    asked = [new_topic("never", 4, 2, configs={"retention.ms": "7"}), new_topic("java-a", 1, 1)]
    answer = ask(client, "CreateTopics", version, topics=asked, validate_only=True)
    assert said(answer) == {"never": (0, None), "java-a": (36, "Topic 'java-a' already exists.")}
    if version >= 5:
        never, taken = answer.topics
        assert (never.num_partitions, never.replication_factor) == (4, 2)
        assert {c.name: c.value for c in never.configs}["retention.ms"] == "7"
        assert (taken.num_partitions, taken.replication_factor, taken.configs) == (-1, -1, [])
    assert contents(served) == before


@pytest.mark.checklist(157)
@pytest.mark.parametrize("version", range(8))
def test_a_topic_is_created_as_assigned(client: RawClient, version: int) -> None:
    """The order in which partitions are named says nothing; racks need not be spread."""
    name = f"assigned-{version}"
    answer = ask(client, "CreateTopics", version, topics=[new_topic(name, assignments={1: [3, 1], 0: [2, 3]})])
    assert answer.topics[0].error_code == 0
    assert {p: row.replica_nodes for p, row in partitions_of(client, name).items()} == {0: [2, 3], 1: [3, 1]}


BAD_NAME = "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "exists": (new_topic("java-a", 1, 1), 36, "Topic 'java-a' already exists."),
    "bad name": (new_topic("bad name!", 1, 1), 17, f"Topic name is invalid: 'bad name!{BAD_NAME}"),
    "assigned twice": (
        new_topic("t") | {"assignments": [{"partition_index": 0, "broker_ids": [b]} for b in (1, 2)]},
        39,
        "Found multiple manual partition assignments for partition 0",
    ),
    "a gap": (
        new_topic("t", assignments={0: [1], 2: [1]}),
        39,
        "partitions should be a consecutive 0-based integer sequence",
    ),
    "unknown setting": (
        new_topic("t", 1, 1, configs={"no.such.key": "1"}),
        40,
        "Unknown topic config name: no.such.key",
    ),
    "bad setting": (
        new_topic("t", 1, 1, configs={"retention.ms": "abc"}),
        40,
        "Invalid value abc for configuration retention.ms: Not a number of type LONG",
    ),
    "no value": (
        new_topic("t", 1, 1, configs={"retention.ms": None}),
        40,
        "Null value not supported for topic configs: retention.ms",
    ),
}
"""One of each kind; the rules have all others (`tests/rules/transcripts/topics.txt`)."""


@pytest.mark.checklist(151)
@pytest.mark.parametrize("asked, code, message", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_created_is_refused_in_kafkas_words_and_nothing_is_written(
    served: Served, client: RawClient, asked: dict[str, Any], code: int, message: str
) -> None:
    before = contents(served)
    answer = ask(client, "CreateTopics", 7, topics=[asked])
    assert said(answer) == {asked["name"]: (code, message)}
    assert contents(served) == before


EXCESSIVE = (ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
MANY: dict[str, list[dict[str, Any]]] = {
    "of one topic": [new_topic("huge", 2**31 - 1, 3)],
    "by one": [new_topic("huge", 10_001, 1)],
    "of all topics": [new_topic("huge", 5_000, 1), new_topic("large", 5_000, 1), new_topic("by-default")],
    "of one that is named twice": [new_topic("huge", 5_001, 1), new_topic("huge", 5_000, 1)],
    "with less than none": [new_topic("huge", 10_001, 1), new_topic("negative", -(2**31), 1)],
    "as assigned": [new_topic("huge", 10_000, 1), new_topic("large", assignments={0: [1]})],
}


@pytest.mark.parametrize("asked", MANY.values(), ids=MANY)
def test_more_new_partitions_than_kafka_takes_of_one_request_are_refused(
    served: Served, client: RawClient, asked: list[dict[str, Any]]
) -> None:
    before = contents(served)
    for validate_only in (True, False):
        answer = ask(client, "CreateTopics", 7, topics=asked, validate_only=validate_only)
        assert said(answer) == {topic["name"]: EXCESSIVE for topic in asked}
    as_many = [new_topic("large", 9_999, 1), new_topic("small", 1, 1)]
    answer = ask(client, "CreateTopics", 7, topics=as_many, validate_only=True)
    assert said(answer) == {"large": (0, None), "small": (0, None)}
    assert contents(served) == before


@pytest.mark.slow
def test_topics_without_partitions_count_as_well(client: RawClient) -> None:
    answer = ask(client, "CreateTopics", 7, topics=[new_topic(f"none-{number}", 0) for number in range(10_001)])
    assert {topic.error_code for topic in answer.topics} == {44}
    assert len(answer.topics) == 10_001


def test_a_topic_that_is_named_twice_is_not_created_and_the_others_are(client: RawClient) -> None:
    asked = [new_topic("double", 1, 1), new_topic("single", 1, 1), new_topic("double", 2, 1)]
    answer = ask(client, "CreateTopics", 7, topics=asked)
    assert said(answer) == {"double": (42, "Duplicate topic name."), "single": (0, None)}
    assert not partitions_of(client, "double")


@pytest.mark.parametrize("timeout_ms", [0, -(2**31)])
def test_call_without_waiting_times_out_and_nothing_is_written(
    served: Served, client: RawClient, timeout_ms: int
) -> None:
    before = contents(served)
    late = {"timeout_ms": timeout_ms}
    answers = [
        ask(client, "CreateTopics", 7, topics=[new_topic("late", 1, 1)], **late).topics,
        ask(
            client, "CreatePartitions", 3, topics=[{"name": "java-a", "count": 9, "assignments": None}], **late
        ).results,
        ask(client, "DeleteTopics", 6, topics=[{"name": "java-a", "topic_id": None}], **late).responses,
    ]
    assert [row.error_code for [row] in answers] == [ErrorCode.REQUEST_TIMED_OUT] * 3
    assert contents(served) == before


# --- CreatePartitions


def test_more_partitions_at_once_than_kafka_takes_are_added_to_nothing(served: Served, client: RawClient) -> None:
    """Those that are there are not counted, nor those of topics that are not."""
    ask(client, "CreateTopics", 7, topics=[new_topic("grows-a", 1, 1), new_topic("grows-b", 1, 1)])
    before = contents(served)

    def grown(**counts: int) -> dict[str, tuple[int, str | None]]:
        asked = [{"name": f"grows-{name}", "count": count, "assignments": None} for name, count in counts.items()]
        return said(ask(client, "CreatePartitions", 3, topics=asked, validate_only=True))

    assert grown(a=10_002) == {"grows-a": EXCESSIVE}
    assert grown(a=5_001, b=5_002) == {"grows-a": EXCESSIVE, "grows-b": EXCESSIVE}
    assert grown(a=2**31 - 1, b=-(2**31)) == {"grows-a": EXCESSIVE, "grows-b": EXCESSIVE}
    assert grown(a=5_001, b=5_001) == {"grows-a": (0, None), "grows-b": (0, None)}
    assert grown(a=2, none=2**31 - 1) == {"grows-a": (0, None), "grows-none": (3, NOT_HOSTED)}
    assert contents(served) == before


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_in_every_version(served: Served, client: RawClient, version: int) -> None:
    name = f"grown-{version}"
    ask(client, "CreateTopics", 7, topics=[new_topic(name, 1, 3)])
    led(client, name)
    before = contents(served)
    more: dict[str, Any] = {"topics": [{"name": name, "count": 2, "assignments": None}]}
    assert said(ask(client, "CreatePartitions", version, validate_only=True, **more)) == {name: (0, None)}
    assert contents(served) == before
    assert said(ask(client, "CreatePartitions", version, **more)) == {name: (0, None)}
    assert set(led(client, name)) == {0, 1}
    assigned = [{"name": name, "count": 3, "assignments": [{"broker_ids": [3, 2, 1]}]}]
    assert said(ask(client, "CreatePartitions", version, topics=assigned)) == {name: (0, None)}
    assert led(client, name)[2].replica_nodes == [3, 2, 1]


@pytest.mark.parametrize("version", range(4))
def test_partitions_that_cannot_be_added_are_refused_and_nothing_is_written(
    served: Served, client: RawClient, version: int
) -> None:
    before = contents(served)
    asked = [{"name": "no-such", "count": 3, "assignments": None}, {"name": "java-a", "count": 3, "assignments": None}]
    whole = (37, "Topic already has 3 partition(s).")
    assert said(ask(client, "CreatePartitions", version, topics=asked)) == {"no-such": (3, NOT_HOSTED), "java-a": whole}
    twice = ask(client, "CreatePartitions", version, topics=asked[1:] * 2)
    assert said(twice) == {"java-a": (42, "Duplicate topic name.")}
    assert contents(served) == before


# --- DeleteTopics


def names(version: int, *topics: str) -> dict[str, Any]:
    if version < 6:
        return {"topic_names": list(topics)}
    return {"topics": [{"name": name, "topic_id": None} for name in topics]}


@pytest.mark.parametrize("version", range(7))
def test_topics_are_deleted_by_name_in_every_version(client: RawClient, version: int) -> None:
    name = f"gone-{version}"
    ask(client, "CreateTopics", 7, topics=[new_topic(name, 2, 3)])
    answer = ask(client, "DeleteTopics", version, **names(version, name, "no-such"))
    assert {row.name: row.error_code for row in answer.responses} == {name: 0, "no-such": 3}
    if version >= 5:
        assert {row.name: row.error_message for row in answer.responses} == {name: None, "no-such": NOT_HOSTED}
    assert not partitions_of(client, name)  # at once, though brokers are still at it


def test_a_topic_is_deleted_by_id_and_can_be_created_again(client: RawClient) -> None:
    [topic] = ask(client, "CreateTopics", 7, topics=[new_topic("again", 1, 3)]).topics
    stranger = "00000000-0000-0000-0000-000000000001"
    asked = [{"name": None, "topic_id": topic.topic_id}, {"name": None, "topic_id": stranger}]
    one, other = ask(client, "DeleteTopics", 6, topics=asked).responses
    assert (one.name, one.topic_id, one.error_code) == ("again", topic.topic_id, 0)
    assert (other.name, str(other.topic_id), other.error_code) == (None, stranger, 100)
    assert other.error_message == "This server does not host this topic ID."
    [made] = ask(client, "CreateTopics", 7, topics=[new_topic("again", 1, 3)]).topics
    assert (made.error_code, made.error_message) == (0, None)
    assert made.topic_id != topic.topic_id


@pytest.mark.slow
def test_deletion_is_answered_when_the_name_is_free_or_its_time_is_over() -> None:
    """It waits for broker 3, and goes on after its time."""
    late, held = (new_topic(name, assignments={0: [3]}) for name in ("late", "held"))
    with Served() as served, RawClient(served.address) as client, RawClient(served.address) as other:
        ask(client, "CreateTopics", 7, topics=[late, held, new_topic("free", assignments={0: [1]})])
        led(client, "late")
        led(client, "held")
        served.leave(3)
        answer = ask(client, "DeleteTopics", 6, **names(6, "free", "late", "no-such"), timeout_ms=500)
        why = "The topic is being deleted; some brokers have not deleted its logs yet."
        assert said(answer) == {"free": (0, None), "late": (7, why), "no-such": (3, NOT_HOSTED)}
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask, other, "DeleteTopics", 6, **names(6, "held"))
            until(lambda: not partitions_of(client, "held"), "the deletion is committed")
            assert not waiting.done()
            served.join(3, "c")
            assert said(waiting.result(DEADLINE_S)) == {"held": (0, None)}
        assert said(ask(client, "CreateTopics", 7, topics=[held])) == {"held": (0, None)}


def test_what_is_named_twice_is_not_deleted_whichever_way(served: Served, client: RawClient) -> None:
    [topic] = ask(client, "CreateTopics", 7, topics=[new_topic("kept", 1, 3)]).topics
    led(client, "kept")
    before = contents(served)
    by_name, by_id = {"name": "kept", "topic_id": None}, {"name": None, "topic_id": topic.topic_id}
    for asked in ([by_name, by_name], [by_name, by_id], [by_id, by_id]):
        answer = ask(client, "DeleteTopics", 6, topics=asked)
        assert {row.error_code for row in answer.responses} == {42}
        assert {row.error_message for row in answer.responses} == {"Duplicate topic name."}
    both, none = ask(
        client,
        "DeleteTopics",
        6,
        topics=[{"name": "kept", "topic_id": topic.topic_id}, {"name": None, "topic_id": None}],
    ).responses
    assert (both.error_code, both.error_message) == (42, "You may not specify both topic name and topic id.")
    assert (none.error_code, none.error_message) == (42, "Neither topic name nor id were specified.")
    assert {row.error_code for row in ask(client, "DeleteTopics", 1, **names(1, "kept", "kept")).responses} == {42}
    assert contents(served) == before
