"""Anybody may have written a key: whatever stands there is read, or is a BadValue; nothing else ever comes out."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import example, given

from kedge.controller.codec import BadValue, small, topic
from kedge.controller.codec.text import parse, parse_many
from tests.codec.samples import GOOD, READERS
from tests.codec.strategies import JSON

DIGITS = b"9" * 100_000
NO_JSON = [
    b"", b"{", b"null", b"[]", b"7", b'"text"', b"\xff\xfe", b'{"a":"\xc3"}', b"\xef\xbb\xbf{}", b"{} {}",
    b"[" * 100_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900, b'{"version":NaN}', b'{"version":Infinity}',
    b'{"leader":' + DIGITS + b"}", b'{"version":1e999}', b"\x00", b"{'a':1}", b'{"a":1,}',
]  # fmt: skip
ABSURD: list[object] = [
    None, True, False, -1, -2, 2**31, 2**63, 10**4000, 1.0, 0.5, "", "1", "x" * 10_000, [], [1, 1], [-1], [True], [[1]],
    [None], {}, {"0": [1, 1]}, {"1": [1]}, {"00": [1]}, {"-1": [1]}, {"٣": [1]}, {"9" * 5000: [1]}, {"0": []},
    ["A://h"], ["h:1"], ["A://h:٣"], ["A://h:" + "9" * 5000], ["A://h:-1"], [{}], "\ud800",
]  # fmt: skip


def read(name: str, value: bytes) -> object:
    """What the reader says, a BadValue as a value; anything else that is raised fails the test."""
    try:
        return READERS[name](value)
    except BadValue as error:
        return error


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("value", NO_JSON, ids=range(len(NO_JSON)))
def test_what_is_no_object_of_json_is_a_bad_value(name: str, value: bytes) -> None:
    """Broken, truncated, nested without end, not UTF-8, numbers without end or measure."""
    found = read(name, value)
    assert isinstance(found, BadValue)
    assert 0 < len(str(found)) < 500
    assert small.decode_controller(value) is None


@pytest.mark.parametrize("name", READERS)
def test_an_absurd_value_in_any_field_is_read_or_refused(name: str) -> None:
    """Each field of a good value is replaced by each absurd one."""
    for field in GOOD[name]:
        for absurd in ABSURD:
            found = read(name, json.dumps(GOOD[name] | {field: absurd}).encode())
            assert not isinstance(found, BadValue) or 0 < len(str(found)) < 500
        without = {other: content for other, content in GOOD[name].items() if other != field}
        read(name, json.dumps(without).encode())
    assert not isinstance(read(name, json.dumps(GOOD[name]).encode()), BadValue)


@pytest.mark.parametrize(
    "name,field,absurd",
    [
        ("state", "isr", []), ("state", "isr", [1, 1]), ("state", "isr", [True]), ("state", "isr", [2**31]),
        ("state", "isr", "12"), ("state", "leader", -3), ("state", "leader", True), ("state", "leader", 1.0),
        ("state", "leader_epoch", 2**31 - 1), ("state", "leader_epoch", -1), ("state", "targetReplicas", [-1]),
        ("state", "status_code", 2), ("state", "reassignment", [1]), ("state", "leader_recovery_state", 2),
        ("state", "reassignment", {"origin": [1], "started_ms": 2**54}),
        ("topic", "partitions", {}), ("topic", "partitions", {"1": [1]}), ("topic", "partitions", {"0": []}),
        ("topic", "partitions", {"00": [1]}), ("topic", "topic_id", "short"), ("topic", "topic_id", "é" * 22),
        ("topic", "retired_epochs", {"0": -1}), ("broker", "port", 65536), ("broker", "endpoints", "A://h:1"),
        ("broker", "host", None), ("broker", "rack", 7), ("config", "config", {"a": 1}), ("intents", "replicas", {}),
        ("admitted", "broker_epoch", -1), ("partitions", "partitions", [{"topic": "t"}]),
        ("partitions", "partitions", [{"topic": 1, "partition": 0}]), ("partitions", "partitions", ["t-0"]),
        ("log dir event", "event", 2), ("log dir event", "broker", 2**31), ("log dir event", "broker", True),
        ("config change", "entity_path", "topics"), ("config change", "entity_path", "/t"),
        ("config change", "entity_path", None),
    ],
)  # fmt: skip
def test_a_value_that_must_not_pass_does_not(name: str, field: str, absurd: object) -> None:
    """An empty or repeated isr, a leader that is no broker, ids with gaps, a text for a number."""
    value = dict(GOOD[name])
    if (name, field) == ("broker", "host"):
        value["endpoints"] = []
    assert isinstance(read(name, json.dumps(value | {field: absurd}).encode()), BadValue)


@pytest.mark.slow
@given(st.sampled_from(sorted(READERS)), st.one_of(JSON.map(json.dumps).map(str.encode), st.binary(max_size=50)))
def test_any_json_and_any_bytes_are_read_or_refused(name: str, value: bytes) -> None:
    """Whatever it is, the answer is a value or a BadValue."""
    read(name, value)


@pytest.mark.slow
@given(st.sampled_from(sorted(READERS)), st.data())
def test_any_json_in_any_field_is_read_or_refused(name: str, data: st.DataObject) -> None:
    """What is read from it can be written again."""
    field = data.draw(st.sampled_from(sorted(GOOD[name])))
    value = json.dumps(GOOD[name] | {field: data.draw(JSON), "unknown": data.draw(JSON)}).encode()
    found = read(name, value)
    if name == "topic" and isinstance(found, topic.TopicKey):
        written = topic.encode(found.topic, found.assignments)
        assert topic.decode(written, "t").assignments == found.assignments
        assert len(written) <= topic.topic_bytes_max(found.topic, found.assignments)


@pytest.mark.parametrize("opening,closing", [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("name", ["state", "topic", "broker"])
def test_unknown_fields_are_not_kept_deeper_than_they_can_be_written(name: str, opening: bytes, closing: bytes) -> None:
    """What could be read on a shallow stack, and not be written on a deeper one, is refused when read."""
    good = json.dumps(GOOD[name]).encode()[:-1]
    deep = [good + b',"deep":' + opening * depth + b"1" + closing * depth + b"}" for depth in (45, 60, 400)]
    assert [isinstance(read(name, value), BadValue) for value in deep] == [False, True, True]


PIECES = st.one_of(
    st.sampled_from([
        b"{}", b'{"a":1}', b"[]", b"1", b"null", b'{"a":null}', b"", b" ", b",", b"{", b"}", b"[", b"]", b'"',
        b'{"a":1},{"c":2', b'"b":2}', b'{"a":1},{"c":[{}', b'{"b":2}]}', b'{"z":1},{"a":"x}', b'{"}', b"1],[2",
        b"\xff", b"\xc3", b"\xa9", b"NaN", b"1e999", b'{"n":"null"}', b"\xef\xbb\xbf{}",
    ]),
    JSON.map(json.dumps).map(str.encode),
    st.binary(max_size=4),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(PIECES, max_size=6))
@example([b'{"a":1},{"c":2', b'"b":2}'])
@example([b'{"a":1},{"c":[{}', b'{"b":2}]}'])
@example([b'{"a":1},null,{"c":[{}', b'{"b":2}]}'])
@example([b'{"a":1},7,{"c":[{}', b'{"b":2}]}'])
def test_many_values_are_read_as_each_alone(values: list[bytes]) -> None:
    """parse_many gives what parse gives for each value, also where broken ones would fit together."""
    found = parse_many(values)
    assert len(found) == len(values)
    for value, one in zip(values, found, strict=True):
        assert repr(one) == repr(_alone(value))


def _alone(value: bytes) -> object:
    try:
        return parse(value)
    except BadValue as error:
        return error
