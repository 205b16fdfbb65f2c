"""Names of keys that others may have written: a number is one only in the spelling that we would write, so that no two
keys mean one thing; a topic is one only by Kafka's rules, whose length also keeps the keys below it legal."""

from __future__ import annotations

import re
from typing import Final

from controller.codec.text import BadValue
from controller.model.requests import BROKER_ID_MAX

_NUMBER: Final = re.compile("0|[1-9][0-9]{0,17}")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


def number_in(name: str) -> int:
    """The whole number that `name` spells; BadValue for anything else."""
    if _NUMBER.fullmatch(name) is None:
        raise BadValue(f"the key's name is no number: {name:.80}")
    return int(name)


def broker_in(name: str) -> int:
    """The broker id that `name` spells; BadValue for anything else."""
    number = number_in(name)
    if number > BROKER_ID_MAX:
        raise BadValue(f"the key's name is no broker id: {name:.80}")
    return number


def is_topic(name: str) -> bool:
    """Whether a key of this name can be that of a topic."""
    return _TOPIC.fullmatch(name) is not None


NO_TOPIC: Final = "the key's name is no topic's; it is passed over"
