"""A snapshot of a cluster as tables, from its brokers, its store or files, without a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..brokers.endpoint import Brokers, from_brokers
from ..collect.gathered import Gathered
from ..collect.sources import Of, read, sources
from ..collect.store import from_url
from ..errors import BadInput
from ..tables.arrow import Arrow, from_rows
from ..tables.declared import SNAPSHOT_TIME

_WHOLE: Final = ("tree", "map")
"""Kinds of files that say where the replicas are."""


def collect(
    *,
    bootstrap_servers: str | None = None,
    config_file: str | Path | None = None,
    store: str | None = None,
    files: Mapping[str, Sequence[str | Path]] | None = None,
    broker_list_cluster: str = "",
) -> dict[str, Arrow]:
    """The tables of a snapshot, as `kedge plan collect` reads them: `broker`, `partition`, `replica_log`, `log_dir`,
    `broker_default`, samples, `rejected_rows` with what cannot be used, and `snapshot_time`, which is now.

    Exactly one source says where the replicas are: `bootstrap_servers` (HOST:PORT[,...], with the properties of
    `config_file` for TLS and SASL), the URL of a `store`, or `files` with a tree or a map. More `files` by their kind,
    the name of the command's option, add sizes, racks and capacities: `{"log-dirs": ["log-dirs.txt"]}`.
    `broker_list_cluster`: the name of the cluster in a broker-list of several.

    Raises BadInput if a source cannot be used or does not answer, OSError if a file cannot be read, and ImportError
    for brokers without the extras `cli` and `wire`.
    """
    for name, value in (("bootstrap_servers", bootstrap_servers), ("store", store)):
        if not isinstance(value, str | None):
            raise BadInput(f"{name}: expected a text, got {value!r:.80}")
    given = dict(files or {})
    if sum(one is not None for one in (bootstrap_servers, store, *map(given.get, _WHOLE))) != 1:
        raise BadInput("expected exactly one of bootstrap_servers, store, and files of the kind tree or map")
    if config_file is not None and bootstrap_servers is None:
        raise BadInput("config_file needs bootstrap_servers")
    now, into = datetime.now(UTC), Gathered()
    if store is not None:
        from_url(store, into)
    if bootstrap_servers is not None:
        from_brokers(Brokers(bootstrap_servers, None if config_file is None else Path(config_file)), into)
    read(sources(given), into, Of(now, broker_list_cluster))
    return {**into.tables(), SNAPSHOT_TIME.name: from_rows(SNAPSHOT_TIME, [(now,)])}
