"""Reading the file of a tree for a command: what is wrong with it is one line on stderr and exit code 2."""

from __future__ import annotations

import re
import sys
from typing import Final

from controller.cli.printing import fail, of_system, one_line
from stores import StoreError, transfer
from stores.reading import read_stream, read_whole

_URL: Final = re.compile(r"memory:|[a-z]+://")


def is_url(place: str) -> bool:
    """Whether it names a store; else it names a file."""
    return _URL.match(place) is not None


def read_file(file: str) -> transfer.Tree:
    """The tree in it; "-" is stdin. Exits with 2 where it cannot be read."""
    try:
        if file == "-":
            return transfer.parse(read_stream(sys.stdin.buffer, "stdin"), "stdin")
        return transfer.parse(read_whole(file), file)
    except StoreError as error:
        fail(one_line(error))
    except OSError as error:
        fail(of_system(error))
