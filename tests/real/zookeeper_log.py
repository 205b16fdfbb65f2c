"""What ZooKeeper servers wrote down: every transaction, from their transaction logs, as commits in order.

The log is the one witness of which nothing escapes: watches fire once and merge, so a client sees the last of several
writes. The format is ZooKeeper's `FileTxnLog`: a header of 16 bytes, then records of a checksum (Adler-32), a length,
and so many bytes: a transaction in Jute's encoding. Zeros follow what was written; a record cut off by a kill ends a
file.

Of an ensemble, no log alone is the past. A leader that was cut off has written down what no other has, and cuts it
away when it follows again (TRUNC); a node that was away is sent what it missed (DIFF), or, where that is long, a
snapshot instead (SNAP), which leaves a hole in its log. So what counts is what a majority wrote down: a node that is
elected next has it. That nothing is missing shows in the numbers: those of one epoch of the ensemble have no hole."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import attrs

from tests.real.writes import Checked, Deleted, Transaction, Write, Written

_HEADER: Final = 16
_CREATE, _DELETE, _SET, _CHECK, _MULTI = 1, 2, 5, 13, 14
_CREATES: Final = {_CREATE, 15, 19, 21}  # create, create2, createContainer, createTTL
_CLOSE_SESSION: Final = -11
_ERROR: Final = -1
_EPOCH: Final = 32  # a transaction's number is that of its epoch and, in the lower bits, its own within it
_NUMBER: Final = 2**_EPOCH - 1
_ZXID_AT: Final = 12  # behind the session and the number of the request


@attrs.define
class _Jute:
    data: bytes
    at: int = 0

    def number(self, form: str) -> int:
        found: int
        (found,) = struct.unpack_from("!" + form, self.data, self.at)
        self.at += struct.calcsize("!" + form)
        return found

    def buffer(self) -> bytes | None:
        length = self.number("i")
        if length < 0:
            return None
        self.at += length
        return self.data[self.at - length : self.at]

    def text(self) -> str:
        return (self.buffer() or b"").decode()


class ZooKeeperLog:
    """The log of the servers whose data are in `folders`, of what stands below `chroot`."""

    def __init__(self, chroot: str, *folders: Path) -> None:
        self._folders = folders
        self._chroot = chroot
        self._seen = 0

    def new(self) -> list[Transaction]:
        """What was written since the last call. AssertionError if a transaction is in too few logs."""
        logs = self._logs()
        held = Counter(revision for log in logs for revision in log)
        found = sorted(r for r, logs_held in held.items() if r > self._seen and 2 * logs_held > len(logs))
        for before, after in pairwise([*([self._seen] if self._seen else []), *found]):
            begins = after & _NUMBER == 1 and before >> _EPOCH < after >> _EPOCH
            assert after == before + 1 or begins, f"too few logs hold what is between {before:#x} and {after:#x}"
        self._seen = found[-1] if found else self._seen
        return self._read([next(log[revision] for log in logs if revision in log) for revision in found])

    def of_its_own(self, folder: Path) -> list[Transaction]:
        """What the server there has in its log, and no other."""
        others = {revision for each in self._folders if each != folder for revision in _records(each)}
        return self._read([record for revision, record in _records(folder).items() if revision not in others])

    def _logs(self) -> list[dict[int, bytes]]:
        return [_records(folder) for folder in self._folders]

    def _read(self, records: list[bytes]) -> list[Transaction]:
        return [one for one in map(self._transaction, map(_Jute, records)) if one.writes]

    def _transaction(self, jute: _Jute) -> Transaction:
        session, _, revision, _, kind = (jute.number(form) for form in "qiqqi")
        writes = list(self._writes(jute, kind, session))
        return Transaction(revision, session, tuple(write for write in writes if write is not None))

    def _writes(self, jute: _Jute, kind: int, session: int) -> Iterator[Write | None]:
        if kind == _MULTI:
            parts = [(jute.number("i"), jute.buffer()) for _ in range(jute.number("i"))]
            if any(inner_kind == _ERROR for inner_kind, _ in parts):
                return  # it was refused: what comes before the refused one is written down all the same
            for inner_kind, inner in parts:
                yield from self._writes(_Jute(inner or b""), inner_kind, session)
        elif kind in _CREATES:
            path, value = jute.text(), jute.buffer()
            for _ in range(jute.number("i")):
                jute.number("i"), jute.text(), jute.text()
            is_ephemeral = kind in {_CREATE, 15} and bool(jute.number("?"))
            yield self._written(path, value, session if is_ephemeral else None)
        elif kind == _SET:
            yield self._written(jute.text(), jute.buffer(), None)
        elif kind in {_DELETE, _CHECK}:
            key = self._of(jute.text())
            yield (Deleted(key) if kind == _DELETE else Checked(key)) if key else None
        elif kind == _CLOSE_SESSION and jute.at < len(jute.data):
            keys = [self._of(jute.text()) for _ in range(max(0, jute.number("i")))]
            yield from (Deleted(key) for key in keys if key)

    def _written(self, path: str, value: bytes | None, owner: int | None) -> Write | None:
        return Written(self._of(path), value, owner) if self._of(path) else None

    def _of(self, path: str) -> str:
        """The key below the chroot, "" for what is not there."""
        return path[len(self._chroot) :] if path.startswith(self._chroot + "/") else ""


def _records(folder: Path) -> dict[int, bytes]:
    """The transactions in the log below the folder, by number."""
    files = [path for path in folder.rglob("log.*") if path.parent.name == "version-2"]
    found = {}
    for path in sorted(files, key=lambda path: int(path.suffix[1:], 16)):
        for record in _file(path):
            (zxid,) = struct.unpack_from("!q", record, _ZXID_AT)
            found[zxid] = record
    return found


def _file(path: Path) -> Iterator[bytes]:
    try:
        data, at = path.read_bytes(), _HEADER
    except FileNotFoundError:
        return  # its server has just cut it away
    while at + 12 <= len(data):
        checksum, length = struct.unpack_from("!qi", data, at)
        record = data[at + 12 : at + 12 + length]
        if length <= 0 or len(record) < length or zlib.adler32(record) != checksum:
            return
        yield record
        at += 12 + length + 1  # an end-of-record byte
