"""Names of keys that other programs may have written. A number is accepted only in the one spelling that Kedge writes,
so that no two keys mean one thing; a topic only by Kafka's rules, whose length limit also keeps the keys below
legal."""

from __future__ import annotations

import re
from typing import Final

from ..model.requests import BROKER_ID_MAX
from .text import BadValue

_NUMBER: Final = re.compile("0|[1-9][0-9]{0,17}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


def number_in(name: str) -> int:
    """The whole number that `name` spells. Raises BadValue."""
    if _NUMBER.fullmatch(name) is None:
        raise BadValue(f"the last part of the key is no number: {name:.80}")
    return int(name)


def broker_in(name: str) -> int:
    """The broker id that `name` spells. Raises BadValue."""
    number = number_in(name)
    if number > BROKER_ID_MAX:
        raise BadValue(f"the last part of the key is no broker id: {name:.80}")
    return number


def is_topic(name: str) -> bool:
    return _TOPIC.fullmatch(name) is not None


NO_TOPIC: Final = "the last part of the key is no topic name; the key is ignored"
