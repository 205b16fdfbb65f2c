"""Which cluster is reached over Kafka's protocol, and the connection to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from ...controller.model.extras import missing
from ..errors import BadInput

if TYPE_CHECKING:
    from ...controller.cli.kafka.cluster import Cluster
    from ..collect.gathered import Gathered

_MODULES: Final = ("click", "rich", "kafka", "scramp")


@attrs.frozen
class Brokers:
    """A cluster of Kedge or of Kafka since 2.4. `bootstrap_servers`: HOST:PORT[,...], the brokers to connect to first;
    `config_file`: a properties file with the names of Kafka's clients, for TLS, SASL and timeouts."""

    bootstrap_servers: str
    config_file: Path | None = None


def from_brokers(brokers: Brokers, into: Gathered) -> None:
    """Read brokers, partitions, retention and sizes. They come from several requests, so they are not an atomic
    snapshot. Raises BadInput if the cluster does not answer, and ImportError without the extras `cli` and `wire`."""
    with opened(brokers) as cluster:
        from .reading import from_cluster  # noqa: PLC0415 - the extras are installed

        from_cluster(cluster, brokers.bootstrap_servers, into)


@contextmanager
def opened(brokers: Brokers) -> Iterator[Cluster]:
    """The cluster, connected while the block runs. Raises as `from_brokers`."""
    if lacking := [module for module in _MODULES if find_spec(module) is None]:
        raise ImportError(missing("cli,wire", *lacking))
    from ...controller.cli.kafka import Endpoint, Failed, connected  # noqa: PLC0415 - the extras are installed
    from ...controller.cli.kafka.options import checked_servers  # noqa: PLC0415

    try:
        servers = checked_servers(brokers.bootstrap_servers)
    except ValueError as error:
        raise BadInput(f"bootstrap servers: {error}") from None
    try:
        with connected(Endpoint(servers, brokers.config_file)) as cluster:
            yield cluster
    except Failed as error:
        raise BadInput(str(error)) from None
