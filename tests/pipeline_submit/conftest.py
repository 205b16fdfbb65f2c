"""Clusters with plans, whose journals are closed at the end of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.pipeline_submit.clusters import Made, make


@pytest.fixture
def making(tmp_path: Path) -> Iterator[Callable[..., Made]]:
    """`make`, in folders of the test's own."""
    found: list[Made] = []

    def making_one(**options: object) -> Made:
        found.append(make(tmp_path / str(len(found)), **options))  # type: ignore[arg-type]
        return found[-1]

    yield making_one
    for made in found:
        made.close()


@pytest.fixture
def made(making: Callable[..., Made]) -> Made:
    """Four waves of two moves each."""
    return making()
