"""Long work on the loop of a gateway, in slices: other clients get their turn in between, however long a list is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

T = TypeVar("T")
SLICE_S: Final = 0.003


async def sliced(rows: Iterable[T]) -> AsyncIterator[T]:
    """The rows. When the work on them has taken `SLICE_S`, others on the loop go on first."""
    until_s = time.monotonic() + SLICE_S
    for row in rows:
        yield row
        if time.monotonic() >= until_s:
            await asyncio.sleep(0)
            until_s = time.monotonic() + SLICE_S
