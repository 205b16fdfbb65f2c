"""How far copies are, in words: the same for the bar of a submitted plan, of a watched one, and for a journal."""

from __future__ import annotations

from ...pipeline.amounts import amount, duration
from ..model.copying import Copy


def copied(copy: Copy) -> str:
    """`1.0 MiB of 4.0 MiB`; empty where the size is unknown."""
    return "" if copy.to_copy is None else f"{amount(copy.copied or 0)} of {amount(copy.to_copy)}"


def described(copy: Copy, remaining_s: float | None) -> str:
    """`1.0 MiB of 4.0 MiB, 512.0 KiB/s, 6.0 s left`, as far as that is known; empty where the size is unknown."""
    if copy.to_copy is None:
        return ""
    rate = "stalled" if copy.is_stalled else "" if copy.rate is None else f"{amount(round(copy.rate))}/s"
    left = "" if remaining_s is None else f"{duration(remaining_s)} left"
    return ", ".join(part for part in (copied(copy), rate, left) if part)
