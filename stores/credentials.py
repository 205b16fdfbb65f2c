"""User and password of a store from a file or the environment; shells remember urls and `ps` shows them.

    zookeeper://h1,h2/kafka?credentials=/etc/kedge/store      a file of one line, USER:PASSWORD
    KEDGE_STORE_USERNAME=me KEDGE_STORE_PASSWORD=secret       for every store whose url has no user and password

Rules
* The url has precedence, then its file, then the environment. A url with both is an error, and so is half of a pair.
* A file that other users may read or change is refused (`reading.require_private`).
* Errors name the file or the variable, never its content; a password is in no repr.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from .base import Invalid
from .reading import require_private

USERNAME: Final = "KEDGE_STORE_USERNAME"
PASSWORD: Final = "KEDGE_STORE_PASSWORD"  # noqa: S105 - its name
OPTION: Final = "credentials"
_CHARACTERS_MAX: Final = 10_000


@attrs.frozen
class Credentials:
    """A user and a password."""

    user: str
    password: str = attrs.field(repr=False)


def found(file: str | None, environment: Mapping[str, str] = os.environ) -> Credentials | None:
    """The credentials of `file`, or without a file those of the environment; None if there are none. Raises Invalid."""
    return _of_environment(environment) if file is None else _of_file(file)


def _of_environment(environment: Mapping[str, str]) -> Credentials | None:
    user, password = environment.get(USERNAME, ""), environment.get(PASSWORD, "")
    if bool(user) != bool(password):
        there, missing = (USERNAME, PASSWORD) if user else (PASSWORD, USERNAME)
        raise Invalid(f"{there} is set in the environment, but {missing} is not")
    return Credentials(user, password) if user else None


def _of_file(file: str) -> Credentials:
    try:
        with Path(file).open(encoding="utf-8-sig") as opened:
            require_private(file, opened.fileno())
            text = opened.read(_CHARACTERS_MAX).removesuffix("\n")
    except OSError as error:
        raise Invalid(f"{OPTION}: {file}: {error.strerror}") from None
    except ValueError:  # not UTF-8, or an impossible file name
        raise Invalid(f"{OPTION}: {file!r}: not a text file in UTF-8") from None
    user, colon, password = text.partition(":")
    if not user or not colon or not password or "\n" in text:
        raise Invalid(f"{OPTION}: {file}: must be one line USER:PASSWORD")
    return Credentials(user, password)
