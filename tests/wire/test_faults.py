"""Errors and delays that a test orders: every API in every version, and which requests they are for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from typing import Any, Final, cast

import pytest

from kedge.controller.wire import Gateway
from kedge.controller.wire.calls import Api
from kedge.controller.wire.faults import MESSAGE, Faults
from kedge.controller.wire.groups import Groups
from kedge.controller.wire.protocol import SIZE
from kedge.controller.wire.records import with_records
from tests.wire.asking import codes, fetch, produce
from tests.wire.living import Living, records
from tests.wire.requests_made import frame
from tests.wire.served import RawClient

ORDERED: Final = 118
"""TELEMETRY_TOO_LARGE, which nothing here answers by itself."""
APART: Final = {"Fetch": 7, "Metadata": 13}
"""The first version with an error at the top."""


class Faulty:
    """A cluster with topic orders on brokers 1 and 2, whose gateway looks for orders."""

    def __init__(self, living: Living) -> None:
        apis = with_records(living.cluster.logs, living.cluster.groups, creates_topics=False)
        self.faults: Final = Faults(apis)
        self.gateway: Final = Gateway(living.cluster.controller, apis=self.faults.apis)

    def client(self, broker: int | None = None) -> RawClient:
        """At the address of this broker; None: at the common one."""
        return RawClient(self.gateway.address if broker is None else self.gateway.addresses([broker])[broker])


@pytest.fixture(scope="module")
def faulty() -> Iterator[Faulty]:
    with Living() as living:
        living.topic("orders", [[1, 2], [1, 2]])
        made = Faulty(living)
        with made.gateway:
            yield made


def asked(faulty: Faulty, api: Api, version: int) -> Any:
    """The answer to a request filled at random, with something in each list."""
    with faulty.client() as client:
        sent = frame(api.messages.request, version, Random(f"{api.messages.name} {version}"), 1)
        client.send(SIZE.pack(len(sent)) + sent)
        answer = client.receive()
    assert answer is not None
    return api.messages.response.decode(answer, version=version, header=True)


def offered() -> list[tuple[str, int]]:
    """Every API that can be refused, in each version."""
    apis = with_records(cast("Any", None), cast("Groups", _Begun())).values()
    return [(api.messages.name, version) for api in apis if not api.before_login for version in api.messages.versions]


class _Begun:
    """Groups that answer nothing: no handler is called here."""

    def begin(self, *_: object) -> None: ...


@pytest.mark.slow
@pytest.mark.parametrize("name,version", offered())
def test_ordered_error_is_in_each_place_of_the_answer(faulty: Faulty, name: str, version: int) -> None:
    """The error at the top of Fetch and Metadata is about something else."""
    (api,) = (api for api in faulty.faults.apis.values() if api.messages.name == name)
    fault = faulty.faults.fail_next(name, ORDERED)
    answer = asked(faulty, api, version)
    found = list(codes(answer, version))
    if version >= APART.get(name, version + 1):
        assert answer.error_code == 0
        found.remove(0)
    assert set(found) == {ORDERED}
    assert fault.left == 0


def test_row_names_what_the_request_names(faulty: Faulty) -> None:
    """With Kafka's values beside an error; and the next request is served."""
    with faulty.client() as client:
        faulty.faults.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
        row = produce(client, records(b"lost"), partition=1)
        assert (row.index, row.error_code, row.error_message, row.base_offset) == (1, 6, MESSAGE, -1)
        assert (produce(client, records(b"kept"), partition=1).base_offset) == 0
        faulty.faults.fail_next("Fetch", "FENCED_LEADER_EPOCH")
        row = fetch(client, 0, partition=1)
        assert (row.partition_index, row.error_code, row.high_watermark, bytes(row.records)) == (1, 74, -1, b"")
        assert fetch(client, 0, partition=1).high_watermark == 1


def test_groups_are_named_and_their_coordinators(faulty: Faulty) -> None:
    with faulty.client() as client:
        faulty.faults.fail_next("OffsetFetch", "NOT_COORDINATOR")
        groups = [{"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [1]}]}]
        (group,) = client.ask("OffsetFetch", 8, groups=groups).groups
        row = group.topics[0].partitions[0]
        assert (group.group_id, group.error_code, group.topics[0].name) == ("g", 16, "orders")
        assert (row.partition_index, row.error_code, row.committed_offset) == (1, 16, -1)
        faulty.faults.fail_next("FindCoordinator", "COORDINATOR_NOT_AVAILABLE")
        asked = {"key_type": 0, "coordinator_keys": ["g"]}
        (row,) = client.ask("FindCoordinator", 4, **asked).coordinators
        assert (row.key, row.error_code, row.node_id, row.host, row.port) == ("g", 15, -1, "", -1)


def test_metadata_lists_the_brokers_beside_an_error(faulty: Faulty) -> None:
    with faulty.client() as client:
        faulty.faults.fail_next("Metadata", "LEADER_NOT_AVAILABLE")
        answer = client.ask("Metadata", 9, topics=[{"name": "orders"}])
        assert sorted(broker.node_id for broker in answer.brokers) == [1, 2, 3]
        assert [(topic.name, topic.error_code) for topic in answer.topics] == [("orders", 5)]


def test_order_waits_for_a_request_with_a_place_for_it(faulty: Faulty) -> None:
    with faulty.client() as client:
        fault = faulty.faults.fail_next("Metadata", "LEADER_NOT_AVAILABLE")
        client.ask("Metadata", 9, topics=[])
        assert fault.left == 1
        client.ask("Metadata", 9, topics=[{"name": "orders"}])
        assert fault.left == 0


def test_order_is_for_one_broker_and_so_many_requests(faulty: Faulty) -> None:
    with faulty.client(1) as first, faulty.client(2) as second:
        fault = faulty.faults.fail_next("Fetch", "KAFKA_STORAGE_ERROR", count=2, broker_id=1)
        other = faulty.faults.fail_next("Fetch", "OFFSET_OUT_OF_RANGE", broker_id=2)
        assert fetch(second, 0).error_code == 1
        assert (fault.left, other.left) == (2, 0)
        assert [fetch(first, 0).error_code for _ in range(3)] == [56, 56, 0]


def test_orders_are_carried_out_in_turn(faulty: Faulty) -> None:
    with faulty.client() as client:
        faulty.faults.fail_next("Fetch", 56)
        faulty.faults.fail_next("Fetch", -1)
        assert [fetch(client, 0).error_code for _ in range(3)] == [56, -1, 0]


@pytest.mark.slow
def test_slow_broker_answers_later_than_it_was_asked(faulty: Faulty) -> None:
    """And no other one does."""
    delay_ms = 300
    faulty.faults.slow(1, delay_ms)
    with faulty.client(1) as first, faulty.client(2) as second:
        began_s = time.monotonic()
        fetch(first, 0)
        assert time.monotonic() - began_s >= delay_ms / 1000
        faulty.faults.slow(1, 60_000)
        fetch(second, 0)
        faulty.faults.slow(1, 0)
        fetch(first, 0)


@pytest.mark.parametrize(
    "order,said",
    [
        (("Produces", 6), "no errors can be ordered for 'Produces', only for: .*Metadata.*Produce"),
        (("ApiVersions", 35), "no errors can be ordered for 'ApiVersions'"),
        (("Produce", "NOT_LEADER"), "Kafka has no error 'NOT_LEADER'"),
        (("Produce", 0), "the number of an error, got 0"),
        (("Produce", 2**15), "the number of an error, got 32768"),
        (("Produce", 6, 0), "count: expected at least 1, got 0"),
    ],
)
def test_order_that_cannot_be_is_refused(faulty: Faulty, order: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        faulty.faults.fail_next(*order)


def test_delay_is_not_negative(faulty: Faulty) -> None:
    with pytest.raises(ValueError, match="expected at least 0, got -1"):
        faulty.faults.slow(1, -1)
