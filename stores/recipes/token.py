"""The commit token, and the keys that leadership is made of."""

from __future__ import annotations

import json
from typing import Final

import attrs

from stores.base import (
    Corrupt,
)

LEADER_KEY: Final = "/controller"
EPOCH_KEY: Final = "/controller_epoch"
TOKEN_KEY: Final = "/kedge/commit"  # noqa: S105 - a key, not a secret


@attrs.frozen
class Token:
    """Who committed last: the term, the number of the commit (over all terms), and a word that names the sending.

    `gap`: the last epoch that committed here before epochs of which nothing is known, and the first one after them.
    """

    controller_epoch: int
    seq: int
    nonce: str
    gap: tuple[int, int] | None = None

    def encode(self) -> bytes:
        """Compact JSON."""
        members = {"controller_epoch": self.controller_epoch, "seq": self.seq, "nonce": self.nonce}
        return json.dumps(members | ({"gap": self.gap} if self.gap else {}), separators=(",", ":")).encode()

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
        match members.get("gap"):
            case [int(before), int(after)]:
                return cls(epoch, seq, nonce, (before, after))
        return cls(epoch, seq, nonce)
