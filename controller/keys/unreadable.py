"""What a broken key means: one that was read, and is not what a key of its kind must be. Its version is known, so it
can be overwritten. Each kind of key has its text, for its reader and for people.

The rule of all rows: the controller believes that the name exists, what was known stays in force, and nothing is done
that depends on the value. docs/keys.md has the same rows (tests/docs compares them).
"""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen
class Unreadable:
    """What is believed of a kind of key, and done, if it is broken."""

    kind: str
    broken: str

    def said(self, error: object) -> str:
        """What is said of a key that was read and is not of its kind."""
        return f"{error}; {self.broken}"


TOPIC: Final = Unreadable(
    "topic",
    "at a takeover the topic is left alone until the key can be read; later the key is overwritten with what is known",
)
STATE: Final = Unreadable(
    "state",
    "at a takeover no replica is elected, moved, deleted or removed from the ISR there; later the key is overwritten "
    "with what is known",
)
ELECTION: Final = Unreadable(
    "key of the election", "a controller that cannot tell from it whether it may lead stands by"
)
