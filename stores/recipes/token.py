"""The commit token, and the keys that leadership is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import attrs

from stores.base import (
    Corrupt,
)

LEADER_KEY: Final = "/controller"
HELD_KEY: Final = "/kedge/leader"
EPOCH_KEY: Final = "/controller_epoch"
TOKEN_KEY: Final = "/kedge/commit"  # noqa: S105 - a key, not a secret


@attrs.frozen
class Token:
    """Who committed last: the term, the number of the commit (over all terms), and a word that names the sending.

    `gaps`: each the last epoch that committed here before epochs of which nothing is known, and the first one after.
    One that begins at -1 is known to hold an epoch of another controller.
    """

    controller_epoch: int
    seq: int
    nonce: str
    gaps: tuple[tuple[int, int], ...] = ()

    def encode(self) -> bytes:
        """Compact JSON."""
        members = {"controller_epoch": self.controller_epoch, "seq": self.seq, "nonce": self.nonce}
        return json.dumps(members | ({"gaps": self.gaps} if self.gaps else {}), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes) -> Token:
        """The token in `value`; members that are not known are ignored. Raises Corrupt."""
        try:
            members = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Corrupt(f"{TOKEN_KEY}: not JSON: {value!r:.200}", key=TOKEN_KEY) from error
        if not isinstance(members, dict):
            raise Corrupt(f"{TOKEN_KEY}: not an object: {value!r:.200}", key=TOKEN_KEY)
        epoch, seq, nonce = members.get("controller_epoch"), members.get("seq"), members.get("nonce")
        if type(epoch) is not int or type(seq) is not int or type(nonce) is not str or epoch < 0 or seq < 0:
            raise Corrupt(f"{TOKEN_KEY}: broken members: {value!r:.200}", key=TOKEN_KEY)
        return cls(epoch, seq, nonce, tuple(_pairs(members.get("gaps"))))


def _pairs(found: object) -> Iterator[tuple[int, int]]:
    """What is no pair of numbers is passed over, as members that are not known are."""
    for each in found if isinstance(found, list) else ():
        match each:
            case [int(before), int(after)]:
                yield before, after
