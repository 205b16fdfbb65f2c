"""The marks of throttles as JSON: what is written is read again, unknown fields survive, broken is said so."""

from __future__ import annotations

import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kedge.controller.codec import BadValue, throttles
from kedge.controller.model.throttles import Kept, MarkKind, ThrottleMark

VALUES = st.text(max_size=5)
KEPT = st.builds(Kept, st.none() | VALUES, st.lists(VALUES, max_size=3).map(tuple))
OWNERS = {"topics": st.sampled_from(["a", "b.c", "d_e"]), "brokers": st.integers(0, 2**31 - 1).map(str)}


@st.composite
def marks(draw: st.DrawFn) -> tuple[MarkKind, ThrottleMark]:
    kind: MarkKind = draw(st.sampled_from(["topics", "brokers"]))
    owners = draw(st.lists(OWNERS[kind], unique=True, max_size=3).map(tuple))
    previous = draw(st.dictionaries(OWNERS[kind], st.dictionaries(VALUES, KEPT, max_size=2), max_size=2))
    return kind, ThrottleMark(7, owners, previous)


@pytest.mark.slow
@given(marks())
def test_a_mark_that_was_written_is_read_as_it_was(given_mark: tuple[MarkKind, ThrottleMark]) -> None:
    kind, mark = given_mark
    assert throttles.decode(kind, throttles.encode(kind, mark), 7) == mark


def test_the_mark_is_spelled_as_the_page_says() -> None:
    mark = ThrottleMark(1, ("a",), {"a": {"c": Kept("v", ("w",))}})
    assert throttles.encode("topics", mark) == (
        b'{"version":1,"topics":["a"],"previous":{"a":{"c":{"set":["w"],"was":"v"}}}}'
    )
    assert throttles.encode("brokers", ThrottleMark(1, ("3",))) == b'{"version":1,"brokers":[3],"previous":{}}'


def test_unknown_fields_and_the_version_survive_a_rewrite() -> None:
    """Of the mark, and of each config in it."""
    said = {
        "version": 3,
        "brokers": [1],
        "previous": {"1": {"c": {"set": [], "was": None, "x": 1}}},
        "more": {"y": [2]},
    }
    mark = throttles.decode("brokers", json.dumps(said).encode())
    assert json.loads(throttles.encode("brokers", mark)) == said


def test_mark_without_previous_values_is_read() -> None:
    mark = throttles.decode("topics", b'{"version":1,"topics":["a","b","a"]}')
    assert (mark.owners, mark.previous) == (("a", "b"), {})


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
    ("brokers", b'{"version":"1","brokers":[1]}'),
]


@pytest.mark.parametrize("kind,value", BROKEN)
def test_what_is_no_mark_is_said_to_be_none(kind: MarkKind, value: bytes) -> None:
    with pytest.raises(BadValue):
        throttles.decode(kind, value)
