"""User and password of a store, from elsewhere than its url, which shells remember and `ps` shows.

    zookeeper://h1,h2/kafka?credentials=/etc/kedge/store      a file of one line, USER:PASSWORD
    KEDGE_STORE_USERNAME=me KEDGE_STORE_PASSWORD=secret       for every store whose url says nothing of them

Rules
* What the url says counts first, then its file, then the environment; two of a url are an error, and so is half of a
  pair.
* A file that others than its owner and group may read, or anything in it may change, is refused, as ssh does with keys:
  a warning would be read by nobody who embeds this. The group may read, since services are given files so.
* Errors name the file or the variable, never what is in it; a password is in no repr.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from stores.base import Invalid

USERNAME: Final = "KEDGE_STORE_USERNAME"
PASSWORD: Final = "KEDGE_STORE_PASSWORD"  # noqa: S105 - its name
OPTION: Final = "credentials"
_OTHERS: Final = stat.S_IRWXO | stat.S_IWGRP
_CHARACTERS_MAX: Final = 10_000


@attrs.frozen
class Credentials:
    """Who the client is."""

    user: str
    password: str = attrs.field(repr=False)


def found(file: str | None, environment: Mapping[str, str] = os.environ) -> Credentials | None:
    """Those in `file`, where one is named, or else in the environment; None where there are none. Raises Invalid."""
    return _of_environment(environment) if file is None else _of_file(file)


def _of_environment(environment: Mapping[str, str]) -> Credentials | None:
    user, password = environment.get(USERNAME, ""), environment.get(PASSWORD, "")
    if bool(user) != bool(password):
        there, missing = (USERNAME, PASSWORD) if user else (PASSWORD, USERNAME)
        raise Invalid(f"{there} is set in the environment, and {missing} is not")
    return Credentials(user, password) if user else None


def _of_file(file: str) -> Credentials:
    try:
        with Path(file).open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            text = opened.read(_CHARACTERS_MAX).removesuffix("\n")
    except OSError as error:
        raise Invalid(f"{OPTION}: {file}: {error.strerror}") from None
    except ValueError:  # no UTF-8, or a name that no file can have
        raise Invalid(f"{OPTION}: {file!r}: is no file of text in UTF-8") from None
    if stat.S_ISREG(mode) and mode & _OTHERS:
        shown = f"{stat.S_IMODE(mode):04o}"
        raise Invalid(f"{OPTION}: {file}: has mode {shown}, so others may read or change it; chmod 600")
    user, colon, password = text.partition(":")
    if not user or not colon or not password or "\n" in text:
        raise Invalid(f"{OPTION}: {file}: is not one line USER:PASSWORD")
    return Credentials(user, password)
