"""A file of users or rights, which operators change while a gateway runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from ....stores.reading import parse_json, read_whole

LOOK_S: Final = 0.5
T = TypeVar("T")
log = logging.getLogger(__name__)


class BrokenFile(ValueError):
    """A file with invalid content; the message says which file and what is wrong."""


class Reread(Generic[T]):
    """The content of a JSON file, read again within `LOOK_S` after it changed: a large request asks for the rights of
    hundreds of thousands of names, and must not look at the file for each. A change that cannot be read, or is invalid,
    is logged once, and the former content stays in force. Raises BrokenFile where there is no former content. A file is
    invalid while other users may change it, and a `secret` one also while they may read it."""

    def __init__(
        self,
        path: str | PathLike[str],
        parse: Callable[[Mapping[str, Any]], T],
        clock: Callable[[], float] = time.monotonic,
        *,
        secret: bool = False,
    ) -> None:
        self._path = Path(path)
        self._secret = secret
        self._parse = parse
        self._clock = clock
        self._looked_s = clock()
        self._stamp = self._stamp_now()
        self._value = self._read()

    def __call__(self) -> T:
        now_s = self._clock()
        if now_s - self._looked_s < LOOK_S:
            return self._value
        self._looked_s = now_s
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._value = self._read()
                log.info("the changed file %s was read", self._path)
            except BrokenFile as error:
                log.error("the former content of %s stays in force: %s", self._path, error)  # noqa: TRY400 - no trace needed
        return self._value

    def _stamp_now(self) -> object:
        try:
            found = self._path.stat()
        except OSError:
            return None
        # The time of the status as well: a mode that is put right changes no other, nor does a copy that keeps times.
        return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)

    def _read(self) -> T:
        try:
            said = parse_json(read_whole(self._path, secret=self._secret, trusted=True))
            if not isinstance(said, dict) or said.get("version") != 1:
                raise BrokenFile(f"{self._path}: expected an object with version 1")
            return self._parse(said)
        except (OSError, ValueError, TypeError) as error:
            said = (error.strerror if isinstance(error, OSError) else None) or error
            raise error if isinstance(error, BrokenFile) else BrokenFile(f"{self._path}: {said}") from error
