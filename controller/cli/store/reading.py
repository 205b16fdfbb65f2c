"""Reading the file of a tree for a command: what is wrong with it is one line on stderr and exit code 2."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

from controller.cli.printing import fail, one_line
from stores import StoreError, transfer

FILE_BYTES_MAX: Final = 4_000_000_000
_URL: Final = re.compile(r"memory:|[a-z]+://")


def is_url(place: str) -> bool:
    """Whether it names a store; else it names a file."""
    return _URL.match(place) is not None


def read_file(file: str) -> transfer.Tree:
    """The tree in it; "-" is stdin. Exits with 2 where it cannot be read."""
    try:
        if file == "-":
            return transfer.parse(sys.stdin.buffer.read(), "stdin")
        if Path(file).stat().st_size > FILE_BYTES_MAX:
            fail(f"{file}: larger than {FILE_BYTES_MAX} bytes")
        return transfer.parse(Path(file).read_bytes(), file)
    except StoreError as error:
        fail(one_line(error))
    except OSError as error:
        fail(f"{file}: {error.strerror or one_line(error)}")
