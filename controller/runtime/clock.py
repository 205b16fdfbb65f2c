"""Sources of time and randomness. They are injected, so that a simulation is repeatable to the byte."""

from __future__ import annotations

import base64
import random
import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks: one for recorded times, one for deadlines."""

    def now_ms(self) -> int:
        """Unix time in milliseconds."""

    def monotonic_s(self) -> float:
        """Seconds that never go back."""


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic_s = staticmethod(time.monotonic)


def elapsed_ms(clock: Clock) -> int:
    """`monotonic_s` in whole milliseconds."""
    return int(clock.monotonic_s() * 1000)


class IdSource:
    """One seeded source of nonces, topic ids and random starts of placements. Without a seed, the system gives one."""

    def __init__(self, seed: int | str | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311 - for names and placements, not secrets

    def nonce(self) -> str:
        """A word that identifies one attempt of a commit."""
        return f"{self._random.getrandbits(64):016x}"

    def topic_id(self) -> str:
        """A random UUID in Kafka's form: 22 characters of url-safe base64. As in Kafka, none begins with a dash, which
        tools would take for an option."""
        while True:
            bits = self._random.getrandbits(128) & ~(0xF << 76) | (0x4 << 76)
            bits = bits & ~(0x3 << 62) | (0x2 << 62)
            made = base64.urlsafe_b64encode(bits.to_bytes(16, "big")).decode().rstrip("=")
            if not made.startswith("-"):
                return made

    def below(self, n: int) -> int:
        """A number within 0..n-1; 0 for n < 1."""
        return self._random.randrange(n) if n > 0 else 0
