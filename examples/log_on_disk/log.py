"""A log in one file: records one after the other, each with its length, the leader epoch and a checksum.

The offset of a record is its number. The file is opened for each operation, so that a folder that is gone is noticed.
"""

from __future__ import annotations

import os
import shutil
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

HEADER = struct.Struct(">IiI")  # bytes of the payload, leader epoch, CRC-32 of the payload


class Log:
    """The log in `folder`, which is created if it is missing. Every method raises OSError when the disk fails."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "records"
        self._starts: list[int] = []  # of each record: where it begins in the file
        self._epochs: list[int] = []  # of each record: its leader epoch, which never falls
        folder.mkdir(parents=True, exist_ok=True)
        self.file.touch()
        for start, epoch, _ in self._scan():
            self._starts.append(start)
            self._epochs.append(epoch)

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return len(self._epochs)

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last record, -1 for an empty log."""
        return self._epochs[-1] if self._epochs else -1

    def check(self) -> None:
        """Raise OSError if the file is not there any more."""
        self.file.stat()

    def append(self, records: Iterable[tuple[int, bytes]]) -> None:
        """Write records, each a leader epoch and a payload, at the end."""
        with self.file.open("r+b") as file:
            start = file.seek(0, os.SEEK_END)
            added = []
            for epoch, payload in records:
                added.append((start, epoch))
                start += file.write(HEADER.pack(len(payload), epoch, zlib.crc32(payload)) + payload)
        for start, epoch in added:
            self._starts.append(start)
            self._epochs.append(epoch)

    def read(self, offset: int, records_max: int) -> list[tuple[int, bytes]]:
        """The records from `offset` on."""
        records: list[tuple[int, bytes]] = []
        starts = self._starts[offset : offset + records_max]
        if starts:
            with self.file.open("rb") as file:
                file.seek(starts[0])
                for _ in starts:
                    size, epoch, _ = HEADER.unpack(file.read(HEADER.size))
                    records.append((epoch, file.read(size)))
        return records

    def truncate(self, offset: int) -> int:
        """Remove the records at `offset` and above; returns how many there were."""
        removed = self.end_offset - offset
        if removed > 0:
            os.truncate(self.file, self._starts[offset])
            del self._starts[offset:], self._epochs[offset:]
        return max(0, removed)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The highest leader epoch in the log up to `epoch`, and the offset after its last record; (-1, 0) for none."""
        end = bisect_right(self._epochs, epoch)
        return (self._epochs[end - 1], end) if end else (-1, 0)

    def common_end(self, leader_end: Callable[[int], tuple[int, int]]) -> int:
        """Up to which offset this log equals the leader's (KIP-101 and KIP-279). `leader_end`: its `end_of_epoch`."""
        epoch = self.last_epoch
        while epoch >= 0:
            found, end = leader_end(epoch)
            own, own_end = self.end_of_epoch(found)
            if own == found:
                return min(own_end, end)
            epoch = own
        return 0

    def delete(self) -> None:
        """Remove the folder with all records."""
        shutil.rmtree(self.folder)

    def _scan(self) -> Iterator[tuple[int, int, bytes]]:
        """All whole records. What a crash left of a record at the end is cut off."""
        with self.file.open("r+b") as file:
            while True:
                start = file.tell()
                header = file.read(HEADER.size)
                size, epoch, checksum = HEADER.unpack(header) if len(header) == HEADER.size else (0, -1, -1)
                payload = file.read(size)
                if len(payload) < size or zlib.crc32(payload) != checksum:
                    file.truncate(start)
                    return
                yield start, epoch, payload
