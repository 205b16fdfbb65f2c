"""What is said of each broken field: the field, what was expected, what was got. Limits are inclusive."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pytest

from kedge.controller.codec import BadValue, handed_back, migration, notifications, orders, producer_ids, small
from kedge.controller.codec.text import EPOCH_MAX, INT32_MAX, TIME_MS_MAX
from kedge.controller.model.reductions import Retirement
from tests.codec.samples import GOOD, READERS

LONG_MAX: Final = 2**63 - 1
Path: TypeAlias = tuple[Any, ...]

WHOLE: Final = {
    "state": "state", "topic": "topic", "broker": "registration", "config": "config key", "intents": "intents",
    "admitted": "admitted", "legacy": "plan", "partitions": "key", "log dir event": "log dir event",
    "config change": "config change", "gateway": "gateway", "gateways_secret": "gateways_secret",
    "handed_back": "handed_back", "marker": "marker", "reduction": "reduction", "throttled topics": "mark",
    "throttled brokers": "mark", "cluster id": "cluster id", "format": "format", "producer ids": "producer id block",
}  # fmt: skip
"""What an error calls the whole value."""
SECRET: Final = {"config", "gateways_secret"}
"""Keys that may hold passwords: their errors do not repeat what was got."""

NUMBERS: Final[list[tuple[str, Path, str, int, int]]] = [
    ("state", ("leader",), "leader", -2, INT32_MAX),
    ("state", ("leader_epoch",), "leader_epoch", 0, EPOCH_MAX),
    ("state", ("status_code",), "status_code", -1, 1),
    ("state", ("leader_recovery_state",), "leader_recovery_state", 0, 1),
    ("state", ("reassignment", "started_ms"), "reassignment.started_ms", 0, TIME_MS_MAX),
    ("state", ("reassignment", "deadline_ms"), "reassignment.deadline_ms", 0, TIME_MS_MAX),
    ("topic", ("version",), "version", 1, 1000),
    ("topic", ("retired_epochs", "3"), "retired_epochs", 0, EPOCH_MAX),
    ("broker", ("version",), "version", 1, 1000),
    ("broker", ("port",), "port", -1, 65535),
    ("broker", ("leader_and_isr_version",), "leader_and_isr_version", 0, 1000),
    ("intents", ("replicas", 0, "partition"), "partition", 0, INT32_MAX),
    ("intents", ("replicas", 0, "leader_epoch"), "leader_epoch", 0, INT32_MAX),
    ("admitted", ("broker_epoch",), "broker_epoch", 0, LONG_MAX),
    ("legacy", ("version",), "version", 1, 1000),
    ("legacy", ("partitions", 0, "partition"), "partition", -LONG_MAX - 1, LONG_MAX),
    ("legacy", ("partitions", 0, "replicas", 0), "replicas", -LONG_MAX - 1, LONG_MAX),
    ("partitions", ("partitions", 0, "partition"), "partitions[0].partition", 0, INT32_MAX),
    ("log dir event", ("event",), "event", 1, 1),
    ("log dir event", ("broker",), "broker", 0, INT32_MAX),
    ("gateway", ("port",), "port", 1, 65535),
    ("marker", ("version",), "version", 1, 1),
    ("reduction", ("partitions", "3", "timestamp"), "partitions.3.timestamp", 0, TIME_MS_MAX),
    ("throttled topics", ("version",), "version", 1, 1000),
    ("throttled brokers", ("brokers", 0), "brokers", 0, INT32_MAX),
    ("format", ("min_controller",), "min_controller", 0, INT32_MAX),
]
TEXTS: Final[list[tuple[str, Path, str]]] = [
    ("topic", ("topic_id",), "topic_id"),
    ("broker", ("host",), "host"),
    ("broker", ("rack",), "rack"),
    ("broker", ("endpoints", 0), "endpoints"),
    ("broker", ("listener_security_protocol_map", "A"), "protocol"),
    ("config", ("config", "a"), "config.a"),
    ("intents", ("replicas", 0, "topic"), "topic"),
    ("intents", ("replicas", 0, "topic_id"), "topic_id"),
    ("legacy", ("partitions", 0, "topic"), "topic"),
    ("partitions", ("partitions", 0, "topic"), "partitions[0].topic"),
    ("config change", ("entity_path",), "entity_path"),
    ("gateway", ("host",), "host"),
    ("gateways_secret", ("secret",), "secret"),
    ("marker", ("migration",), "migration"),
    ("marker", ("moved_to",), "moved_to"),
    ("throttled topics", ("topics", 0), "topics"),
    ("throttled topics", ("previous", "a", "c", "set", 0), "previous.a.c.set"),
    ("throttled topics", ("previous", "a", "c", "was"), "previous.a.c.was"),
    ("cluster id", ("id",), "id"),
    ("producer ids", ("block_start",), "block_start"),
    ("producer ids", ("block_end",), "block_end"),
]
VALUES: Final = {
    "config": {"a": "b"}, "admitted": 5, "log dir event": 1, "config change": ("topics", "t"), "gateway": ("h", 9),
    "gateways_secret": "s", "handed_back": "begun", "throttled topics": ("a",), "throttled brokers": (3,),
    "cluster id": "i", "format": 2, "producer ids": producer_ids.ProducerIdBlock(3, 0, 999),
    "marker": migration.Marker("m", "etcd://h:1/p", is_moved=True),
    "reduction": ({3: Retirement(5, immediate=True)}, None),
}  # fmt: skip
"""What the good value of `samples` says."""

OTHERS: Final[list[tuple[str, Path, object, str]]] = [
    ("state", ("isr",), [], "isr: expected a list of broker ids, got []"),
    ("state", ("targetReplicas",), [1, 1], "targetReplicas: expected every broker id once, got [1, 1]"),
    ("state", ("reassignment",), 7, "reassignment: expected a JSON object, got 7"),
    ("state", ("reassignment", "origin"), [-1], "reassignment.origin: expected broker ids within 0..2^31-1, got [-1]"),
    ("topic", ("topic_id",), "i", "topic_id: expected 22 characters of url-safe base64, got 'i'"),
    ("topic", ("partitions",), {}, "partitions: expected at least one, got {}"),
    ("topic", ("partitions",), {"1": [1]}, "partitions: expected the ids 0..n-1, got [1]"),
    ("topic", ("partitions",), {"x": [1]}, "partitions: expected partition ids, got 'x'"),
    ("topic", ("adding_replicas", "0"), 7, "adding_replicas.0: expected a list of broker ids, got 7"),
    ("topic", ("removing_replicas",), 7, "removing_replicas: expected a JSON object, got 7"),
    ("topic", ("retired_epochs",), {"01": 1}, "retired_epochs: expected partition ids, got '01'"),
    ("broker", ("endpoints",), 7, "endpoints: expected a list, got 7"),
    ("broker", ("endpoints", 0), "h:1", "endpoints: expected LISTENER://host:port, got 'h:1'"),
    ("config", ("config",), 7, "config: expected a JSON object, got [hidden]"),
    ("intents", ("replicas",), 7, "replicas: expected a list, got 7"),
    ("intents", ("replicas", 0), 7, "replicas: expected a JSON object, got 7"),
    ("legacy", ("partitions",), 7, "partitions: expected a list, got 7"),
    ("legacy", ("partitions", 0), 7, "partitions: expected a JSON object, got 7"),
    ("legacy", ("partitions", 0, "replicas"), 7, "replicas: expected a list of broker ids, got 7"),
    ("partitions", ("partitions",), 7, "partitions: expected a list, got 7"),
    ("partitions", ("partitions", 0), 7, "partitions[0]: expected a JSON object, got 7"),
    ("config change", ("entity_path",), "topics", "entity_path: expected kind/name, got 'topics'"),
    ("handed_back", ("phase",), "ended", "phase: expected begun or done, got 'ended'"),
    ("reduction", ("partitions",), 7, "partitions: expected a JSON object, got 7"),
    ("reduction", ("partitions", "3"), 7, "partitions.3: expected a JSON object, got 7"),
    ("reduction", ("partitions", "3", "immediate"), 1, "partitions.3.immediate: expected true or false, got 1"),
    ("reduction", ("partitions", "٣"), {"timestamp": 1}, "partitions: expected partition ids, got '٣'"),
    ("throttled topics", ("topics",), 7, "topics: expected a list, got 7"),
    ("throttled topics", ("topics", 0), "a/b", "topics: expected names of topics, got 'a/b'"),
    ("throttled topics", ("previous",), 7, "previous: expected a JSON object, got 7"),
    ("throttled topics", ("previous", "a"), 7, "previous.a: expected a JSON object, got 7"),
    ("throttled topics", ("previous", "a", "c"), 7, "previous.a.c: expected a JSON object, got 7"),
    ("throttled topics", ("previous", "a", "c", "set"), 7, "previous.a.c.set: expected a list, got 7"),
    ("throttled brokers", ("brokers",), 7, "brokers: expected a list, got 7"),
    ("producer ids", ("broker",), -1, "broker: expected a broker id, got -1"),
    ("producer ids", ("block_start",), "-1", "block_start: expected a decimal number of 64 bits, as a text, got '-1'"),
    ("producer ids", ("block_start",), "9" * 19, "block_start: expected a decimal number of 64 bits, as a text, got"),
    ("producer ids", ("block_end",), "-0", "block_end: expected a decimal number of 64 bits, as a text, got '-0'"),
    ("producer ids", ("block_start",), "1000", "block_end: expected a number from 1000 up, got 999"),
]


def with_field(name: str, path: Path, value: object) -> bytes:
    """The good value of that key with another content at `path`."""
    whole: Any = copy.deepcopy(GOOD[name])
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return json.dumps(whole).encode()


def said_of(name: str, value: bytes) -> str:
    with pytest.raises(BadValue) as caught:
        READERS[name](value)
    return str(caught.value)


def test_every_key_is_in_the_table() -> None:
    assert WHOLE.keys() == READERS.keys() == GOOD.keys()


@pytest.mark.parametrize("name", WHOLE)
def test_a_value_that_is_no_object_is_called_by_its_name(name: str) -> None:
    got = "[hidden]" if name in SECRET else "[]"
    assert said_of(name, b"[]") == f"{WHOLE[name]}: expected a JSON object, got {got}"


@pytest.mark.parametrize("name", VALUES)
def test_a_good_value_is_read(name: str) -> None:
    found = READERS[name](json.dumps(GOOD[name]).encode())
    assert (found, type(found)) == (VALUES[name], type(VALUES[name]))


@pytest.mark.parametrize("name, path, where, low, high", NUMBERS)
def test_numbers_within_their_limits_are_read(name: str, path: Path, where: str, low: int, high: int) -> None:
    for number in (low, high):
        READERS[name](with_field(name, path, number))
    refused: tuple[object, ...] = (low - 1, high + 1, True, "1")
    for value in refused:
        said = said_of(name, with_field(name, path, value))
        assert said.startswith(f"{where}: expected a whole number within {low}..{high}, got ")


@pytest.mark.parametrize("name, path, where", TEXTS)
def test_texts_are_read(name: str, path: Path, where: str) -> None:
    got = "[hidden]" if name in SECRET else 7
    assert said_of(name, with_field(name, path, 7)) == f"{where}: expected a text, got {got}"


@pytest.mark.parametrize("name, path, value, said", OTHERS)
def test_other_broken_fields_are_named(name: str, path: Path, value: object, said: str) -> None:
    assert said in said_of(name, with_field(name, path, value))


@pytest.mark.parametrize("name", sorted(SECRET))
@pytest.mark.parametrize(
    "value", [b"hunter2", b'{"config":"hunter2"', b'"hunter2"', b'{"config":{"a":["hunter2"]},"secret":["hunter2"]}']
)
def test_an_error_about_a_key_with_passwords_does_not_repeat_it(name: str, value: bytes) -> None:
    with pytest.raises(BadValue) as caught:
        READERS[name](value)
    assert "hunter2" not in f"{caught.value} {caught.value.got}"
    assert (caught.value.got, caught.value.__cause__) == ("[hidden]", None)


def test_an_error_that_is_only_a_message_has_no_fields() -> None:
    error = BadValue("broken")
    assert (error.where, error.expected, error.got) == ("", "", None)


def test_the_active_controller_is_read_where_it_can_be() -> None:
    """A key that cannot be read is held all the same."""
    for controller_id in (-(2**31), 0, INT32_MAX):
        assert small.decode_controller(small.encode_controller(controller_id, 5)) == controller_id
    for broken in (b"[]", b'{"brokerid":2147483648}', b'{"brokerid":-2147483649}', b"{}"):
        assert small.decode_controller(broken) is None


def test_a_controller_of_kraft_is_recognised() -> None:
    assert [small.is_of_kraft(b'{"kraftControllerEpoch":%d}' % epoch) for epoch in (-1, 0, INT32_MAX)] == [0, 1, 1]
    assert not any(map(small.is_of_kraft, (b"[]", b"{}", b'{"kraftControllerEpoch":2147483648}')))


def test_marker_of_a_move_is_read_as_written() -> None:
    for marker in (migration.Marker("m", "etcd://h:1/p", is_moved=moved) for moved in (False, True)):
        assert migration.decode_marker(migration.encode_marker(marker)) == marker
        assert marker.other in str(marker)


def test_holder_of_a_store_that_is_moved_is_no_controller() -> None:
    held = migration.encode_holder("etcd://h:1/p")
    assert migration.is_holder(held)
    assert small.decode_controller(held) is None
    assert not any(map(migration.is_holder, (b"[]", b"{}", b"{", small.encode_controller(1, 5))))


@pytest.mark.parametrize(
    "write, name",
    [
        (lambda: producer_ids.encode(producer_ids.ProducerIdBlock(3, 0, 999)), "producer ids"),
        (lambda: orders.encode_cluster_id("i"), "cluster id"),
        (lambda: small.encode_gateway("h", 9), "gateway"),
        (lambda: small.encode_gateways_secret("s"), "gateways_secret"),
        (lambda: small.encode_admitted(5), "admitted"),
        (lambda: small.encode_config({"a": "b"}), "config"),
        (lambda: handed_back.encode("begun"), "handed_back"),
        (lambda: notifications.encode_config_change("topics", "t"), "config change"),
    ],
)
def test_a_value_is_written_as_others_read_it(write: Callable[[], bytes], name: str) -> None:
    assert json.loads(write()) == GOOD[name]


def test_partitions_of_seven_digits_may_go() -> None:
    value = b'{"partitions":{"9999999":{"timestamp":5}}}'
    assert orders.decode_retirements(value) == {9_999_999: Retirement(5, immediate=False)}
    assert "partition ids" in said_of("reduction", value.replace(b"9999999", b"10000000"))
