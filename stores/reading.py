"""Reads whole files that a user names, up to a limit.

* /dev/zero and a pipe from `yes` never end, so devices are refused, and other files are read up to a limit.
  `<(command)`, /dev/stdin and /dev/null can be read.
* A file with a password or a private key is refused if users other than its owner and group may read it, or others
  than its owner may change it, as ssh refuses keys. A warning would go unseen in a program that embeds Kedge. The group
  may read, since services get files that way.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final

MIB: Final = 2**20
MIB_MAX: Final = 1024
"""The default limit; four million partitions as a tree take less."""
_WRITERS: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS: Final = stat.S_IRWXO | _WRITERS


def require_private(path: str | PathLike[str], descriptor: int | None = None) -> None:
    """The file may hold a secret, because other users can neither read nor change it. Raises OSError, with the path and
    a message, if they can. The mode of a pipe is not checked. `descriptor`: of the file, if it is open."""
    mode = (Path(path).stat() if descriptor is None else os.fstat(descriptor)).st_mode
    if stat.S_ISREG(mode) and mode & _OTHERS:
        said = f"mode {stat.S_IMODE(mode):04o} lets others read or change it; use chmod 600"
        raise OSError(errno.EACCES, said, str(path))


def require_unchanged(path: str | PathLike[str], descriptor: int | None = None) -> None:
    """As `require_private`, for a file that others may read, and not change."""
    mode = (Path(path).stat() if descriptor is None else os.fstat(descriptor)).st_mode
    if stat.S_ISREG(mode) and mode & _WRITERS:
        said = f"mode {stat.S_IMODE(mode):04o} lets others change it; use chmod go-w"
        raise OSError(errno.EACCES, said, str(path))


def read_whole(
    path: str | PathLike[str], mib_max: int = MIB_MAX, *, secret: bool = False, trusted: bool = False
) -> bytes:
    """All bytes of a file or a pipe. Raises OSError, with the path and a message, also for a device, for a file of more
    than `mib_max` MiB, for a `secret` that other users may read or change, and for a `trusted` one that they may
    change."""
    with Path(path).open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if secret:
            require_private(path, file.fileno())
        if trusted:
            require_unchanged(path, file.fileno())
        is_null = os.path.samestat(status, Path(os.devnull).stat())
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode) or file.isatty() or is_null):
            raise OSError(errno.EINVAL, "expected a file or a pipe, not a device", str(path))
        if status.st_size > mib_max * MIB:
            raise _too_large(str(path), mib_max)
        return read_stream(file, str(path), mib_max)


def read_stream(stream: BinaryIO, name: str, mib_max: int = MIB_MAX) -> bytes:
    """As `read_whole`, for an open stream; errors name it `name`."""
    parts, left = [], mib_max * MIB
    while part := stream.read(MIB):
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise _too_large(name, mib_max)
    return b"".join(parts)


def _too_large(name: str, mib_max: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {mib_max} MiB", name)


class TwiceError(ValueError):
    """A JSON object has two members with one name."""


def parse_json(data: str | bytes) -> Any:
    """The document in `data`, which is UTF-8, UTF-16 or UTF-32. Raises ValueError with a message that does not mention
    Python; TwiceError for a name that an object has twice: json itself would keep the last value without a word."""
    try:
        return json.loads(data, object_pairs_hook=_once_each)
    except (json.JSONDecodeError, TwiceError):
        raise
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply in it") from None
    except UnicodeDecodeError:
        raise ValueError("not text in UTF-8 or UTF-16") from None
    except ValueError:  # the digit limit of int(); its message names a Python function
        raise ValueError("a number in it has too many digits") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise TwiceError(f"{twice!r:.100} occurs twice in one object")
    return found
