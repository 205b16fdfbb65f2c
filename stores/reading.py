"""Files that a user names, read whole: with a limit, and with errors in plain words.

/dev/zero and a pipe from `yes` have no end. A device is refused, and anything else is read up to a limit; `<(command)`,
/dev/stdin and /dev/null are read as every program reads them.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final

MIB: Final = 2**20
MIB_MAX: Final = 1024
"""Of a file where nothing else is said: four million partitions as a tree have less."""


def read_whole(path: str | PathLike[str], mib_max: int = MIB_MAX) -> bytes:
    """All bytes of a file or a pipe. Raises OSError, which names it and has words, also for a device, and for more
    than `mib_max` MiB."""
    with Path(path).open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        is_null = os.path.samestat(status, Path(os.devnull).stat())
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode) or file.isatty() or is_null):
            raise OSError(errno.EINVAL, "a device, expected a file or a pipe", str(path))
        if status.st_size > mib_max * MIB:
            raise _too_large(str(path), mib_max)
        return read_stream(file, str(path), mib_max)


def read_stream(stream: BinaryIO, name: str, mib_max: int = MIB_MAX) -> bytes:
    """As `read_whole`, of a stream that is open already; `name` names it in the error."""
    parts, left = [], mib_max * MIB
    while part := stream.read(MIB):
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise _too_large(name, mib_max)
    return b"".join(parts)


def _too_large(name: str, mib_max: int) -> OSError:
    return OSError(errno.EFBIG, f"larger than {mib_max} MiB", name)


def parse_json(data: str | bytes, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The document in `data`, which is UTF-8, UTF-16 or UTF-32; `pairs` makes its objects, as `object_pairs_hook` of
    `json`. Raises ValueError, which says what is wrong without a word of Python's."""
    try:
        return json.loads(data, object_pairs_hook=pairs)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply in it") from None
    except UnicodeDecodeError:
        raise ValueError("no text in UTF-8 or UTF-16") from None
    except ValueError:  # the limit of int(), which names a function of Python's
        raise ValueError("a number in it has too many digits") from None
