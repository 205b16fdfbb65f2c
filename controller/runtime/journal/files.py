"""The files of a journal: their names, the end of the last whole commit, and the sink that writes them.

* `<cluster>-<controller_epoch>-<n>.jsonl`, n from 0. A commit is whole in one file, so one that exceeds the limit makes
  a larger file. The chain of a term continues from file to file.
* A commit is one write. Its last line has `rows`: a commit is whole if and only if that line is there with its line
  end. Everything after the last such line is torn, and is cut off when the file is opened again.
* A failed write is cut off at once. If that fails too, the file is closed, and cut when it is opened again.
"""

from __future__ import annotations

import mmap
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from ...codec.journal import FIRST_BYTES, file_name, whole_bytes

FILE_BYTES_MAX: Final = 64 * 2**20
FILES_KEPT_MAX: Final = 64

Fsync: TypeAlias = Literal["off", "commit"] | float
"""off: when the system does it; commit: for each commit; a number: with the first commit that comes this many seconds
after the last synced one. A file is synced when it is closed, unless off."""

_CLUSTER: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")


class Named(NamedTuple):
    """A file name. Sorted by cluster, then in the order of writing."""

    cluster: str
    controller_epoch: int
    n: int
    path: Path


def named(path: Path) -> Named | None:
    """The parts of the name of a journal file, None for any other file."""
    said = file_name(path.name)
    return None if said is None else Named(*said, path)


def files_in(folder: Path) -> list[Named]:
    """The journal files of a folder, sorted. Raises OSError."""
    return sorted(found for path in folder.iterdir() if (found := named(path)) is not None)


def whole_bytes_of(path: Path) -> int:
    """Where the last whole commit of a file ends; 0 if there is none. Raises OSError."""
    with path.open("rb") as file:
        if not file.seek(0, os.SEEK_END):
            return 0
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return whole_bytes(content)


class FolderSink:
    """Writes files into `folder`, which is created if necessary; if it has more than `files_max` of this cluster, the
    oldest are deleted. ValueError for an argument out of range.

    A term opens its own file with its first commit. If there is a file of that term already (epochs begin again in a
    store that was wiped), the sink appends to the last one, without its torn tail.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        cluster: str = "kedge",
        file_bytes_max: int = FILE_BYTES_MAX,
        files_max: int = FILES_KEPT_MAX,
        fsync: Fsync = "off",
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        if _CLUSTER.fullmatch(cluster) is None:
            raise ValueError(f"cluster must be 1-200 of A-Z a-z 0-9 . _ -, as in file names, not {cluster!r:.220}")
        if not (file_bytes_max >= 1 and files_max >= 1):  # NaN is neither
            raise ValueError(f"file_bytes_max and files_max must be at least 1: {file_bytes_max}, {files_max}")
        is_seconds = isinstance(fsync, int | float) and not isinstance(fsync, bool) and fsync >= 0
        if fsync not in {"off", "commit"} and not is_seconds:
            raise ValueError(f"fsync must be 'off', 'commit' or a number of seconds, not {fsync!r:.80}")
        self._folder = Path(folder)
        self._cluster = cluster
        self._file_bytes_max = file_bytes_max
        self._files_max = files_max
        self._fsync_after_s = {"off": None, "commit": 0.0}[fsync] if isinstance(fsync, str) else float(fsync)
        self._monotonic_s = monotonic_s
        self._controller_epoch = 0
        self._file: FileIO | None = None
        self._whole_bytes = 0  # of the open file
        self._synced_s = 0.0

    def begin(self, controller_epoch: int) -> None:
        """The next lines go to a file of this term."""
        self.close()
        self._controller_epoch = controller_epoch

    def write(self, lines: Sequence[bytes]) -> None:
        """Write all lines in one write. Raises OSError, and ValueError if the file is not a journal; then none is
        written."""
        data = b"".join([part for line in lines for part in (line, b"\n")])
        if self._file is not None and self._whole_bytes + len(data) > self._file_bytes_max and self._whole_bytes:
            self.close()
        file = self._file or self._open(len(data))
        try:
            _write_all(file, data)
            self._sync(file)
        except BaseException as error:
            self._cut(file)
            if isinstance(error, OSError):
                error.filename = str(file.name)  # on a full disk, the system names no file
            raise
        self._whole_bytes += len(data)

    def close(self) -> None:
        """Close the open file; the next lines begin another one."""
        file, self._file = self._file, None
        if file is None:
            return
        with suppress(OSError):  # an error has no caller any more that could handle it
            if self._fsync_after_s is not None:
                os.fsync(file.fileno())
        with suppress(OSError):
            file.close()

    def _open(self, needed_bytes: int) -> FileIO:
        """The last file of the term if it has room, otherwise a new one."""
        self._folder.mkdir(parents=True, exist_ok=True)
        ours = [found for found in files_in(self._folder) if found.cluster == self._cluster]
        last = max((found for found in ours if found.controller_epoch == self._controller_epoch), default=None)
        n, whole = 0, 0
        if last is not None:
            n, whole = last.n, self._torn_off(last.path)
            if whole and whole + needed_bytes > self._file_bytes_max:
                n, whole = n + 1, 0
        path = self._folder / f"{self._cluster}-{self._controller_epoch}-{n}.jsonl"
        self._file, self._whole_bytes = FileIO(path, "ab"), whole
        if self._fsync_after_s is not None:
            _sync_folder(self._folder)
        self._forget(found.path for found in ours if found.path != path)
        return self._file

    def _torn_off(self, path: Path) -> int:
        """Cut off the torn tail of a file; return its size."""
        size, whole = path.stat().st_size, whole_bytes_of(path)
        if whole < size:
            if not whole and not begins_like_a_line(path):
                raise ValueError(f"{path} is not a journal; its content is left unchanged")
            os.truncate(path, whole)
        return whole

    def _forget(self, others: Iterable[Path]) -> None:
        """Delete the oldest files. One that cannot be deleted is tried again with the next file."""
        paths = list(others)
        for path in paths[: max(0, len(paths) + 1 - self._files_max)]:
            with suppress(OSError):
                path.unlink()

    def _sync(self, file: FileIO) -> None:
        if self._fsync_after_s is None:
            return
        now_s = self._monotonic_s()
        if now_s - self._synced_s >= self._fsync_after_s:
            os.fsync(file.fileno())
            self._synced_s = now_s

    def _cut(self, file: FileIO) -> None:
        try:
            file.truncate(self._whole_bytes)
        except OSError:
            self.close()


def _write_all(file: FileIO, data: bytes) -> None:
    """Write all data: a raw file may write only a part, as on a full disk."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def begins_like_a_line(path: Path) -> bool:
    """Whether a file begins as a journal does, as far as it goes."""
    with path.open("rb") as file:
        first = file.read(len(FIRST_BYTES))
    return FIRST_BYTES.startswith(first)
