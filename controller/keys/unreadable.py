"""What a key that cannot be read means: each kind of key says it, for its reader and for people.

Two ways of not being readable:
* broken: it was read, and is not what a key of its kind must be. Its version is known, so it can be written over.
* forbidden: the store does not give it to this controller. It is there, and no more is known: no value, no version, no
  `created`. The store of a term gives FORBIDDEN for it at UNREAD, which is no version, so nothing is written at that.
  Only keys of topics and of partitions may be so: a controller that may not read another one does not lead (`NOBODY`).

The rule of all rows: a name that is there is believed, what was known stays in force, and nothing is done that would
need what the key may say. docs/unreadable-keys.md has the same rows (tests/docs holds them together).
"""

from __future__ import annotations

from typing import Final

import attrs

from ..codec import keys

NOBODY: Final = "a controller that may not read it stands by"


class Forbidden(bytes):
    """Stands for the value of a key that may not be read. JSON it is not, so a decoder that knows nothing of it says
    that the key is broken."""


FORBIDDEN: Final = Forbidden(b"(forbidden: the store does not let this controller read it)")


@attrs.frozen
class Unreadable:
    """What is believed of a kind of key, and done, where it is broken or forbidden."""

    kind: str
    broken: str
    forbidden: str = NOBODY

    def said(self, error: object) -> str:
        """What is said of a key that was read and is not of its kind."""
        return f"{error}; {self.broken}"


TOPIC: Final = Unreadable(
    "topic",
    "at a takeover the topic is left alone until the key can be read; later the key is overwritten with what is known",
    "at a takeover the topic is left alone until the key can be read; later what is known stays in force",
)
STATE: Final = Unreadable(
    "state",
    "at a takeover no replica is elected, moved or removed from the ISR there; later the key is overwritten with what "
    "is known",
    "at a takeover no replica is elected, moved or removed from the ISR there, and the topic is not deleted; later "
    "what is known stays in force",
)
ELECTION: Final = Unreadable(
    "key of the election", "a controller that cannot tell from it whether it may lead stands by"
)


def forbidden(key: str) -> str:
    """What is said of a topic's or a partition's key that this controller may not read."""
    row = TOPIC if keys.partition_of(key) is None else STATE
    return f"the store does not let this controller read it: {row.forbidden}"
