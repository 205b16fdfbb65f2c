"""Whether files and folders that a command is to write can be written: asked before the work, since what it wrote
before it fails would stand there alone.

Asked by doing it: permissions say nothing of a file system that is read-only, nor anything to root.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from controller.cli.printing import fail


def file_problem(path: Path) -> str | None:
    """Why no file can be written at `path`, or the one there not be replaced; None where it can."""
    folder = path.absolute().parent
    if path.is_dir():
        return f"{path}: is a folder, expected a file"
    if not folder.is_dir():
        return f"{path}: no file can be written here, {folder} is {'a file' if folder.exists() else 'not there'}"
    try:
        if path.is_file():
            os.close(os.open(path, os.O_WRONLY))
        elif not path.exists():  # else it is a device or a pipe, which only who writes may open
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
            path.unlink()
    except OSError as error:
        return f"{path}: no file can be written here, {error.strerror}"
    return None


def folder_problem(path: Path) -> str | None:
    """Why files cannot be written in the folder `path`, or it and those above it not be made; None where they can."""
    there = path.absolute()
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        return f"{path}: expected a folder, {there} is a file"
    try:
        Path(tempfile.mkdtemp(dir=there)).rmdir()
    except OSError as error:
        return f"{path}: nothing can be written here, {error.strerror}"
    return None


def need_file(path: Path | None) -> None:
    """A file that cannot be written is exit code 2, before the work."""
    if path is not None and (problem := file_problem(path)) is not None:
        fail(problem)


def need_folder(path: Path | None) -> None:
    """A folder that cannot be written is exit code 2, before the work."""
    if path is not None and (problem := folder_problem(path)) is not None:
        fail(problem)
