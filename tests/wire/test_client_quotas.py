"""Quotas of clients: set and described with Kafka's errors, and at work on the connections of clients."""

from __future__ import annotations

import asyncio
import select
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import pytest

from kedge.controller.quota.clients import CONSUMER, NAME_MAX, PRODUCER, REQUEST
from kedge.controller.wire import Users, allow_all
from kedge.controller.wire.apis import APIS
from kedge.controller.wire.apis.quotas import ANY, CHANGES_MAX, DEFAULT, EXACT
from kedge.controller.wire.calls import Call
from kedge.controller.wire.protocol import Answer, Request
from kedge.controller.wire.quotas import REQUEST_MS_MAX, with_quotas
from tests.kit.waiting import until
from tests.wire.living import Living, records
from tests.wire.served import RawClient, Served
from tests.wire.sharing import Shared

USER, CLIENT_ID = "user", "client-id"
DESCRIBE_CLUSTER: Final = 60
Entity = Mapping[str, str | None]


@pytest.fixture(scope="module")
def living() -> Iterator[Living]:
    with Living() as opened:
        opened.topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
        yield opened


@pytest.fixture(autouse=True)
def unlimited(request: pytest.FixtureRequest) -> Iterator[None]:
    """No quota of a test is left to the next one."""
    yield
    if "living" in request.fixturenames or "client" in request.fixturenames:
        opened: Living = request.getfixturevalue("living")
        with RawClient(opened.address) as client:
            _, entries = describe(client)
            for entity, quotas in entries:
                alter(client, entity, **dict.fromkeys(quotas))
        until(lambda: not known(opened))


def known(living: Living) -> list[tuple[str, str]]:
    """The owners of quotas that the brokers know."""
    return [owner for owner in living.cluster.logs.settings if owner[0] in {"users", "clients"}]


def entry(entity: Entity, **quotas: float | None) -> dict[str, Any]:
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in quotas.items()],
    }


def alter_all(client: RawClient, *entries: Mapping[str, Any], version: int = 1, **more: Any) -> list[int]:
    """The error code of each entry, which is named as in the request."""
    answer = client.ask("AlterClientQuotas", version, **{"entries": [*entries], "validate_only": False, **more})
    assert [[part.to_dict() for part in row.entity] for row in answer.entries] == [row["entity"] for row in entries]
    return [row.error_code for row in answer.entries]


def alter(client: RawClient, entity: Entity, **quotas: float | None) -> int:
    (code,) = alter_all(client, entry(entity, **quotas))
    return code


def limit(living: Living, entity: Entity, **quotas: float) -> None:
    """The quotas are set, and the brokers know them."""
    with RawClient(living.address) as client:
        assert alter(client, entity, **quotas) == 0
    until(lambda: known(living))


def describe(
    client: RawClient, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> tuple[int, list[tuple[dict[str, str | None], dict[str, float]]]]:
    """The error code; entities and their quotas."""
    asked = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components]
    answer = client.ask("DescribeClientQuotas", version, components=asked, strict=strict)
    return answer.error_code, [
        ({part.entity_type: part.entity_name for part in row.entity}, {one.key: one.value for one in row.values})
        for row in answer.entries or ()
    ]


def throttled(client: RawClient, number: int, size: int = 0, *, acks: int = -1) -> int:
    """Produce so many bytes as the client `raw-<number>`; return its throttle time. Each test has numbers of its own,
    because the window of a rate outlives its quota."""
    part = {"index": 0, "records": records(b"x" * size)}
    fields = {"acks": acks, "timeout_ms": 5000, "transactional_id": None}
    topics = [{"name": "orders", "partition_data": [part]}]
    answer = client.ask("Produce", 9, correlation_id=number, topic_data=topics, **fields)
    assert answer.responses[0].partition_responses[0].error_code == 0
    return int(answer.throttle_time_ms)


def read(client: RawClient, number: int, offset: int = 0, **more: Any) -> tuple[int, int]:
    """Fetch as the client `raw-<number>`; return the bytes of the records and the throttle time."""
    part = {"partition": 1, "fetch_offset": offset, "partition_max_bytes": 1_000_000}
    fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1_000_000, "session_epoch": -1, "isolation_level": 0}
    topics = [{"topic": "orders", "partitions": [part]}]
    answer = client.ask("Fetch", 12, correlation_id=number, topics=topics, **{**fields, **more})
    return len(answer.responses[0].partitions[0].records), answer.throttle_time_ms


def is_silent(muted: RawClient, other: RawClient) -> bool:
    """Whether a request on the muted connection has no answer after another client got several."""
    muted.begin("Heartbeat", 4, group_id="g", generation_id=0, member_id="m")
    for _ in range(20):
        other.ask("ApiVersions", 0)
    return not select.select([muted._socket], [], [], 0)[0]  # noqa: SLF001


# --- set and described


@pytest.mark.parametrize("version", range(2))
def test_quotas_are_described_as_they_were_set(client: RawClient, version: int) -> None:
    """Quotas are described as they were set, in every version, under any names."""
    wanted: list[tuple[dict[str, str | None], dict[str, float]]] = [
        ({CLIENT_ID: "my app/2"}, {PRODUCER: 1024, CONSUMER: 2.0**63 - 1024}),
        ({USER: "CN=alice,O=\xfc"}, {REQUEST: 12.5}),
        ({USER: "alice", CLIENT_ID: None}, {"controller_mutation_rate": 0.1}),
        ({USER: None, CLIENT_ID: "<default>"}, {PRODUCER: 1}),
    ]
    assert alter_all(client, *(entry(entity, **quotas) for entity, quotas in wanted), version=version) == [0] * 4
    code, found = describe(client, version=version)
    assert (code, sorted(found, key=str)) == (0, sorted(wanted, key=str))
    assert alter(client, {CLIENT_ID: "my app/2"}, **{PRODUCER: None, CONSUMER: 5}) == 0
    assert describe(client, (CLIENT_ID, EXACT, "my app/2")) == (0, [({CLIENT_ID: "my app/2"}, {CONSUMER: 5})])


def test_highest_rate_of_clients_is_the_highest_long(client: RawClient) -> None:
    """A double cannot hold 2^63-1, so clients send 2^63."""
    assert alter(client, {CLIENT_ID: "app"}, **{PRODUCER: 2.0**63}) == 0
    assert describe(client) == (0, [({CLIENT_ID: "app"}, {PRODUCER: 2.0**63})])


@pytest.mark.parametrize(
    "components, strict, found",
    [
        ([], False, ["u", "uc", "c", "U", "UC", "C"]),
        ([], True, []),
        ([(USER, ANY, None)], False, ["u", "uc", "U", "UC"]),
        ([(USER, ANY, None)], True, ["u", "U"]),
        ([(USER, EXACT, "u")], False, ["u", "uc"]),
        ([(USER, EXACT, "u")], True, ["u"]),
        ([(USER, DEFAULT, None)], False, ["U", "UC"]),
        ([(USER, EXACT, "")], False, []),
        ([(USER, EXACT, "<default>")], False, []),
        ([(CLIENT_ID, EXACT, "c")], True, ["c"]),
        ([(CLIENT_ID, DEFAULT, None), (USER, ANY, None)], True, ["UC"]),
        ([(CLIENT_ID, ANY, None), (USER, EXACT, "u")], False, ["uc"]),
    ],
)
def test_filters_match_as_in_kafka(
    client: RawClient, components: list[tuple[str, int, str | None]], strict: bool, found: list[str]
) -> None:
    """Filters match exactly, by default or any, and strictly those that have no other type; capitals are defaults."""
    entities: dict[str, Entity] = {
        "u": {USER: "u"}, "uc": {USER: "u", CLIENT_ID: "c"}, "c": {CLIENT_ID: "c"},
        "U": {USER: None}, "UC": {USER: None, CLIENT_ID: None}, "C": {CLIENT_ID: None},
    }  # fmt: skip
    assert not any(alter_all(client, *(entry(entity, **{PRODUCER: 1}) for entity in entities.values())))
    code, rows = describe(client, *components, strict=strict)
    assert code == 0
    assert sorted(map(str, (entity for entity, _ in rows))) == sorted(str(entities[name]) for name in found)


@pytest.mark.parametrize(
    "components, code",
    [
        ([("ip", ANY, None)], 35),
        ([("", ANY, None)], 35),
        ([(USER, ANY, None), (USER, DEFAULT, None)], 42),
        ([(USER, EXACT, None)], 42),
        ([(USER, DEFAULT, "u")], 42),
        ([(USER, ANY, "u")], 42),
        ([(USER, 3, None)], 42),
    ],
)
def test_filters_that_make_no_sense_are_refused(
    client: RawClient, components: list[tuple[str, int, str | None]], code: int
) -> None:
    """A filter that makes no sense gets Kafka's error and no entries."""
    assert describe(client, *components) == (code, [])


WRONG: Final = [
    entry({CLIENT_ID: "app"}, **{PRODUCER: -1}),
    entry({CLIENT_ID: "app"}, **{PRODUCER: 0.5}),
    entry({CLIENT_ID: "app"}, **{PRODUCER: 1e30}),
    entry({CLIENT_ID: "app"}, **{REQUEST: float("nan")}),
    entry({CLIENT_ID: "app"}, **{REQUEST: float("inf")}),
    entry({CLIENT_ID: "app"}, connection_creation_rate=1),
    entry({CLIENT_ID: "app"}, **{"x" * 30_000: 1}),
    entry({"ip": "127.0.0.1"}, connection_creation_rate=1),
    entry({"x" * 30_000: "app"}, **{PRODUCER: 1}),
    entry({}, **{PRODUCER: 1}),
    entry({USER: ""}, **{PRODUCER: 1}),
    entry({USER: "."}, **{PRODUCER: 1}),
    entry({USER: "x" * (NAME_MAX + 1)}, **{PRODUCER: 1}),
    entry({USER: "\xfc" * NAME_MAX}, **{PRODUCER: 1}),
    entry({CLIENT_ID: "x" * 32_767}, **{PRODUCER: 1}),
    {**entry({CLIENT_ID: "app"}), "ops": 2 * entry({}, **{PRODUCER: 1})["ops"]},
    {**entry({}, **{PRODUCER: 1}), "entity": 2 * entry({USER: "u"})["entity"]},
]


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_wrong_entries_are_refused_and_change_nothing(client: RawClient, wrong: dict[str, Any]) -> None:
    """A wrong entry gets INVALID_REQUEST and changes nothing; the one beside it is done."""
    assert alter_all(client, wrong, entry({USER: "right"}, **{PRODUCER: 1})) == [42, 0]
    assert describe(client) == (0, [({USER: "right"}, {PRODUCER: 1})])


def test_an_entity_that_comes_twice_is_refused(client: RawClient) -> None:
    """Both entries of an entity are refused, and nothing is written."""
    twice = [entry({CLIENT_ID: "app"}, **{PRODUCER: rate}) for rate in (1, 2)]
    assert alter_all(client, *twice) == [42, 42]
    assert describe(client) == (0, [])


def test_validation_alone_writes_nothing(client: RawClient) -> None:
    """A request that only validates gets the errors, and nothing is written."""
    right, wrong = (entry({CLIENT_ID: "app"}, **{PRODUCER: rate}) for rate in (1, -1))
    assert alter_all(client, right, validate_only=True) == [0]
    assert alter_all(client, wrong, validate_only=True) == [42]
    assert describe(client) == (0, [])


@pytest.mark.slow
def test_a_request_with_too_many_changes_is_refused() -> None:
    """More changes than Kafka takes in one request get POLICY_VIOLATION, and nothing is written."""
    with Served() as served, RawClient(served.address) as client:
        most = [entry({CLIENT_ID: f"app-{number}"}, **{PRODUCER: 1}) for number in range(CHANGES_MAX + 1)]
        assert set(alter_all(client, *most)) == {44}
        assert describe(client) == (0, [])
        assert set(alter_all(client, *most[1:])) == {0}
        assert len(describe(client)[1]) == CHANGES_MAX


@pytest.mark.slow
def test_a_request_with_more_elements_closes_its_connection() -> None:
    """A hundred thousand entities are more elements than a gateway takes; nothing is written."""
    with Served() as served:
        with RawClient(served.address) as client, pytest.raises(AssertionError, match="hung up"):
            alter_all(client, *[entry({CLIENT_ID: f"{number}"}, **{PRODUCER: 1}) for number in range(100_000)])
        with RawClient(served.address) as client:
            assert describe(client) == (0, [])


def test_no_user_has_scram_credentials(client: RawClient) -> None:
    """Named users get RESOURCE_NOT_FOUND, as kafka-configs expects it for users with quotas alone."""
    answer = client.ask("DescribeUserScramCredentials", 0, users=[{"name": "alice"}])
    assert (answer.error_code, [(row.user, row.error_code) for row in answer.results]) == (0, [("alice", 91)])
    assert client.ask("DescribeUserScramCredentials", 0, users=None).results == []


# --- at work


def test_a_producer_over_its_quota_is_muted(living: Living) -> None:
    """A producer over its quota gets its answer at once, with the throttle time, and is not read meanwhile."""
    limit(living, {CLIENT_ID: "raw-1"}, **{PRODUCER: 1})
    with RawClient(living.address) as muted, RawClient(living.address) as other:
        throttle_ms = throttled(muted, 1, 5_000)
        assert 4_990_000 < throttle_ms < 5_300_000
        assert is_silent(muted, other)
        assert throttled(other, 2, 5_000) == 0
        assert throttled(other, 1) > throttle_ms  # the connection is muted, the quota is the client id's


def test_a_muted_client_may_hang_up(living: Living) -> None:
    """The connection of a muted client is closed when the client hangs up."""
    limit(living, {CLIENT_ID: "raw-11"}, **{PRODUCER: 1})
    before = living.gateway.counts["hung_up"]
    with RawClient(living.address) as muted:
        assert throttled(muted, 11, 5_000) > 0
    until(lambda: living.gateway.counts["hung_up"] > before)


def test_a_connection_is_read_after_its_throttle_time(living: Living) -> None:
    """The next request is answered when the throttle time is over."""
    limit(living, {CLIENT_ID: "raw-12"}, **{PRODUCER: 500})
    with RawClient(living.address) as client:
        assert 0 < throttled(client, 12, 5_000) < 1_000
        assert client.ask("ApiVersions", 0).api_keys


def test_a_producer_without_acks_is_muted(living: Living) -> None:
    """A producer that gets no answers is muted all the same."""
    limit(living, {CLIENT_ID: "raw-13"}, **{PRODUCER: 1})
    part = {"index": 0, "records": records(b"x" * 5_000)}
    fields = {"acks": 0, "timeout_ms": 5000, "transactional_id": None}
    with RawClient(living.address) as muted, RawClient(living.address) as other:
        muted.begin(
            "Produce", 9, correlation_id=13, topic_data=[{"name": "orders", "partition_data": [part]}], **fields
        )
        assert is_silent(muted, other)


def test_a_consumer_reads_what_its_window_allows(living: Living) -> None:
    """A consumer reads no more than ten seconds of its quota at once, then at least a batch with a throttle time."""
    batch = records(b"x" * 1_000)
    with RawClient(living.address) as producer:
        for _ in range(20):
            part = {"index": 1, "records": batch}
            topics = [{"name": "orders", "partition_data": [part]}]
            producer.ask("Produce", 9, acks=-1, timeout_ms=5000, transactional_id=None, topic_data=topics)
    with RawClient(living.address) as client:
        assert read(client, 14) == (20 * len(batch), 0)
    limit(living, {CLIENT_ID: "raw-14"}, **{CONSUMER: 1_000})
    with RawClient(living.address) as client, RawClient(living.address) as other:
        size, throttle_ms = read(client, 14)
        assert (9_000 - len(batch) < size <= 10_000, throttle_ms) == (True, 0)
        size, throttle_ms = read(client, 14, size // len(batch))
        assert (size, throttle_ms > 0) == (len(batch), True)
        assert is_silent(client, other)
        assert read(other, 14, replica_id=2)[1] == 0  # a follower
        assert read(other, 2) == (20 * len(batch), 0)


def test_an_empty_fetch_does_not_count(living: Living) -> None:
    """Polls without records take nothing of a consumer's quota."""
    limit(living, {CLIENT_ID: "raw-15"}, **{CONSUMER: 1})
    with RawClient(living.address) as client:
        end = client.ask(
            "ListOffsets", 7, replica_id=-1, isolation_level=0,
            topics=[{"name": "orders", "partitions": [{"partition_index": 1, "timestamp": -1}]}],
        ).topics[0].partitions[0].offset  # fmt: skip
        assert [read(client, 15, end) for _ in range(50)] == [(0, 0)] * 50


def test_a_users_quota_holds_after_its_login() -> None:
    """The quota of a user holds for all of its connections, and not for another user's."""
    users = Users({"alice": "secret", "bob": "secret"})
    configs = {("users", "alice"): {REQUEST: "0.000001"}}
    apis = with_quotas(APIS, configs)
    with Served(users=users, authorizer=allow_all, apis=apis) as served:
        for name, is_limited in (("alice", True), ("bob", False), ("alice", True)):
            with RawClient(served.address) as client:
                client.ask("SaslHandshake", 1, mechanism="PLAIN")
                token = f"\0{name}\0secret".encode()
                assert client.ask("SaslAuthenticate", 2, auth_bytes=token).error_code == 0
                assert (client.ask("DescribeCluster", 0).throttle_time_ms > 0) == is_limited


class Worked:
    """A handler that works for `ms` before it waits, and for as long after it; the time in between is others'."""

    def __init__(self, ms: int) -> None:
        self.ms = ms
        self.ns = 0

    def _pass(self) -> None:
        self.ns += self.ms * 1_000_000

    async def __call__(self, call: Call, request: Request) -> Answer | None:
        self._pass()
        for _ in range(3):
            asyncio.get_running_loop().call_soon(self._pass)
            await asyncio.sleep(0)
        self._pass()
        return await APIS[DESCRIBE_CLUSTER].handler(call, request)


@pytest.mark.parametrize("work_ms, throttle_ms", [(50, 0), (60, 200), (400, REQUEST_MS_MAX)])
def test_a_request_counts_without_its_waiting_time(work_ms: int, throttle_ms: int) -> None:
    """One percent of a thread is 100 ms in the window of 10 s; the throttle time is a second at most, as in Kafka."""
    worked = Worked(work_ms)
    api = attrs.evolve(APIS[DESCRIBE_CLUSTER], handler=worked)
    apis = with_quotas({**APIS, DESCRIBE_CLUSTER: api}, {("clients", "raw-7"): {REQUEST: "1"}}, int, lambda: worked.ns)
    with Served(apis=apis) as served, RawClient(served.address) as client:
        assert client.ask("DescribeCluster", 0).throttle_time_ms == min(throttle_ms * 10, REQUEST_MS_MAX)


def test_metadata_tells_each_client_its_own_throttle_time() -> None:
    """Clients share answers to Metadata, but not the throttle time of another client id."""
    apis = with_quotas(APIS, {("clients", "raw-1"): {REQUEST: "0.000001"}})
    with Served(apis=apis) as served, RawClient(served.address) as one, RawClient(served.address) as other:
        one.begin("Metadata", 9, correlation_id=1, topics=None)
        other.begin("Metadata", 9, correlation_id=2, topics=None)
        assert one.answer("Metadata", 9).throttle_time_ms > 0
        assert other.answer("Metadata", 9).throttle_time_ms == 0


def test_a_limited_client_may_hang_up_in_between(living: Living) -> None:
    """A request that waits is given up when its client hangs up, as without a quota."""
    limit(living, {CLIENT_ID: "raw-16"}, **{REQUEST: 1_000})
    before = living.gateway.counts["hung_up"]
    part = {"partition": 2, "fetch_offset": 0, "partition_max_bytes": 1_000_000}
    fields = {"max_wait_ms": 30_000, "min_bytes": 1, "max_bytes": 1, "session_epoch": -1, "isolation_level": 0}
    with RawClient(living.address) as client:
        client.begin("Fetch", 12, correlation_id=16, topics=[{"topic": "orders", "partitions": [part]}], **fields)
    until(lambda: living.gateway.counts["hung_up"] > before)


@pytest.mark.slow
def test_processes_on_one_store_share_the_quotas() -> None:
    """Quotas that a standby takes are the leader's to write, and hold in the process of the brokers."""
    with Shared() as shared, RawClient(shared.standby.address) as client:
        shared.topic("orders", [[1, 2, 3]])
        assert alter(client, {CLIENT_ID: "raw-1"}, **{PRODUCER: 1}) == 0
        assert describe(client) == (0, [({CLIENT_ID: "raw-1"}, {PRODUCER: 1})])
        until(lambda: shared.cluster.logs.settings.get(("clients", "raw-1")))
        assert throttled(client, 1, 5_000) > 0
