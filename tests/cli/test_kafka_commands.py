"""`kedge kafka configs` without a server: options that do not fit, and what they mean."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.cli.configs.changes import parse_pairs
from kedge.controller.cli.kafka.errors import Failed


@pytest.mark.parametrize(
    "text,expected",
    [
        ("a=b", {"a": "b"}),
        (" a = b , c = d ", {"a": "b", "c": "d"}),
        ("a=", {"a": ""}),
        ("a=b,", {"a": "b"}),
        ("a=[b,c],d=e", {"a": "b,c", "d": "e"}),
        ("a=[b=c,d=e]", {"a": "b=c,d=e"}),
    ],
)
def test_settings_are_read_as_kafkas_tool_reads_them(text: str, expected: dict[str, str]) -> None:
    assert dict(parse_pairs(text)) == expected


@pytest.mark.slow
@given(st.lists(st.tuples(st.text("ab.", min_size=1, max_size=5), st.text("xy,= :", max_size=6)), min_size=1))
def test_a_value_in_brackets_is_kept_whole(pairs: list[tuple[str, str]]) -> None:
    text = ",".join(f"{name}=[{value}]" for name, value in pairs)
    assert parse_pairs(text) == [(name, value.strip()) for name, value in pairs]


@pytest.mark.slow
@given(st.text("ab=,[] "))
def test_whatever_is_given_is_settings_or_refused(text: str) -> None:
    with suppress(Failed):
        assert all(name for name, _ in parse_pairs(text))
