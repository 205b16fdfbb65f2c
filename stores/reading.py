"""Reads whole files that a user names, up to a limit.

/dev/zero and a pipe from `yes` never end, so devices are refused, and other files are read up to a limit. `<(command)`,
/dev/stdin and /dev/null can be read.
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


def read_whole(path: str | PathLike[str], mib_max: int = MIB_MAX) -> bytes:
    """All bytes of a file or a pipe. Raises OSError, with the path and a message, also for a device and for a file of
    more than `mib_max` MiB."""
    with Path(path).open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
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
