"""Logins of gateways at each other. They share a secret, by which one may act as any client at another.

* The password is made of the secret and the address that is called, so a login that another server relays to a gateway
  is wrong there: SCRAM alone proves only that both sides know a password.
* It is used only at an address that a gateway published in the store (`peers.directory`), never at one that a broker or
  a client named.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Final

from .client import Credentials
from .users import GATEWAY, Users, with_user

_MECHANISM: Final = "SCRAM-SHA-256"
_PLACES_MAX: Final = 10_000  # addresses of one gateway whose passwords are kept: salting takes milliseconds


def login_at(secret: str, host: str, port: int) -> Credentials:
    """The login of a gateway at another one that is called at this address."""
    return Credentials(GATEWAY, _password(secret, host, port), _MECHANISM)


def users_at(users: Users | None, secret: str) -> Callable[[str, int], Users]:
    """The users and other gateways, for clients that called this address. No user has the name of the gateways."""
    made: dict[tuple[str, int], Users] = {}

    def at(host: str, port: int) -> Users:
        found = made.get((host, port))
        if found is None:
            if len(made) >= _PLACES_MAX:
                made.clear()
            found = made[host, port] = with_user(users, GATEWAY, _password(secret, host, port), secret)
        return found

    return at


def _password(secret: str, host: str, port: int) -> str:
    return hmac.new(secret.encode(), f"{host}:{port}".encode(), "sha256").hexdigest()
