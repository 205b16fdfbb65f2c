"""Requests with long lists: a gateway goes through no list in one go, and asks the controller in parts.

Every slice is over at once here, so that a handler that works in slices gives others their turn after each row.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final
from uuid import UUID

import attrs
import pytest

from kedge import TopicPartition
from kedge.controller.admin import Admin
from kedge.controller.wire import reading, slices
from kedge.controller.wire.calls import Call
from kedge.controller.wire.kafka import with_kafka_brokers
from kedge.controller.wire.protocol import read_request
from kedge.controller.wire.slices import PART
from tests.kit.waiting import until
from tests.wire.living import Living
from tests.wire.served import RawClient, Served
from tests.wire.test_groups import commit, join

MANY: Final = 3000
AT_ONCE: Final = 5 * slices.FEW
"""Rows that a handler with a few loops may read before its first pause."""


class Watched(list[Any]):
    """A list of a request that reports each row that is read from it."""

    def __init__(self, rows: list[Any], seen: Callable[[], None]) -> None:
        super().__init__(rows)
        self._seen = seen

    def __iter__(self) -> Iterator[Any]:
        for row in super().__iter__():
            self._seen()
            yield row


@attrs.define
class Walks:
    """Rows that were read, in all and in one go, and the sizes of questions to the controller. Threads for large frames
    read in one go what they like: the loop goes on beside them."""

    read: int = 0
    in_one_go: int = 0
    sizes: Counter[str] = attrs.field(factory=Counter)
    _now: Counter[int] = attrs.field(factory=Counter)

    def row(self) -> None:
        self.read += 1
        if threading.current_thread().name.startswith("kedge-frames"):
            return
        thread = threading.get_ident()
        self._now[thread] += 1
        self.in_one_go = max(self.in_one_go, self._now[thread])

    def turn(self) -> None:
        self._now[threading.get_ident()] = 0

    def asked(self, name: str, values: Any) -> None:
        if isinstance(values, list | tuple):
            self.sizes[name] = max(self.sizes[name], len(values))

    def watched(self, value: Any) -> Any:
        if isinstance(value, list):
            return Watched([self.watched(row) for row in value], self.row)
        for name in getattr(getattr(value, "_struct", None), "fields", {}):
            setattr(value, name, self.watched(getattr(value, name)))
        return value


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> Walks:
    found = Walks()
    monkeypatch.setattr(slices, "SLICE_S", 0)
    turn, query, as_text = slices.turn, Call.query, reading.as_text
    describe, listed = Admin.describe_configs, Admin.list_partition_reassignments

    async def turned() -> None:
        await turn()
        found.turn()

    async def queried(self: Call, ask: Any, *arguments: Any) -> Any:
        for argument in arguments:
            found.asked(ask.__name__, argument)
        return await query(self, ask, *arguments)

    def text(topic_id: UUID) -> str:
        found.row()
        return as_text(topic_id)

    def described(self: Admin, resources: Any, **options: Any) -> Any:
        found.asked("describe_configs", list(resources))
        return describe(self, resources, **options)

    def listing(self: Admin, *partitions: Any, **options: Any) -> Any:
        partitions = tuple(list(each) for each in partitions)
        for each in partitions:
            found.asked("list_partition_reassignments", each)
        return listed(self, *partitions, **options)

    monkeypatch.setattr(slices, "turn", turned)
    watched = "kedge.controller.wire.working.read_request"
    monkeypatch.setattr(watched, lambda *frame: found.watched(read_request(*frame)))
    monkeypatch.setattr(Call, "query", queried)
    monkeypatch.setattr(reading, "as_text", text)
    monkeypatch.setattr(Admin, "describe_configs", described)
    monkeypatch.setattr(Admin, "list_partition_reassignments", listing)
    return found


def permits(_: str, operation: str, resource: str) -> bool:
    """A client sees no topic whose name begins with hidden, and may create those that begin with made alone."""
    if operation == "CREATE":
        return resource.startswith("TOPIC:made")
    return not resource.startswith(("TOPIC:hidden", "GROUP:hidden"))


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living(groups={"offsets_partitions": 1}, creates=True, authorizer=permits) as opened:
        opened.topic("orders", [[1, 2, 3]])
        with RawClient(opened.address) as client:
            until(lambda: client.ask("FindCoordinator", 2, key="a group", key_type=0).error_code == 0)
            until(lambda: commit(client, "a group", 9, 1) == 0)
        yield opened


@pytest.fixture
def client(living: Living) -> Iterator[RawClient]:
    with RawClient(living.address) as opened:
        yield opened


def topics(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in NAMES]


NAMES: Final = ["orders", *(f"{kind}-{number}" for number in range(MANY // 2) for kind in ("none", "hidden"))]
"""A known topic, unknown ones, and ones that the client may not see."""
IDS: Final = [{"name": None, "topic_id": UUID(int=number)} for number in range(1, MANY)]
PARTITIONS: Final = list(range(MANY))
RESOURCES: Final = [{"resource_type": 2, "resource_name": name} for name in NAMES]
CONFIGS: Final = [{"name": f"x{number}", "value": "1"} for number in range(MANY)]
OPS: Final = [{**each, "config_operation": 0} for each in CONFIGS]
REPLICAS: Final = [{"partition_index": number, "replicas": [1]} for number in PARTITIONS]
COMMITTED: Final = [{"partition_index": number, "committed_offset": 1} for number in PARTITIONS]
WHO: Final = {"generation_id_or_member_epoch": -1, "member_id": ""}
WIDE: Final = [
    ("Metadata", 12, {"topics": topics(topic_id=None), "allow_auto_topic_creation": True}),
    ("Metadata", 12, {"topics": IDS}),
    ("DeleteTopics", 6, {"topics": IDS}),
    ("DescribeTopicPartitions", 0, {"topics": topics()}),
    ("AlterPartitionReassignments", 1, {"topics": topics(partitions=REPLICAS[:1])}),
    ("AlterPartitionReassignments", 1, {"topics": [{"name": "orders", "partitions": REPLICAS}]}),
    ("ListPartitionReassignments", 0, {"topics": topics(partition_indexes=[0])}),
    ("ListPartitionReassignments", 0, {"topics": [{"name": "orders", "partition_indexes": PARTITIONS}]}),
    ("DescribeConfigs", 4, {"resources": RESOURCES}),
    ("AlterConfigs", 2, {"resources": [{**each, "configs": CONFIGS[:1]} for each in RESOURCES]}),
    ("AlterConfigs", 2, {"resources": [{**RESOURCES[0], "configs": CONFIGS}]}),
    ("IncrementalAlterConfigs", 1, {"resources": [{**each, "configs": OPS[:1]} for each in RESOURCES]}),
    ("IncrementalAlterConfigs", 1, {"resources": [{**RESOURCES[0], "configs": OPS}]}),
    ("DescribeLogDirs", 4, {"topics": [{"topic": "orders", "partitions": PARTITIONS}]}),
    (
        "AlterReplicaLogDirs",
        2,
        {"dirs": [{"path": "/x", "topics": [{"name": "orders", "partitions": PARTITIONS}]}]},
    ),
    ("ElectLeaders", 2, {"topic_partitions": [{"topic": "orders", "partitions": PARTITIONS}], "election_type": 0}),
    ("OffsetCommit", 8, {"group_id": "hidden", "topics": [{"name": "orders", "partitions": COMMITTED}], **WHO}),
    ("OffsetCommit", 8, {"group_id": "a group", "topics": [{"name": "orders", "partitions": COMMITTED}], **WHO}),
    ("OffsetFetch", 7, {"group_id": "a group", "topics": [{"name": "orders", "partition_indexes": PARTITIONS}]}),
    ("OffsetFetch", 7, {"group_id": "hidden", "topics": [{"name": "orders", "partition_indexes": PARTITIONS}]}),
]


@pytest.mark.slow
@pytest.mark.parametrize("api, version, fields", WIDE)
def test_no_list_of_a_request_is_read_in_one_go(
    client: RawClient, walks: Walks, api: str, version: int, fields: dict[str, Any]
) -> None:
    client.ask(api, version, **fields)
    assert walks.read > MANY / 2
    assert walks.in_one_go <= AT_ONCE
    assert max(walks.sizes.values(), default=0) <= PART


@pytest.mark.slow
def test_partitions_that_are_not_removed_are_looked_up_in_parts(client: RawClient, walks: Walks) -> None:
    named = [{"name": "orders", "partitions": list(range(1, MANY))}]
    answer = client.ask("DeletePartitions", 0, topics=named, timeout_ms=20_000, immediate_delete=False)
    assert [len(topic.partitions) for topic in answer.responses] == [MANY - 1]
    assert walks.sizes["_statuses"] == PART


@pytest.mark.slow
def test_missing_topics_are_looked_up_in_parts(client: RawClient, walks: Walks) -> None:
    """Until there are as many as one request creates."""
    names = [{"name": f"made-{number}", "topic_id": None} for number in range(MANY)]
    answer = client.ask("Metadata", 12, topics=names, allow_auto_topic_creation=True)
    assert Counter(topic.error_code for topic in answer.topics) == {0: 100, 3: MANY - 100}
    assert walks.in_one_go <= AT_ONCE
    assert walks.sizes["_missing"] == PART


@pytest.mark.slow
def test_a_fetch_of_offsets_compares_each_partition_a_few_times(
    client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed, own = Counter[bool](), TopicPartition.__hash__

    def counted(tp: TopicPartition) -> int:
        hashed[True] += 1
        return own(tp)

    monkeypatch.setattr(TopicPartition, "__hash__", counted)
    wanted = [{"name": name, "partition_indexes": list(range(500))} for name in ("orders", "hidden")]
    answer = client.ask("OffsetFetch", 7, group_id="a group", topics=wanted)
    assert [len(topic.partitions) for topic in answer.topics] == [500, 500]
    assert hashed[True] < 50 * 1000


def test_a_filter_of_groups_is_read_once(client: RawClient, walks: Walks) -> None:
    for number in range(5):
        join(client, f"group {number}", 9, session_timeout_ms=60_000)
    read, states = walks.read, [f"state {number}" for number in range(200)]
    client.ask("ListGroups", 5, states_filter=states, types_filter=[])
    assert walks.read - read == len(states)


def test_protocols_of_a_member_are_not_read_in_one_go(client: RawClient, walks: Walks) -> None:
    protocols = [{"name": f"p{number}", "metadata": b""} for number in range(200)]
    assert join(client, "a group", 9, protocols=protocols).error_code == 42
    assert walks.in_one_go <= AT_ONCE


def test_credentials_are_read_once_for_all_users(walks: Walks) -> None:
    upsertions = [
        {"name": f"user {number}", "mechanism": 1, "iterations": 1, "salt": b"", "salted_password": b""}
        for number in range(200)
    ]
    with Served(apis=with_kafka_brokers()) as served, RawClient(served.address) as client:
        answer = client.ask("AlterUserScramCredentials", 0, upsertions=upsertions, deletions=[])
    assert {row.error_code for row in answer.results} == {93}
    assert walks.read < 5 * len(upsertions)
