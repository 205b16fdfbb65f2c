"""Where tables are: a local folder, or one in a file system that pyarrow supports: s3 (also s3a), gs, abfss, hdfs; or a
schema of a Spark catalog (`catalog:lake.kedge`), or a folder in Delta, which only Spark reads and writes.

Paths below a location are relative, with slashes. Options of a file system have its own form: for S3 the variables
AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and so on, or the query of pyarrow's URIs (?endpoint_override=...&scheme=http).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import attrs
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from ..errors import BadInput, NotFound
from ..written import written_as
from .arrow import Arrow

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(/+)")  # some programs write file:/x for file:///x
_NO_TEXT: Final = re.compile(r"[\0\ud800-\udfff]")  # surrogates: bytes of a command line that are not UTF-8
_FILE: Final = "file"
_DBFS: Final = "dbfs"
_DBFS_FOLDER: Final = Path("/dbfs")  # where Databricks has it in the file system
_OTHER_NAMES: Final = {"s3a": "s3", "s3n": "s3"}  # Hadoop's names
_CATALOG: Final = "catalog:"
_SCHEMA: Final = re.compile(r"[^.`\s]+(?:\.[^.`\s]+)*")
PARQUET: Final = "parquet"
DELTA: Final = "delta"
FORMATS: Final = (PARQUET, DELTA, "iceberg")
_BATCH_ROWS: Final = 1 << 17


@attrs.frozen
class Location:
    """`text`: as given, a path, a URI or catalog:SCHEMA; `format`: of the tables. Raises BadInput if they do not go
    together."""

    text: str
    format: str = PARQUET

    def __attrs_post_init__(self) -> None:
        if _NO_TEXT.search(self.text):
            raise BadInput(f"{self.text!r:.120}: expected a path or a URI in UTF-8, without NUL")
        if self.is_catalog and _SCHEMA.fullmatch(self.text.removeprefix(_CATALOG)) is None:
            raise BadInput(f"{self}: expected catalog:SCHEMA or catalog:CATALOG.SCHEMA")
        if self.format not in FORMATS:
            raise BadInput(f"format: expected one of {', '.join(FORMATS)}; got {self.format!r:.80}")
        if not self.is_catalog and self.format not in (PARQUET, DELTA):
            raise BadInput(f"{self}: {self.format} tables need a catalog, catalog:CATALOG.SCHEMA")

    def __str__(self) -> str:
        return self.text.partition("?")[0]  # the query may hold a secret key

    @property
    def is_catalog(self) -> bool:
        return self.text.startswith(_CATALOG)

    @property
    def in_spark(self) -> bool:
        """Whether only Spark reads and writes it."""
        return self.is_catalog or self.format != PARQUET

    @property
    def schema(self) -> tuple[str, ...]:
        """The parts of a catalog's name."""
        return tuple(self.text.removeprefix(_CATALOG).split("."))

    @property
    def scheme(self) -> str:
        """That of a URI, empty for a path."""
        return _parts(self.text)[0]

    @property
    def is_local(self) -> bool:
        return not self.is_catalog and self.scheme in {"", _FILE, _DBFS}

    @property
    def folder(self) -> Path:
        """The folder of a local location. Raises BadInput for another one."""
        if not self.is_local:
            raise BadInput(f"{self}: expected a local folder")
        scheme, _, rest = _parts(self.text)
        if not scheme:
            return Path(self.text)
        path = Path("/", unquote(rest))
        if scheme == _FILE:
            return path
        if not _DBFS_FOLDER.is_dir():
            raise BadInput(f"{self}: this machine has no {_DBFS_FOLDER}, where Databricks mounts dbfs")
        return _DBFS_FOLDER / path.relative_to("/")

    def absolute(self) -> Location:
        """The same location, independent of the working folder."""
        return attrs.evolve(self, text=str(self.folder.absolute())) if self.is_local else self

    def where(self, path: str) -> str:
        """The text for a file or folder below it, for messages."""
        return f"{self.folder / path}" if self.is_local else _below(str(self), path)

    def is_there(self, path: str = "", *, file: bool = False) -> bool:
        """Whether there is a folder, or a file, at `path`. Raises BadInput if the file system does not answer."""
        system, base = self._opened()
        with self._reached(path):
            kind = system.get_file_info(_below(base, path)).type
        return bool(kind == (pafs.FileType.File if file else pafs.FileType.Directory))

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted; empty if there is none."""
        return sorted(info.base_name for info in self._infos(path))

    def folders(self, path: str) -> list[str]:
        """The folders in a folder, sorted; empty if there is none."""
        return sorted(info.base_name for info in self._infos(path) if info.type == pafs.FileType.Directory)

    def modified(self, path: str) -> datetime:
        """When a file of the folder was last written, in UTC. Raises NotFound if there is none."""
        times = [info.mtime for info in self._infos(path) if info.mtime is not None]
        if not times:
            raise NotFound(f"{self.where(path)}: the folder has no files")
        newest: datetime = max(times).astimezone(UTC)
        return newest

    def _infos(self, path: str) -> list[Any]:
        system, base = self._opened()
        with self._reached(path):
            return list(system.get_file_info(pafs.FileSelector(_below(base, path), allow_not_found=True)))

    @contextmanager
    def opened(self, path: str) -> Iterator[Any]:
        """A file to read bytes from. Raises FileNotFoundError if there is none, BadInput if it cannot be read."""
        system, base = self._opened()
        with self._reached(path), system.open_input_stream(_below(base, path)) as stream:
            yield stream

    def read(self, path: str) -> Arrow:
        """A Parquet file. Raises FileNotFoundError if there is none, BadInput if it cannot be read."""
        system, base = self._opened()
        with self._as_parquet(path):
            return pq.read_table(_below(base, path), filesystem=system, partitioning=None)

    def batches(self, path: str, columns: Sequence[str]) -> Iterator[Arrow]:
        """The rows of a Parquet file, a part of them at a time, with these columns, if it has them. Raises as
        `read`."""
        system, base = self._opened()
        with self._as_parquet(path), system.open_input_file(_below(base, path)) as file:
            # With a buffer ahead, all that was read of the file stays in memory until its end.
            for batch in pq.ParquetFile(file, pre_buffer=False).iter_batches(_BATCH_ROWS, columns=list(columns)):
                yield pa.Table.from_batches([batch])

    @contextmanager
    def _as_parquet(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError) as error:
            said = " ".join(str(error).split())[:300]
            raise BadInput(f"{self.where(path)}: cannot be read as Parquet: {said}") from None

    def bytes_of(self, path: str) -> bytes:
        """The content of a file. Raises BadInput if it cannot be read."""
        with self.opened(path) as stream:
            return bytes(stream.read())

    def write(self, path: str, data: Any) -> None:
        """The file holds `data` (bytes); it is replaced atomically. Raises OSError naming it."""
        if self.is_local:
            self._replace(self.folder / path, data)
            return
        system, base = self._opened()
        try:
            with system.open_output_stream(_below(base, path)) as stream:
                stream.write(data)
        except OSError as error:
            raise OSError(f"{self.where(path)}: cannot be written: {' '.join(str(error).split())[:300]}") from None

    def remove(self, path: str) -> None:
        """Delete the file if it exists."""
        system, base = self._opened()
        with suppress(FileNotFoundError), self._reached(path):
            system.delete_file(_below(base, path))

    def _replace(self, path: Path, data: Any) -> None:
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        with written_as(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                beside.write_bytes(data)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)

    def _opened(self) -> tuple[Any, str]:
        if self.in_spark:
            raise BadInput(f"{self}: only Spark reads and writes a catalog, or {DELTA}: use --engine spark")
        if self.is_local:
            return _local(), str(self.folder)
        try:
            return _system(self.text)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise BadInput(f"{self}: cannot be reached: {' '.join(str(error).split())[:300]}") from None

    @contextmanager
    def _reached(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise BadInput(f"{self.where(path)}: cannot be reached: {' '.join(str(error).split())[:300]}") from None


def location(given: str | Path | Location) -> Location:
    return given if isinstance(given, Location) else Location(str(given))


def _below(base: str, path: str) -> str:
    return f"{base.rstrip('/')}/{path}" if path else base


@lru_cache(1)
def _local() -> Any:
    return pafs.LocalFileSystem()


@lru_cache(16)
def _system(uri: str) -> tuple[Any, str]:
    """A file system and the path of the location in it."""
    scheme, slashes, rest = _parts(uri)
    slashes = "///" if slashes == "/" else slashes
    found: tuple[Any, str] = pafs.FileSystem.from_uri(f"{_OTHER_NAMES.get(scheme, scheme)}:{slashes}{rest}")
    return found


def _parts(uri: str) -> tuple[str, str, str]:
    found = _URI.match(uri)
    return ("", "", uri) if found is None else (found[1].lower(), found[2], uri[found.end() :])
