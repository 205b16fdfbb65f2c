"""Users and their passwords. Only the salted form of a password is kept (RFC 5802), in the format of Kafka's SCRAM
credentials, which cannot be used to log in."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from copy import copy
from os import PathLike
from types import MappingProxyType
from typing import Any, Final, Self

import attrs
from scramp import ScramMechanism
from scramp.utils import ScramException, saslprep

from ...model.throttle_configs import whole_number
from .files import Reread

SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
GATEWAY: Final = "kedge-gateway"
"""The user name of other gateways."""
PART_BYTES_MAX: Final = 512
"""The limit of each name, password, nonce or proof: normalising long ones would block the loop for long."""
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS_MIN: Final = 4096  # as in RFC 7677 and in Kafka
ITERATIONS_MAX: Final = 100_000
"""They take some 70 ms of SCRAM-SHA-512, on the loop of the gateway where it logs in elsewhere. Kafka's limit is
16,384."""
_SALT_MIN: Final = 12  # bytes
_SALT_BYTES: Final = 16  # of a decoy where there is no user
_DECOYS_MIN: Final = 16
_BASE_36: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"


@attrs.frozen
class Credential:
    """A salted password, for one mechanism."""

    salt: bytes = attrs.field(repr=False)
    stored_key: bytes = attrs.field(repr=False)
    server_key: bytes = attrs.field(repr=False)
    iterations: int

    @classmethod
    def of(cls, mechanism: str, password: str, iterations: int = ITERATIONS_MIN) -> Self:
        """Raises ValueError for a password or a number of iterations that cannot be used."""
        if iterations > ITERATIONS_MAX:
            raise ValueError(f"no credential for {mechanism}: more than {ITERATIONS_MAX} iterations")
        try:
            return cls(*ScramMechanism(mechanism).make_auth_info(password, iteration_count=iterations))
        except ScramException as error:
            raise ValueError(f"no credential for {mechanism}: {error}") from error

    @classmethod
    def of_salted(cls, mechanism: str, salt: bytes, salted_password: bytes, iterations: int) -> Self:
        """From what a client computed (RFC 5802), without the password."""
        kind = _HASHES[mechanism]
        client_key, server_key = (hmac.digest(salted_password, use, kind) for use in (b"Client Key", b"Server Key"))
        return cls(salt, hashlib.new(kind, client_key).digest(), server_key, iterations)

    @classmethod
    def parse(cls, text: str) -> Self:
        """`salt=...,stored_key=...,server_key=...,iterations=...`, bytes in base64: Kafka's format. Raises ValueError
        for anything else, without repeating it: it may be a password."""
        parts = {name: value for name, _, value in (part.partition("=") for part in text.split(","))}
        if sorted(parts) != ["iterations", "salt", "server_key", "stored_key"]:
            raise ValueError("expected salt=...,stored_key=...,server_key=...,iterations=...")
        salt, stored, server = (_decoded(name, parts[name]) for name in ("salt", "stored_key", "server_key"))
        iterations = whole_number(parts["iterations"])
        if iterations is None or not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
            raise ValueError(f"iterations must be a number within {ITERATIONS_MIN}..{ITERATIONS_MAX}")
        found = cls(salt, stored, server, iterations)
        if len(salt) < _SALT_MIN or len(stored) != len(server):
            raise ValueError("a short salt, or keys of different lengths")
        return found

    @property
    def text(self) -> str:
        """The inverse of `parse`."""
        salt, stored, server = (base64.b64encode(b).decode() for b in (self.salt, self.stored_key, self.server_key))
        return f"salt={salt},stored_key={stored},server_key={server},iterations={self.iterations}"


def _decoded(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError(f"{name} is not base64") from None


Kept = Mapping[str, Mapping[str, Credential]]
"""By user, by mechanism."""


@attrs.frozen
class _Known:
    """Users of one source. `decoys`: the secret of what unknown users are shown; None: the source names none."""

    users: Kept = attrs.field(repr=False)
    decoys: bytes | None = attrs.field(default=None, repr=False)


class Users:
    """Names and passwords in clear, of which only the salted form is kept. From files: `from_file`. Raises ValueError
    for a name or a password that cannot be used to log in."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        for name in passwords:
            if problem := flaw(name):
                raise ValueError(f"user {name!r:.80}: {problem}")
        known = _Known({name: _salted(_usable(password)) for name, password in passwords.items()})
        self._sources: tuple[Callable[[], _Known], ...] = (lambda: known,)
        self._secret = os.urandom(32)
        self._used: dict[str, Mapping[str, Credential]] | None = None

    @classmethod
    def from_file(cls, *paths: str | PathLike[str]) -> Self:
        """Users from files of `salted` passwords (`docs/security.md` has the format), each read again when it changes.
        A user of several files has the password of the first one. Raises BrokenFile, also if other users
        may read or change one."""
        users = cls({})
        users._sources = tuple(Reread(path, _parse, secret=True) for path in paths)
        return users

    def of_connection(self) -> Self:
        """The same users, for one connection: for it, a user whose credentials are no longer those of its first login
        is none."""
        made = copy(self)
        made._used = {}  # noqa: SLF001 - its own
        return made

    def has(self, name: str) -> bool:
        """Whether there is such a user now."""
        known = self._of(name)
        return bool(known) and (self._used is None or self._used.get(name, known) == known)

    def credential(self, name: str, mechanism: str) -> Credential:
        """The credential of a user; for an unknown name one that no password fits, always the same, so that clients
        cannot find out which users exist."""
        found = self._in_use(name).get(mechanism)
        return found if found is not None else self._decoy(name, mechanism)

    def is_password(self, name: str, password: str) -> bool:
        """Whether it is this user's password. It takes equally long for all names, known or not: as many iterations as
        the user with the most iterations needs."""
        mechanism = _of_plain(self._in_use(name))
        found = self.credential(name, mechanism)
        try:
            key = ScramMechanism(mechanism).make_auth_info(password, found.iterations, found.salt)[1]
        except ScramException:
            return False
        for each, most in self._iterations().items():
            if rest := most - (found.iterations if each == mechanism else 0):
                hashlib.pbkdf2_hmac(_HASHES[each], password.encode(), found.salt, rest)
        return hmac.compare_digest(key, found.stored_key)

    def _of(self, name: str) -> Mapping[str, Credential]:
        return next((found for source in self._sources if (found := source().users.get(name)) is not None), {})

    def _in_use(self, name: str) -> Mapping[str, Credential]:
        """As `_of`, for a login, which is good as long as they are the same."""
        found = self._of(name)
        if self._used is not None:
            self._used.setdefault(name, found)  # the first: another login that is begun must not renew the former
        return found

    def _all(self) -> list[Mapping[str, Credential]]:
        return [kept for source in self._sources for kept in source().users.values()]

    def _iterations(self) -> dict[str, int]:
        """The most iterations of any user's password, by the mechanism with which it is checked."""
        most = {_of_plain({}): ITERATIONS_MIN}
        for kept in self._all():
            mechanism = _of_plain(kept)
            most[mechanism] = max(most.get(mechanism, 0), kept[mechanism].iterations)
        return most

    def _decoy(self, name: str, mechanism: str) -> Credential:
        """A credential with salt and iterations like those of some user: clients see both before the password is
        checked. All gateways with the same secret have the same ones, and so has the next process of each."""
        named = (known.decoys for source in self._sources if (known := source()).decoys is not None)
        secret = next(named, self._secret)
        stored, server, chosen = (
            hmac.new(secret, f"{what}{mechanism}{name}".encode(), _HASHES[mechanism]).digest()
            for what in ("stored", "server", "salt")
        )
        all_kept = [kept[mechanism] for kept in self._all() if mechanism in kept]
        if not all_kept:
            return Credential(chosen[:_SALT_BYTES], stored, server, ITERATIONS_MIN)
        like = all_kept[int.from_bytes(stored) % len(all_kept)]
        return Credential(_salt_like(like.salt, chosen), stored, server, like.iterations)


def _salt_like(salt: bytes, chosen: bytes) -> bytes:
    """A salt that looks like another one: Kafka's are numbers in base 36, others any bytes."""
    made = hashlib.shake_256(chosen).digest(len(salt))
    if set(salt) <= set(_BASE_36):
        return bytes(_BASE_36[byte % len(_BASE_36)] for byte in made)
    return made


def _of_plain(kept: Mapping[str, Credential]) -> str:
    """The mechanism with which a user's password in clear is checked."""
    return next((each for each in SCRAM if each in kept), SCRAM[0])


def with_user(users: Users | None, name: str, password: str, secret: str) -> Users:
    """The users and one more, whose name no other has then. `secret`: of decoys, where no file of the users has one."""
    known = _Known({name: {SCRAM[0]: Credential.of(SCRAM[0], password)}})
    made = Users({})
    made._sources = (lambda: known, *(() if users is None else users._sources))  # noqa: SLF001 - one of its kind
    made._secret = hmac.new(secret.encode(), b"decoys", "sha256").digest()  # noqa: SLF001 - as above
    return made


def salted(password: str) -> dict[str, str]:
    """The entry of a user with this password in a file of users: for every mechanism. Raises ValueError for a password
    that cannot be used to log in."""
    return {mechanism: credential.text for mechanism, credential in _salted(_usable(password)).items()}


def flaw(name: str) -> str | None:
    """Why this name cannot be used to log in; None where it can. SCRAM compares names in the form of SASLprep (RFC
    4013)."""
    if not name or _is_long(name):
        return f"a name must have 1 to {PART_BYTES_MAX} bytes"
    try:
        written = saslprep(name)
    except ScramException as error:
        return f"this cannot be the name of a user: {error.args[0]}"
    return None if written == name else f"clients log in under the normalised form of this name, {written!r:.80}"


def _usable(password: str) -> str:
    """Raises ValueError for a password that PLAIN cannot carry; others are found when it is salted."""
    if not password or _is_long(password):
        raise ValueError(f"a password must have 1 to {PART_BYTES_MAX} bytes")
    return password


def _is_long(text: str) -> bool:
    return len(text.encode(errors="surrogatepass")) > PART_BYTES_MAX


def _salted(password: str) -> Mapping[str, Credential]:
    return MappingProxyType({mechanism: Credential.of(mechanism, password) for mechanism in SCRAM})


def _parse(said: Mapping[str, Any]) -> _Known:
    kept: dict[str, Mapping[str, Credential]] = {}
    users, decoys = said.get("users"), said.get("decoys")
    if not isinstance(users, dict):
        raise TypeError("expected an object `users`")
    if decoys is not None and (not isinstance(decoys, str) or len(decoys) < _DECOYS_MIN):
        raise ValueError(f"decoys must be a random text of at least {_DECOYS_MIN} characters")
    for name, texts in users.items():
        if problem := flaw(name):
            raise ValueError(f"user {name!r:.80}: {problem}")
        is_object = isinstance(texts, dict) and texts and set(texts) <= set(SCRAM)
        if not is_object or not all(isinstance(text, str) for text in texts.values()):
            raise ValueError(f"user {name!r}: expected an object with some of {', '.join(SCRAM)}, each a string")
        kept[name] = {mechanism: _credential(name, mechanism, text) for mechanism, text in texts.items()}
    return _Known(kept, None if decoys is None else decoys.encode())


def _credential(name: str, mechanism: str, text: str) -> Credential:
    try:
        found = Credential.parse(text)
    except ValueError as error:
        raise ValueError(f"user {name!r}: {mechanism}: {error}") from None
    if len(found.stored_key) != hashlib.new(_HASHES[mechanism]).digest_size:
        raise ValueError(f"user {name!r}: the keys do not have the length of {mechanism}")
    return found
