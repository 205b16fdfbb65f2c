"""Files of other tools by kind, read in the order of their dependencies: first those that name brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from ...controller.model import numerals
from ...stores.reading import read_whole
from ..errors import BadInput
from .cruise_control import from_capacities
from .gathered import Gathered
from .kafka_kit import from_broker_metrics, from_partition_meta
from .layouts import from_broker_list, from_map
from .log_dirs import from_log_dirs
from .prometheus import from_prometheus


class Source(NamedTuple):
    """A file: its bytes, its name for errors, and its broker, if the name has one."""

    data: bytes
    file: str
    broker_id: int | None = None


class Of(NamedTuple):
    """What the files do not contain: when the snapshot was taken, which is the time of metrics without one, and the
    cluster's name in a list of several."""

    taken_at: datetime
    listed: str


def _from_tree(data: bytes, file: str, into: Gathered) -> None:
    from .store import from_tree_file  # noqa: PLC0415 - stores are imported only if one is read

    from_tree_file(data, file, into)


KINDS: Final[Mapping[str, Callable[[Source, Gathered, Of], None]]] = {
    "tree": lambda given, into, _: _from_tree(given.data, given.file, into),
    "map": lambda given, into, _: from_map(given.data, given.file, into),
    "broker-list": lambda given, into, of: from_broker_list(given.data, given.file, into, cluster=of.listed),
    "log-dirs": lambda given, into, _: from_log_dirs(given.data, given.file, into),
    "partition-meta": lambda given, into, _: from_partition_meta(given.data, given.file, into),
    "broker-metrics": lambda given, into, of: from_broker_metrics(given.data, given.file, into, now=of.taken_at),
    "capacities": lambda given, into, _: from_capacities(given.data, given.file, into),
    "prometheus": lambda given, into, of: from_prometheus(
        given.data, given.file, into, broker_id=given.broker_id, now=of.taken_at
    ),
}
"""By the name of the option of `kedge plan collect`."""


def sources(files: Mapping[str, Iterable[str | Path]]) -> dict[str, Iterator[Source]]:
    """The named files of each kind, one after the other; of prometheus a name may be ID=FILE. Raises BadInput for an
    unknown kind or such a name, OSError if a file cannot be read."""
    if unknown := sorted(files.keys() - KINDS.keys()):
        raise BadInput(f"unknown kinds of files {', '.join(unknown)}; there are {', '.join(KINDS)}")
    return {kind: map(_of_broker if kind == "prometheus" else _source, some) for kind, some in files.items()}


def _source(file: str | Path) -> Source:
    return Source(read_whole(file), str(file))


def _of_broker(named: str | Path) -> Source:
    broker, equals, file = str(named).rpartition("=")
    broker_id = numerals.whole(broker, 0, numerals.INT_MAX)
    if equals and broker_id is None:
        raise BadInput(f"prometheus {str(named)!r:.100}: expected FILE or ID=FILE")
    return Source(read_whole(file), file, broker_id)


def read(given: Mapping[str, Iterable[Source]], into: Gathered, of: Of) -> None:
    """Read all files. Raises BadInput for a file of the wrong kind."""
    for kind, reader in KINDS.items():
        for one in given.get(kind, ()):
            reader(one, into, of)
