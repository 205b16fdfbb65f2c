"""The files of a journal, their order, and the events of a part of a file.

* Files are ordered by controller epoch, then n; files with other names come after them, in the order given.
* A part ends where a whole commit ends. What follows the last one is a torn tail, left by a crash or by a writer that
  is not done. It is reported and not read.
* A file that the rotation deletes while it is read is reported, and is no failure.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import BinaryIO, Final, NamedTuple

from ...controller.codec.journal import FIRST_BYTES, ends_commit, file_name, in_order, whole_bytes
from ...controller.model.plural import counted
from .lines import BAD_LINE, FILE_GONE, TORN_TAIL, Event, read_line

BAD_LINES_MAX: Final = 10_000
"""How many bad lines of a part are kept with their text; the rest is only counted."""

LINE_BYTES_MAX: Final = 2**26
"""A longer line is read as several, which are rejected."""

PART_BYTES: Final = 2**23
"""A larger file is read in parts of about this size."""

_CHUNK_BYTES: Final = 2**20

DEFAULT_CLUSTER: Final = "kedge"
_FOLDER: Final = "cluster="


class NoJournal(ValueError):
    """The path cannot be read as a journal. The message names it."""


class Part(NamedTuple):
    """Bytes `start` to `end` of a file, whole commits; `first_line` is the number of its first line. `is_last`: what
    follows `end` is a torn tail, to be reported."""

    path: str
    start: int
    end: int
    first_line: int
    is_last: bool


def cluster_of(file: str | Path) -> str:
    """The cluster of a journal file: the id of the nearest folder `cluster=<id>` above it, else the one in its name,
    else "kedge", the default name of a journal."""
    return _named(Path(file)) or DEFAULT_CLUSTER


def _named(path: Path) -> str | None:
    for folder in reversed(path.parent.parts):
        if folder.startswith(_FOLDER) and folder != _FOLDER:
            return folder.removeprefix(_FOLDER)
    name = file_name(path.name)
    return None if name is None else name.cluster


def journals(paths: Iterable[str | Path]) -> dict[str, list[Path]]:
    """All files in `paths` (files, folders of them, and folders `cluster=<id>`), by cluster, each in the order of its
    journal. A file that names no cluster belongs to the only one that others name. Raises NoJournal if there is nothing
    to read."""
    found = [one for path in map(Path, paths) for one in _expand(path)]
    if not found:
        raise NoJournal("no journal files were given")
    named = {cluster for file in found if (cluster := _named(file)) is not None}
    other = named.pop() if len(named) == 1 else DEFAULT_CLUSTER
    files: dict[str, list[Path]] = {}
    for file in found:
        files.setdefault(_named(file) or other, []).append(file)
    try:
        return {cluster: in_order(files[cluster]) for cluster in sorted(files)}
    except ValueError as error:
        raise NoJournal(str(error)) from None


def journal_files(paths: Iterable[str | Path]) -> list[Path]:
    """All files of the only cluster in `paths`, as `journals` finds them. Raises NoJournal if there is nothing to read,
    or there are several clusters."""
    found = journals(paths)
    if len(found) > 1:
        raise NoJournal(f"expected the journal of one cluster, got those of {', '.join(found)}")
    (files,) = found.values()
    return files


def place_of(file: str) -> tuple[bool, int, int, str]:
    """The sort key of files in the order of their journal; files with other names come last."""
    name = file_name(PurePath(file).name)
    return (True, 0, 0, file) if name is None else (False, name.controller_epoch, name.n, file)


def _expand(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            path.stat()
            return [path]
        found = [one for one in path.iterdir() if file_name(one.name) is not None]
        for folder in path.glob(f"{_FOLDER}?*/"):
            found += [one for one in folder.iterdir() if file_name(one.name) is not None]
    except OSError as error:
        raise NoJournal(f"{path}: {error.strerror or error}") from error
    if not found:
        raise NoJournal(f"{path}: the folder has no journal files (<cluster>-<controller_epoch>-<n>.jsonl)")
    return found


def whole_part(path: Path) -> Part:
    """A file up to its last whole commit. A file without one that does not begin like a journal is read to its end, so
    that its lines are rejected. Raises OSError."""
    end = whole_end(path, 0)
    return Part(str(path), 0, end or _foreign_end(path), 1, is_last=True)


def _foreign_end(path: Path) -> int:
    with path.open("rb") as file:
        first = file.read(len(FIRST_BYTES))
    return 0 if FIRST_BYTES.startswith(first) else path.stat().st_size


def split(part: Part, part_bytes: int = PART_BYTES) -> Iterator[Part]:
    """The same in parts that can be read separately, each of whole commits. A file that is deleted meanwhile is one
    part."""
    line = part.first_line
    for start, end in cuts(part, part_bytes):
        is_last = end >= part.end
        yield Part(part.path, start, end, line, is_last=is_last and part.is_last)
        if not is_last:
            with suppress(OSError):  # reading the part reports it
                line += count_lines(Path(part.path), start, end)


def cuts(part: Part, part_bytes: int = PART_BYTES) -> Iterator[tuple[int, int]]:
    """Where the parts of `split` begin and end."""
    start = part.start
    with suppress(OSError):  # as above
        while part.end - start > part_bytes:
            cut = _commit_end(Path(part.path), start + part_bytes, part.end)
            if cut >= part.end:
                break
            yield start, cut
            start = cut
    yield start, part.end


def _commit_end(path: Path, after: int, end: int) -> int:
    """The end of the first commit that ends after `after`; `end` if there is none."""
    with path.open("rb") as file:
        file.seek(after)
        at = after + len(file.readline(LINE_BYTES_MAX))
        while at < end and (line := file.readline(LINE_BYTES_MAX)):
            at += len(line)
            if ends_commit(line.removesuffix(b"\n")) is not None:
                return min(at, end)
    return end


def whole_end(path: Path, start: int) -> int:
    """The end of the last whole commit after `start`; `start` if there is none. Raises OSError."""
    with path.open("rb") as file:
        if file.seek(0, 2) <= start:
            return start
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return whole_bytes(content, start)


def count_lines(path: Path, start: int, end: int) -> int:
    """The number of line ends. Raises OSError."""
    lines, left = 0, end - start
    with path.open("rb") as file:
        file.seek(start)
        while left > 0 and (chunk := file.read(min(left, _CHUNK_BYTES))):
            lines += chunk.count(b"\n")
            left -= len(chunk)
    return lines


def read_lines(file: BinaryIO, left: int) -> Iterator[bytes]:
    """The lines of the next `left` bytes, without their line ends."""
    if left < LINE_BYTES_MAX:
        lines = file.read(left).split(b"\n")
        return iter(lines if lines[-1] else lines[:-1])
    return _long_lines(file, left)


def _long_lines(file: BinaryIO, left: int) -> Iterator[bytes]:
    while left > 0 and (line := file.readline(min(left, LINE_BYTES_MAX))):
        left -= len(line)
        yield line.removesuffix(b"\n")


def read_whole(path: Path) -> Iterator[Event]:
    """The events of a file up to its last whole commit, piece by piece. Raises OSError if it cannot be opened."""
    return read_parts(whole_part(path))


def read_parts(part: Part) -> Iterator[Event]:
    """The events of a part, read piece by piece."""
    return (event for one in split(part) for event in read_part(one))


def read_part(part: Part) -> Iterator[Event]:
    """The events of a part, in their order, including those for lines that cannot be read. The content raises no
    error."""
    bad = 0
    number = part.first_line - 1
    try:
        with Path(part.path).open("rb") as file:
            file.seek(part.start)
            for number, line in enumerate(read_lines(file, part.end - part.start), part.first_line):
                event = read_line(part.path, number, line)
                bad += event.problem is not None
                if event.problem is None or bad <= BAD_LINES_MAX:
                    yield event
            if part.is_last and (torn := file.read(_CHUNK_BYTES)):
                lines = max(1, torn.count(b"\n"))
                text = f"{counted(lines, 'line')} after the last whole commit not read"
                yield Event(part.path, number + 1, "", None, TORN_TAIL, text, "")
    except OSError as error:
        yield Event(part.path, 0, "", None, FILE_GONE, f"while it was read: {error.strerror or error}", "")
    if bad > BAD_LINES_MAX:
        text = f"{counted(bad - BAD_LINES_MAX, 'more line')} that cannot be read, from line {part.first_line} on"
        yield Event(part.path, 0, "", None, BAD_LINE, text, "")
