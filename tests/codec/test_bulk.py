"""Reading thousands of keys at once gives what reading each alone gives."""

from __future__ import annotations

import json
from typing import Final

import hypothesis.strategies as st
from hypothesis import example, given

from kedge.controller.codec import BadValue, partition_state, small, topic
from kedge.controller.codec.bulk import Bulk, States
from kedge.controller.codec.text import parse
from kedge.controller.model.values import Partition, without_state

LISTS: Final = st.sampled_from([[1, 2], [2, 1], [1], [True, 2], [1.0, 2], [1, 1], [], [2**31], ["1"], None, "12"])


def _state(isr: object, leader: object, more: dict[str, object]) -> bytes:
    found = {"controller_epoch": 1, "leader": leader, "version": 1, "leader_epoch": 7, "isr": isr} | more
    return json.dumps(found, separators=(",", ":")).encode()  # as Kafka and Kedge write it


ALIKE: Final = b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":7,"isr":[%s]}'
IDS: Final = (b"01", b"1,", b",1", b"1,,2", b"1,1", b"-1", b"2147483648", b"2147483647", b"1 ", b"+1", b"1.0", b"")
MORE: Final = st.sampled_from(
    [{}, {"targetReplicas": [3]}, {"status_code": -1}, {"mine": {"a": 1}}, {"leader_epoch": "x"}, {"version": 2}]
)
STATES: Final = st.one_of(
    st.builds(_state, LISTS, st.sampled_from([1, -1, -2, True, 1.0, None, -3]), MORE),
    st.sampled_from([None, b"", b"{", b"[]", b"null", b"7", *(ALIKE % text for text in IDS), ALIKE % b"1\n"]),
    st.sampled_from([ALIKE % b"1", ALIKE % b"2,1"]).map(lambda value: value.replace(b",", b", ")),
)


@given(st.lists(STATES, max_size=8))
@example([ALIKE % text for text in IDS])
@example([_state([1, 2], 1, {}), _state([True, 2], 1, {}), _state([1.0, 2], 1, {})])
def test_states_are_read_as_each_alone(values: list[bytes | None]) -> None:
    """Whatever stands in the other keys, and however often the same stands there."""
    said = Bulk().states(values * 2)
    assert len(said.isrs) == len(said.leaders) == len(said.leader_epochs) == 2 * len(values)
    for place, value in enumerate(values * 2):
        assert _bulk(said, place) == _alone(value)


def _bulk(said: States, place: int) -> Partition | str:
    try:
        return said.partition(place, "t", 3, (1, 2), 5)
    except BadValue as error:
        return str(error)


def _alone(value: bytes | None) -> Partition | str:
    try:
        return (
            without_state("t", 3, (1, 2)) if value is None else partition_state.decode(parse(value), "t", 3, (1, 2), 5)
        )
    except BadValue as error:
        return str(error)


def _topic(lists: list[object], more: dict[str, object]) -> bytes:
    found: dict[str, object] = {"partitions": {str(i): ids for i, ids in enumerate(lists)}, "version": 3}
    plain = {"topic_id": "A" * 22, "adding_replicas": {}, "removing_replicas": {}}
    return json.dumps(found | plain | more, separators=(",", ":")).encode()


TOPIC: Final = b'{"partitions":{%s},"topic_id":"","adding_replicas":{},"removing_replicas":{},"version":3}'
PARTITIONS: Final = (
    b'"0":[1]', b'"1":[1],"0":[2]', b'"0":[1],"0":[2]', b'"0":[1];"1":[2]', b'"0":[1],,"1":[2]"2":[3]', b'"0":[1],',
    b"", b'"0":[01]', b'"00":[1]', b'"0": [1]', b'"1":[1]', b'"0":[1],"2":[1]', b'"0":[1],"1":[]', b'"0":[2147483648]',
)  # fmt: skip
TWICE: Final = (
    b'{"mine":{"partitions":{"0":[1]}},"partitions": {"0":[2]},"version":3}',
    b'{"mine":{"partitions":{"0":[1]}},"version":3}',
    b'{"partitions":{"0":[1]},"partitions": {"0":[2]},"version":3}',
    b'{"partitions": {"0":[1]},"partitions":{"0":[2]},"version":3}',
    b'{"mine":{"partitions":{"0":[1]}},"partitions":{"0":[2]},"version":3}',
    b'{"mine":"\\"partitions\\":{\\"0\\":[1]}","partitions":{"0":[2]},"version":3}',
    b'[{"partitions":{"0":[1]}}]',
)
TOPICS: Final = st.one_of(
    st.builds(
        _topic,
        st.lists(LISTS, max_size=4),
        st.sampled_from(
            [
                {}, {"adding_replicas": {"0": [2]}}, {"retired_epochs": {"9": 4}}, {"mine": 1}, {"topic_id": ""},
                {"partitions": {"1": [1]}}, {"partitions": {"00": [1]}}, {"partitions": {"0": {"1": 2}}},
                {"adding_replicas": [1]}, {"removing_replicas": None},
            ]
        ),
    ),
    st.sampled_from([b"", b"{}", b"[]", *(TOPIC % text for text in PARTITIONS), *TWICE]),
)  # fmt: skip


@given(st.lists(TOPICS, max_size=6))
@example([TOPIC % text for text in PARTITIONS])
@example(list(TWICE))
@example([_topic([[1, 2]], {}), _topic([[True, 2]], {}), _topic([[1.0, 2]], {}), _topic(["12"], {})])
def test_topics_are_read_as_each_alone(values: list[bytes]) -> None:
    """A list that equals one that was good before, by Python's measure, is not good for that."""
    bulk = Bulk()
    names = [f"t{i}" for i in range(len(values))]
    for name, value, one in zip(names, values, bulk.topics(names, values), strict=True):
        assert repr(one) == repr(_or_error(value, name))


def _or_error(value: bytes, name: str) -> object:
    try:
        return topic.decode(value, name)
    except BadValue as error:
        return error


def test_equal_lists_are_one_object() -> None:
    """R and I of a partition that is whole are one tuple, and so are those of its like."""
    bulk = Bulk()
    first, second = bulk.topics(["a", "b"], [_topic([[1, 2]], {}), _topic([[3, 4], [1, 2]], {})])
    assert not isinstance(first, BadValue)
    assert not isinstance(second, BadValue)
    (isr,) = bulk.states([_state([1, 2], 1, {})]).isrs
    assert isr is first.assignments[0] is second.assignments[1]


def test_settings_are_read_as_each_alone() -> None:
    """None where there is no key, a BadValue where there is none that can be read."""
    value = small.encode_config({"a": "b"})
    good, absent, broken, again = Bulk().settings([value, None, b"{", value])
    assert (good, absent, again) == ({"a": "b"}, None, {"a": "b"})
    assert isinstance(broken, BadValue)
