"""Errors of what is written name the file that was asked for.

The system names no file where a disk is full, pyarrow neither, and what is written beside its place, to be renamed in
the end, is named by a path that nobody knows and that is gone by then.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_as(path: Path) -> Iterator[None]:
    """An OSError of the block names `path`, and says what the system says, whoever raises it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
