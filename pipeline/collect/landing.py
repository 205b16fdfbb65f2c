"""Exported files of many clusters, in one folder per cluster and snapshot.

A pattern says where the folders are: `landing/{cluster}/{snapshot}`, or
`s3://bucket/cluster={cluster}/snapshot={snapshot}`. A file's name says its kind: `map.json`, `log-dirs-1.json`,
`prometheus-101.txt` (of broker 101). It is an option name of `kedge plan collect`, followed by a dash or a dot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

import attrs

from ...controller.model import numerals
from ...stores.reading import read_stream, read_whole
from ..errors import BadInput, NotFound
from ..tables.files import Place
from ..tables.location import Location
from .gathered import Gathered
from .sources import KINDS, Of, Source, read

_FIELD: Final = re.compile(r"\{([^{}]*)\}")
_FIELDS: Final = ("cluster", "snapshot")
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}"  # as in `check_name`
_HIDDEN: Final = (".", "_")  # files of tools that write folders: _SUCCESS, .part.crc
_FILE: Final = re.compile(rf"({'|'.join(KINDS)})(?:-([0-9]{{1,10}}))?(?:[-.].*)?")


@attrs.frozen
class Landing:
    """`pattern`: as above, with each of the two fields once."""

    pattern: str = attrs.field()

    @pattern.validator
    def _check(self, _: object, pattern: str) -> None:
        if sorted(_FIELD.findall(pattern.partition("?")[0])) != [*_FIELDS]:
            raise BadInput(f"{pattern!r:.200}: expected {{cluster}} and {{snapshot}}, each once")

    @property
    def _parts(self) -> tuple[Location, list[str]]:
        """The folder above the first field, and the segments below it."""
        path, mark, query = self.pattern.partition("?")
        segments = path.split("/")
        first = next(i for i, segment in enumerate(segments) if _FIELD.search(segment))
        root = "/".join(segments[:first]) or ("/" if path.startswith("/") else ".")
        return Location(f"{root}{mark}{query}"), [segment for segment in segments[first:] if segment]

    def find(self) -> tuple[list[tuple[str, str]], list[str]]:
        """Cluster and snapshot of every folder, sorted, and folders that do not match. Raises NotFound if no folder
        matches, BadInput if the location cannot be reached."""
        root, segments = self._parts
        if not root.is_there():
            raise NotFound(f"{root}: the folder does not exist")
        skipped: list[str] = []
        found = sorted(self._below(root, segments, "", {}, skipped))
        if not found:
            raise NotFound(f"{self.pattern.partition('?')[0]}: no folder matches")
        return found, skipped

    def _below(
        self, root: Location, segments: list[str], path: str, known: dict[str, str], skipped: list[str]
    ) -> Iterator[tuple[str, str]]:
        if not segments:
            yield known["cluster"], known["snapshot"]
            return
        fits = re.compile(_FIELD.sub(lambda field: f"(?P<{field[1]}>{_NAME})", _escaped(segments[0])))
        for name in root.folders(path):
            match = fits.fullmatch(name)
            below = f"{path}/{name}" if path else name
            if match is not None:
                yield from self._below(root, segments[1:], below, {**known, **match.groupdict()}, skipped)
            elif not name.startswith(_HIDDEN):
                skipped.append(root.where(below))

    def _folder(self, place: Place) -> tuple[Location, str]:
        root, segments = self._parts
        return root, "/".join(segments).format(cluster=place.cluster, snapshot=place.snapshot)

    def taken_at(self, place: Place) -> datetime:
        """When the last file of a cluster and snapshot was written."""
        root, folder = self._folder(place)
        return root.modified(folder)

    def read(self, place: Place, of: Of) -> Gathered:
        """The rows of the files of a cluster and snapshot. Raises BadInput for a file of no known kind, and unless
        there is exactly one map or tree."""
        root, folder = self._folder(place)
        given: dict[str, list[Source]] = {}
        for name in root.names(folder):
            if name.startswith(_HIDDEN):
                continue
            path, match = f"{folder}/{name}", _FILE.fullmatch(name)
            if match is None:
                raise BadInput(f"{root.where(path)}: expected a name that begins with one of {', '.join(KINDS)}")
            broker_id = numerals.whole(match[2]) if match[1] == "prometheus" and match[2] else None
            given.setdefault(match[1], []).append(Source(_bytes(root, path), root.where(path), broker_id))
        if sum(len(given.get(kind, ())) for kind in ("map", "tree")) != 1:
            raise BadInput(f"{root.where(folder)}: expected exactly one file named map or tree")
        into = Gathered()
        read(given, into, of)
        return into


def _escaped(segment: str) -> str:
    """A segment as a regular expression, with its fields kept."""
    return "".join(part if _FIELD.fullmatch(part) else re.escape(part) for part in re.split(r"(\{[^{}]*\})", segment))


def _bytes(root: Location, path: str) -> bytes:
    """Raises BadInput if the file cannot be read, so that other clusters are not affected."""
    try:
        if root.is_local:
            return read_whole(root.folder / path)
        with root.opened(path) as stream:
            return read_stream(stream, root.where(path))
    except OSError as error:
        raise BadInput(f"{root.where(path)}: cannot be read: {error.strerror or error}") from None
