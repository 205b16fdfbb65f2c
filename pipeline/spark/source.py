"""`spark.read.format("kedge_journal")` and `readStream`: journal files as rows of `JOURNAL_EVENT`, in Arrow batches.

    spark.dataSource.register(KedgeJournal)
    rows = spark.read.format("kedge_journal").load("/var/kedge/journal")

* `load` takes files, folders of them, and folders `cluster=<id>`. A partition is a file (of a term), or whole commits
  of a large one. Lines that cannot be read are rows with `problem`.
* A stream continues after the last whole commit that it has read of each file, also after a restart. New files are read
  from their beginning; files deleted by the rotation are ignored. Offsets are `{file: {bytes, lines}}`.
* A batch of a stream is limited by `maxBytesPerTrigger`, `maxRowsPerTrigger` or `maxFilesPerTrigger` (one of them), and
  holds whole commits. `Trigger.AvailableNow` reads what exists when it begins, and ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...controller.model import numerals
from ...controller.model.extras import missing

try:
    import pyarrow as pa
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxBytes,
        ReadMaxFiles,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
    from pyspark.sql.types import StructType
except ImportError as error:
    if (error.name or "").startswith("pyspark.") and sys.modules.get("pyspark"):  # an older one is there
        raise ImportError("journals as a data source need PySpark 4.2 or later") from error
    raise ImportError(missing("spark", error)) from error

from ...controller.codec.journal import ends_commit
from ..journal.arrow import batches, line_batches
from ..journal.files import NoJournal, Part, count_lines, journals, read_part, split, whole_end, whole_part
from ..tables.journal import JOURNAL_EVENT
from ..tables.schema import Table

FORMAT: Final = "kedge_journal"
_LIMITS: Final = {
    "maxbytespertrigger": ReadMaxBytes,
    "maxrowspertrigger": ReadMaxRows,
    "maxfilespertrigger": ReadMaxFiles,
}


LINES: Final = "cluster string, file string, line long, raw binary"


def ddl(table: Table) -> str:
    """The Spark schema of a table."""
    return ", ".join(f"`{name}` {kind}{'' if nullable else ' not null'}" for name, kind, nullable in table.columns)


class KedgeJournal(DataSource):
    """Options: `path` (by `load`), or `paths`, a JSON list of them. For streams also one of the limits of a batch, and
    `lines`, "true" for raw lines (LINES), whose `raw` is null if a file was deleted meanwhile."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return LINES if self._has_lines else ddl(JOURNAL_EVENT)

    @property
    def _has_lines(self) -> bool:
        return self.options.get("lines", "").lower() == "true"

    def reader(self, schema: StructType) -> JournalReader:  # noqa: ARG002 - there is only one schema
        return JournalReader([_part(path) for path in _files(_paths(self.options))])

    def streamReader(self, schema: StructType) -> JournalStream:  # noqa: N802, ARG002 - Spark's name
        read = line_batches if self._has_lines else _event_batches
        return JournalStream(_paths(self.options), _limit(self.options), read)


def _paths(options: Mapping[str, str]) -> list[str]:
    given = json.loads(options["paths"]) if "paths" in options else []
    paths = [*given, *([options["path"]] if "path" in options else [])]
    if not paths:
        raise NoJournal("no path was given: pass one or several to load()")
    return [path.removeprefix("file://") for path in paths]


def _files(paths: Sequence[str]) -> list[Path]:
    return [file for files in journals(paths).values() for file in files]


def _limit(options: Mapping[str, str]) -> ReadLimit:
    said = {name.lower(): value for name, value in options.items() if name.lower() in _LIMITS}
    if len(said) > 1:
        raise ValueError(f"expected one limit of a batch, got {', '.join(sorted(said))}")
    for name, value in said.items():
        limit = numerals.whole(value, 1)
        if limit is None:
            raise ValueError(f"{name} must be a number of at least 1, not {value!r:.80}")
        return _LIMITS[name](limit)
    return ReadAllAvailable()


class FilePart(InputPartition):
    """A part of one file."""

    def __init__(self, part: Part) -> None:
        super().__init__(tuple(part))

    @property
    def part(self) -> Part:
        return Part(*self.value)


class JournalReader(DataSourceReader):
    """A batch: every file up to its last whole commit, once."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def partitions(self) -> Sequence[InputPartition]:
        return [FilePart(piece) for part in self._parts for piece in split(part)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FilePart)
        return batches(read_part(partition.part))


def _part(path: Path) -> Part:
    try:
        return whole_part(path)
    except OSError:  # deleted since it was listed: reading it reports that
        return Part(str(path), 0, 0, 1, is_last=True)


Offset = dict[str, dict[str, int]]
_NONE: Final = {"bytes": 0, "lines": 0}


class JournalStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream. Its only state about files are the offsets; `_until`: where AvailableNow ends."""

    def __init__(
        self, paths: Sequence[str], limit: ReadLimit, read: Callable[[Part], Iterator[pa.RecordBatch]]
    ) -> None:
        self._paths = paths
        self._read = read
        self._limit = limit
        self._until: Offset | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return self._limit

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._until = self._there({}, ReadAllAvailable())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return self._there(start, limit)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return self._there({}, ReadAllAvailable())

    def _there(self, start: Offset, limit: ReadLimit) -> Offset:
        """How far a batch that begins at `start` may go."""
        try:
            files = _files(self._paths)
        except NoJournal:  # nothing can be read at present, and what was read is not read again
            return start
        left = _Left(limit)
        found: Offset = {}
        for path in files:
            at = start.get(str(path), _NONE)
            end = at
            if left.any:
                try:
                    end = self._end(path, at, left)
                except OSError:  # deleted meanwhile
                    end = at
            if end != _NONE:
                found[str(path)] = end
        return found

    def _end(self, path: Path, at: dict[str, int], left: _Left) -> dict[str, int]:
        begun = at["bytes"] if path.stat().st_size >= at["bytes"] else 0  # shorter: another file of this name
        limit = whole_end(path, begun)
        if self._until is not None:
            limit = min(limit, self._until.get(str(path), _NONE)["bytes"])
        if limit <= begun:
            return at
        end = left.take(path, begun, limit)
        return {"bytes": end, "lines": (at["lines"] if begun else 0) + count_lines(path, begun, end)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        parts = []
        for path, to in end.items():
            at = start.get(path, _NONE)
            if to["bytes"] < at["bytes"]:
                at = _NONE
            if to["bytes"] > at["bytes"]:
                parts.append(FilePart(Part(path, at["bytes"], to["bytes"], at["lines"] + 1, is_last=False)))
        return parts

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FilePart)
        return self._read(partition.part)


def _event_batches(part: Part) -> Iterator[pa.RecordBatch]:
    return batches(read_part(part))


class _Left:
    """What a batch may still read. At least one commit is read, however large, or the stream would make no progress."""

    def __init__(self, limit: ReadLimit) -> None:
        self._bytes = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        self._rows = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        self._files = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        self._taken = False

    @property
    def any(self) -> bool:
        return all(left is None or left > 0 for left in (self._bytes, self._rows, self._files))

    def take(self, path: Path, start: int, end: int) -> int:
        """Where the batch ends in this file, at most at `end`, always after a whole commit."""
        if self._files is not None:
            self._files -= 1
        if self._bytes is not None or self._rows is not None:
            end = self._cut(path, start, end)
        self._taken = self._taken or end > start
        return end

    def _cut(self, path: Path, start: int, end: int) -> int:
        at = whole = start
        rows = whole_rows = 0
        with path.open("rb") as file:
            file.seek(start)
            while at < end and (line := file.readline()):
                at, rows = at + len(line), rows + 1
                if self._is_over(at - start, rows) and (self._taken or whole > start):
                    break
                if ends_commit(line.removesuffix(b"\n")) is not None:
                    whole, whole_rows = at, rows
                    if self._is_over(at - start, rows):
                        break
        self._count(whole - start, whole_rows, is_whole=whole >= end)
        return whole

    def _is_over(self, read_bytes: int, rows: int) -> bool:
        return (self._bytes is not None and read_bytes > self._bytes) or (self._rows is not None and rows > self._rows)

    def _count(self, read_bytes: int, rows: int, *, is_whole: bool) -> None:
        """A file that was cut is the last one of its batch."""
        self._bytes = None if self._bytes is None else (self._bytes - read_bytes if is_whole else 0)
        self._rows = None if self._rows is None else (self._rows - rows if is_whole else 0)
