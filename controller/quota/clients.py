"""Whose quotas hold for a client, and the rates of clients at a broker (KIP-13, KIP-124, KIP-546).

* A quota belongs to a user, a client id, or both. In their place the empty name means the default: it holds for all
  that have no quota of their own. All that share a quota count in one rate, those of a default each in its own.
* The owner is named as in its key: `clients/app`, `users/alice`, `users/alice<clients>app`, `<default>` for a default.
  Kafka's `users/alice/clients/app` is a level deeper than keys are watched. Characters that a key cannot have are
  written in hex: `alice<40>example.org`.
* The windows of those that were served last are kept, since anybody can name any client id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import Final
from urllib.parse import quote, unquote

import attrs

from ..model.configs import CLIENT_QUOTAS
from ..model.values import ALL_BROKERS, CLIENTS, USERS
from .window import SAMPLE_MS, SAMPLES, RateWindow

PRODUCER: Final = "producer_byte_rate"
CONSUMER: Final = "consumer_byte_rate"
REQUEST: Final = "request_percentage"
WINDOWS_MAX: Final = 10_000
THROTTLE_MS_MAX: Final = 2**31 - 1
NAME_MAX: Final = 255  # characters; a longer name has no quota of its own
_NS_PER_PERCENT: Final = 10_000_000  # of a second
_BETWEEN: Final = "<clients>"

Owner = tuple[str, str]
"""Kind and name."""
Names = tuple[str | None, str | None]
"""A user and a client id; None: any."""


def owner(user: str | None, client_id: str | None) -> Owner:
    """Whose quota it is that depends on this user, on this client id, or on both."""
    written = [_written(name) for name in (user, client_id) if name is not None]
    return CLIENTS if user is None else USERS, _BETWEEN.join(written)


def names_of(kind: str, name: str) -> Names | None:
    """The inverse of `owner`; None where another program wrote another name."""
    first, between, second = name.partition(_BETWEEN)
    names = (None, _read(name)) if kind == CLIENTS else (_read(first), _read(second) if between else None)
    return names if owner(*names) == (kind, name) else None


def quotas_in(configs: Mapping[str, str]) -> dict[str, float]:
    """The quotas among the configs of an owner: users have passwords, too, and other programs may write anything."""
    known = ((name, configs[name]) for name in configs if name in CLIENT_QUOTAS)
    return {name: float(value) for name, value in known if CLIENT_QUOTAS[name].check(value) is None}


@lru_cache(1024)
def _owners_for(user: str, client_id: str) -> tuple[tuple[Owner, Names], ...]:
    """Whose quotas may hold for a client, in Kafka's order of precedence, and who shares the rate."""
    pairs = [pair for pair in product((user, "", None), (client_id, "", None)) if pair != (None, None)]
    return tuple(
        (owner(*pair), (None if pair[0] is None else user, None if pair[1] is None else client_id)) for pair in pairs
    )


def _written(name: str) -> str:
    return re.sub("%(..)", r"<\1>", quote(name, safe="").replace("~", "%7E")) or ALL_BROKERS


def _read(written: str) -> str:
    return "" if written == ALL_BROKERS else unquote(re.sub("<(..)>", r"%\1", written))


@attrs.frozen(eq=False)
class ClientQuota:
    """One quota of a client. `limit`: per second, in bytes, or for REQUEST in nanoseconds."""

    limit: float
    window: RateWindow
    clock_ms: Callable[[], int]

    def record(self, count: int) -> int:
        """Count bytes or nanoseconds; return for how many milliseconds the client has to wait, by Kafka's formula."""
        now_ms = self.clock_ms()
        self.window.record(count, now_ms)
        rate = self.window.rate(now_ms)
        if rate <= self.limit:
            return 0
        window_ms = self.window.total(now_ms) * 1000 / rate
        return round(min((rate - self.limit) / self.limit * window_ms, THROTTLE_MS_MAX))

    def room(self) -> int:
        """How much may be counted without a wait; 0 or less: nothing."""
        return int(self.limit * (SAMPLES - 1) * SAMPLE_MS / 1000) - self.window.total(self.clock_ms())


class ClientQuotas:
    """`configs`: those of owners; they may change at any time. `clock_ms`: a monotonic clock. Used by one thread."""

    def __init__(self, configs: Mapping[Owner, Mapping[str, str]], clock_ms: Callable[[], int]) -> None:
        self._configs, self._clock_ms = configs, clock_ms
        self._windows: dict[tuple[int | None, str, Names], RateWindow] = {}

    def of(self, broker_id: int | None, user: str, client_id: str) -> dict[str, ClientQuota]:
        """The quotas of a client at a broker, by name: of each that of the first owner, in Kafka's order."""
        found: dict[str, ClientQuota] = {}
        for of, sharers in _owners_for(user[: NAME_MAX + 1], client_id[: NAME_MAX + 1]):
            configs = self._configs.get(of)
            for name, limit in quotas_in(configs).items() if configs else ():
                if name not in found:
                    unit = _NS_PER_PERCENT if name == REQUEST else 1
                    found[name] = ClientQuota(limit * unit, self._window((broker_id, name, sharers)), self._clock_ms)
        return found

    def _window(self, key: tuple[int | None, str, Names]) -> RateWindow:
        window = self._windows[key] = self._windows.pop(key) if key in self._windows else RateWindow()
        if len(self._windows) > WINDOWS_MAX:
            del self._windows[next(iter(self._windows))]
        return window
