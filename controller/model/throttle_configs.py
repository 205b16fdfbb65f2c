"""The configs of throttles: Kafka's names, and how their values are parsed.

A rate is a whole number of bytes per second, at least 1; 2^63-1 means no limit. A list names replicas as
`partition:broker`, separated by commas, or is `*` for all (KIP-73). Other values raise a ValueError that says so.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Side: TypeAlias = Literal["leader", "follower"]
Family: TypeAlias = Literal["replication", "reassignment"]
ListedReplicas: TypeAlias = frozenset[tuple[int, int]] | Literal["*"]
"""Pairs of partition and broker, or ALL_REPLICAS."""

SIDES: Final[tuple[Side, ...]] = ("leader", "follower")
FAMILIES: Final[tuple[Family, ...]] = ("replication", "reassignment")
LONG_MAX: Final = 2**63 - 1
UNLIMITED: Final = LONG_MAX
"""As a rate: no throttle."""
LIST_SEPARATOR: Final = ","
ALL_REPLICAS: Final = "*"
"""A list of replicas that names all of them."""

_BLANKS: Final = "".join(map(chr, range(33)))  # what Java's String.trim() removes
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
_PAIR: Final = re.compile(r"([0-9]{1,10}):([0-9]{1,10})")


def rate_setting(side: Side, family: Family) -> str:
    """The name of a broker's rate, such as `leader.reassignment.throttled.rate`."""
    return f"{side}.{family}.throttled.rate"


def replicas_setting(side: Side) -> str:
    """The name of a topic's list of the replicas that the family `replication` throttles on that side."""
    return f"{side}.replication.throttled.replicas"


LISTS: Final = (replicas_setting("leader"), replicas_setting("follower"))
RATES: Final[Mapping[str, tuple[str, str]]] = {
    family: (rate_setting("leader", family), rate_setting("follower", family)) for family in FAMILIES
}


def trimmed(value: str) -> str:
    """The value without blanks and control characters around it, which Kafka's brokers ignore in values of configs."""
    return value.strip(_BLANKS)


def whole_number(value: str) -> int | None:
    """The value as a number, None if it is not a whole number."""
    # Not int() alone, which accepts 1_000 and digits of every script; brokers do not.
    return int(value) if _WHOLE.fullmatch(value) else None


def is_rate(rate: int) -> bool:
    """Whether a throttle can be this number of bytes per second."""
    return 1 <= rate <= UNLIMITED


def parse_rate(value: str) -> int:
    """The throttle in bytes per second. ValueError."""
    rate = whole_number(trimmed(value))
    if rate is None or not is_rate(rate):
        raise ValueError(f"a rate must be a whole number of bytes per second, 1 to 2^63-1, not {value!r:.80}")
    return rate


def list_elements(value: str) -> tuple[str, ...]:
    """The elements of a list between its commas, in order, without blank ones, as in Kafka's brokers."""
    return tuple(element for part in value.split(LIST_SEPARATOR) if (element := part.strip(string.whitespace)))


def parse_throttled_replicas(value: str) -> ListedReplicas:
    """The replicas that a list names; an empty one names none."""
    elements = list_elements(value)
    if elements == (ALL_REPLICAS,):
        return ALL_REPLICAS
    return frozenset(_pair(element) for element in elements)


def _pair(element: str) -> tuple[int, int]:
    found = _PAIR.fullmatch(element)
    if found is None:
        raise ValueError(f"a list of replicas must be `*` or have elements partition:broker, not {element!r:.80}")
    return int(found[1]), int(found[2])
