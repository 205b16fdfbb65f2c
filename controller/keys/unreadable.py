"""What an unreadable key means: each kind of key states it, for readers and for people.

A key can be unreadable in two ways:
* broken: it was read, and is not what a key of its kind must be. Its version is known, so it can be overwritten.
* forbidden: this controller may not read it. The key exists, but its value, version and `created` are unknown. The
  store of a term returns FORBIDDEN for it at UNREAD, which is not a version, so it is not written. This is possible
  only for keys of topics and of partitions: a controller that may not read other keys does not lead (`NOBODY`).

All rows follow one rule: a name that exists counts, known values stay in force, and nothing is done that needs the
content of the key. docs/unreadable-keys.md has the same rows (tests/docs compares them).
"""

from __future__ import annotations

from typing import Final

import attrs

from controller.codec import keys

NOBODY: Final = "a controller that may not read it stands by"


class Forbidden(bytes):
    """Stands for the value of a key that may not be read. It is not JSON, so a decoder that does not know it reports a
    broken key."""


FORBIDDEN: Final = Forbidden(b"(forbidden: the store does not let this controller read it)")


@attrs.frozen
class Unreadable:
    """How a broken or forbidden key of one kind is treated."""

    kind: str
    broken: str
    forbidden: str = NOBODY

    def said(self, error: object) -> str:
        """The text for a broken key."""
        return f"{error}; {self.broken}"


TOPIC: Final = Unreadable(
    "topic",
    "at takeover the topic is ignored until it can be read; later the key is overwritten with what is known",
    "at takeover the topic is ignored until it can be read; later what is known stays in force",
)
STATE: Final = Unreadable(
    "state",
    "at takeover its partition gets no election, move or ISR change; later the key is overwritten with what is known",
    "at takeover its partition gets no election, move or ISR change, and its topic is not deleted; later what is "
    "known stays in force",
)
ELECTION: Final = Unreadable("key of the election", "a controller does not lead unless it can read that it may")


def forbidden(key: str) -> str:
    """The text for a topic's or a partition's key that this controller may not read."""
    row = TOPIC if keys.partition_of(key) is None else STATE
    return f"the store does not let this controller read it: {row.forbidden}"
