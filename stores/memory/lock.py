"""A lock for the file of a memory server: each server writes the whole file, so two would overwrite each other's saves.

The lock is the operating system's, so a process that dies releases it. It is on `.FILE.lock` beside the file, since a
save replaces the file itself; the lock's holder removes it at the end.
"""

from __future__ import annotations

import errno
import fcntl
import os
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def locked(path: Path, owner: object) -> Callable[[], object]:
    """Lock `path`; the returned function releases it, and so does the end of `owner`'s life. Raises OSError, which
    names `path`: BlockingIOError if the lock is held, in this process or another."""
    try:
        while (descriptor := _locked(_beside(path))) is None:
            pass
    except BlockingIOError:
        problem = "in use by another process, which would overwrite what this one saves"
        raise BlockingIOError(errno.EAGAIN, problem, str(path)) from None
    except OSError as error:
        error.filename = str(path)
        raise
    unlock = weakref.finalize(owner, _unlock, _beside(path), descriptor)
    unlock.atexit = False  # a forked process would remove the lock of the one that still runs
    return unlock


def _locked(file: Path) -> int | None:
    """The locked file; None if its former holder removed it between the two calls."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    is_held = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_held = os.fstat(descriptor).st_nlink > 0
    finally:
        if not is_held:
            os.close(descriptor)
    return descriptor if is_held else None


def _unlock(file: Path, descriptor: int) -> None:
    with suppress(OSError):  # the folder may be gone
        file.unlink()
    os.close(descriptor)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")
