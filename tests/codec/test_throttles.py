"""The marks of throttles as JSON: what is written is read again, unknown fields survive, broken is said so."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kedge.controller.codec import BadValue, throttles
from kedge.controller.model.throttles import ConfigMark, MarkKey, MarkKind, OwnerMark

VALUES = st.text(max_size=5)
LISTED = st.lists(VALUES, max_size=3).map(tuple)
CONFIGS = st.dictionaries(VALUES, st.builds(ConfigMark, st.none() | VALUES, LISTED, st.none() | LISTED), max_size=2)
OWNERS = {"topics": st.sampled_from(["a", "b.c", "d_e"]), "brokers": st.integers(0, 2**31 - 1).map(str)}
KEY = MarkKey()


@st.composite
def marks(draw: st.DrawFn) -> tuple[MarkKind, dict[str, OwnerMark]]:
    kind: MarkKind = draw(st.sampled_from(["topics", "brokers"]))
    found = draw(st.dictionaries(OWNERS[kind], st.builds(OwnerMark, st.none() | CONFIGS), max_size=3))
    return kind, {owner: mark for owner, mark in found.items() if mark.is_listed}


@pytest.mark.slow
@given(marks())
def test_a_mark_that_was_written_is_read_as_it_was(given_marks: tuple[MarkKind, dict[str, OwnerMark]]) -> None:
    kind, found = given_marks
    assert throttles.decode(kind, throttles.encode(kind, found, KEY)) == (found, KEY)


def test_the_mark_is_spelled_as_the_page_says() -> None:
    mark = OwnerMark({"c": ConfigMark("v", ("w",)), "d": ConfigMark(None, (), ("x",))})
    assert throttles.encode("topics", {"a": mark}, MarkKey()) == (
        b'{"version":1,"topics":["a"],"previous":{"a":{"c":{"set":["w"],"was":"v"},'
        b'"d":{"set":[],"was":null,"wanted":["x"]}}}}'
    )
    assert throttles.encode("brokers", {"3": OwnerMark(None)}, MarkKey()) == (
        b'{"version":1,"brokers":[3],"previous":{}}'
    )


def test_throttles_that_are_to_stay_are_never_in_the_key() -> None:
    """Neither an owner of which nothing else is marked, nor values that are not set yet."""
    stays = ConfigMark(None, (), (), ("5",))
    found = {"1": OwnerMark({"c": stays}), "2": OwnerMark({"c": stays, "d": ConfigMark("v", ("w",), (), ("x",))})}
    assert throttles.encode("brokers", found, MarkKey()) == (
        b'{"version":1,"brokers":[2],"previous":{"2":{"d":{"set":["w"],"was":"v"}}}}'
    )


def test_owners_are_in_order_of_their_numbers_or_names() -> None:
    """However they were marked, so that the same marks are the same bytes."""
    found = {owner: OwnerMark(None) for owner in ("10", "9", "1")}
    assert throttles.encode("brokers", found, MarkKey()) == b'{"version":1,"brokers":[1,9,10],"previous":{}}'
    assert throttles.encode("topics", found, MarkKey()) == b'{"version":1,"topics":["1","10","9"],"previous":{}}'


def test_unknown_fields_and_the_version_survive_a_rewrite() -> None:
    """Of the mark, and of each config in it."""
    said = {
        "version": 3,
        "brokers": [1],
        "previous": {"1": {"c": {"set": [], "was": None, "x": 1}}},
        "more": {"y": [2]},
    }
    assert json.loads(throttles.encode("brokers", *throttles.decode("brokers", json.dumps(said).encode()))) == said


def test_mark_without_previous_values_and_version_is_read() -> None:
    found, key = throttles.decode("topics", b'{"topics":["a","b","a"]}')
    assert (found, key.format) == ({"a": OwnerMark(None), "b": OwnerMark(None)}, 1)


BROKEN = [
    ("topics", b"{"),
    ("topics", b"[]"),
    ("topics", b'{"topics":"a"}'),
    ("topics", b'{"topics":["a/b"]}'),
    ("brokers", b'{"brokers":["1"]}'),
    ("brokers", b'{"brokers":[-1]}'),
    ("brokers", b'{"brokers":[true]}'),
    ("brokers", b'{"brokers":[1],"previous":[1]}'),
    ("brokers", b'{"brokers":[1],"previous":{"x":{}}}'),
    ("brokers", b'{"brokers":[1],"previous":{"1":{"c":{"was":"v"}}}}'),
    ("brokers", b'{"brokers":[1],"previous":{"1":{"c":{"set":[1]}}}}'),
    ("brokers", b'{"brokers":[1],"previous":{"1":{"c":{"set":[],"was":1}}}}'),
    ("brokers", b'{"brokers":[1],"previous":{"1":{"c":{"set":[],"wanted":[1]}}}}'),
    ("brokers", b'{"version":"1","brokers":[1]}'),
]


@pytest.mark.parametrize("kind,value", BROKEN)
def test_what_is_no_mark_is_said_to_be_none(kind: MarkKind, value: bytes) -> None:
    with pytest.raises(BadValue):
        throttles.decode(kind, value)
