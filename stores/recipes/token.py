"""The commit token, and the keys of leadership."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import attrs

from ..base import (
    Corrupt,
)

LEADER_KEY: Final = "/controller"
HELD_KEY: Final = "/kedge/leader"
EPOCH_KEY: Final = "/controller_epoch"
TOKEN_KEY: Final = "/kedge/commit"  # noqa: S105 - a key, not a secret


@attrs.frozen
class Token:
    """The last commit: its term, its number (over all terms), and a nonce for the attempt.

    `gaps`: pairs of the last epoch that committed here before epochs without a token, and the first one after them. A
    pair that begins at -1 is known to include an epoch of another controller.
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
        """The token in `value`; unknown members are ignored. Raises Corrupt."""
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
    """The pairs of numbers in `found`; other elements are ignored, like unknown members."""
    for each in found if isinstance(found, list) else ():
        match each:
            case [int(before), int(after)]:
                yield before, after
