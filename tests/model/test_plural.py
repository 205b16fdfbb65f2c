"""Counts in the singular and in the plural."""

from __future__ import annotations

import pytest

from kedge.controller.model.plural import counted


@pytest.mark.parametrize(
    "number, what, text",
    [
        (0, "wave", "0 waves"),
        (1, "wave", "1 wave"),
        (2, "running move", "2 running moves"),
        (1, "copy", "1 copy"),
        (3, "copy", "3 copies"),
        (2, "key", "2 keys"),
    ],
)
def test_count_has_its_noun(number: int, what: str, text: str) -> None:
    assert counted(number, what) == text


def test_count_can_have_separators() -> None:
    assert counted(12_345, "partition", ",") == "12,345 partitions"
