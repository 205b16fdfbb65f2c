"""Errors of writing name the file that the user asked for.

The system names no file if a disk is full, nor does pyarrow. A file that is written under a temporary name and then
renamed would be reported under that name, which no longer exists.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_as(path: Path) -> Iterator[None]:
    """An OSError of the block names `path`, with the system's message."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
