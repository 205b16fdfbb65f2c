"""The options of `kedge serve` as values. A ValueError names the option and what is wrong with it, in one line."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

import attrs
import click

from ...model import numerals
from ...model.requests import NewTopic
from ..options import group, option

T = TypeVar("T", bound=Callable[..., Any])
Tls: TypeAlias = tuple[Path, Path, Path | None]
"""Certificate, key, and the authority that signs the certificates of clients."""
BROKERS_MAX: Final = 1000
PARTITIONS_MAX: Final = 1000  # of the topic of groups
_FILE: Final = click.Path(path_type=Path)
_LOGINS: Final = (
    option("--users", type=_FILE, multiple=True, none="no login", help="Users and passwords for SASL; repeatable."),
    option("--acls", type=_FILE, multiple=True, none="every client may do everything", help="Rights; repeatable."),
    option("--tls-certificate", type=_FILE, none="no TLS", help="Certificate, as PEM."),
    option("--tls-key", type=_FILE, none="no TLS", help="Private key of the certificate."),
    option("--tls-clients-ca", type=_FILE, help="Authority that signs the certificates of clients."),
)
_ANONYMOUS: Final = option("--allow-anonymous", is_flag=True, help="Allow other machines to connect without a login.")
_TOPIC: Final = re.compile(r"([a-zA-Z0-9._-]+)(?::([0-9]{1,6}))?(?::([0-9]{1,4}))?")


@attrs.frozen
class Place:
    """Where something listens. `port` 0: any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class CannotServe(Exception):
    """`kedge serve` cannot start; the message is one line that says why."""


@attrs.frozen(kw_only=True)
class Listening:
    """The store of a controller, and where its gateway and its pages listen. `status`, `metrics`: None for no page.
    `kafka_brokers`: whether it controls those."""

    kafka_brokers: ClassVar[bool] = False
    url: str
    node_id: int
    listen: Place
    advertise: str | None
    status: Place | None
    metrics: Place | None
    users: tuple[Path, ...]
    acls: tuple[Path, ...]
    tls: Tls | None
    peers_secret: Path | None
    peers_ca: Path | None
    allow_anonymous: bool


@attrs.frozen(kw_only=True)
class Options(Listening):
    """What `kedge serve` runs. `status_may_be_elsewhere`: any free port will do for the page if that is taken.
    `control`: the file descriptor of a pipe (`controlled`)."""

    broker_listener: str | None
    broker_networks: tuple[str, ...]
    brokers: Mapping[int, str | None]
    topics: Mapping[str, NewTopic]
    seed: int | None
    copy_rate_bytes_s: int | None
    retention_bytes: int
    offsets_partitions: int
    rebalance_delay_ms: int
    creates_topics: bool
    journal: Path | None
    control: int | None
    status_may_be_elsewhere: bool


def access(*more: Callable[[Any], Any]) -> Callable[[T], T]:
    """Adds the options about who may connect, with `more` before the last."""
    return group("Who may connect", *_LOGINS, *more, _ANONYMOUS)


def as_place(option: str, text: str) -> Place:
    """`HOST:PORT`, `[::1]:PORT`, or `:PORT` for the loopback."""
    host, _, given = text.rpartition(":")
    port = numerals.whole(given, 0, 65_535)
    if ":" not in text or port is None:
        raise ValueError(f"{option}: expected HOST:PORT with a port from 0 to 65535, got {text!r:.80}")
    is_in_brackets = host.startswith("[") and host.endswith("]")
    if ":" in host and not is_in_brackets:
        raise ValueError(
            f"{option}: expected brackets around an address with colons, as in [::1]:{port}, got {text!r:.80}"
        )
    return Place((host[1:-1] if is_in_brackets else host) or "127.0.0.1", port)


def as_tls(certificate: Path | None, key: Path | None, clients_ca: Path | None, peers_ca: Path | None) -> Tls | None:
    if (certificate is None) != (key is None) or (key is None and (clients_ca or peers_ca) is not None):
        raise ValueError(
            "--tls-certificate and --tls-key need each other, and --tls-clients-ca and --peers-ca need both"
        )
    return None if certificate is None or key is None else (certificate, key, clients_ca)


def as_host(option: str, text: str) -> str:
    """A name or an address that clients can connect to, also in brackets, without a port."""
    from ...wire.listeners import callable_host  # noqa: PLC0415 - whether there is a codec was asked before

    try:
        return callable_host(text[1:-1] if text.startswith("[") and text.endswith("]") else text)
    except ValueError:
        raise ValueError(f"{option}: expected a host name or address without a port, got {text!r:.80}") from None


def as_network(option: str, text: str) -> None:
    try:
        ipaddress.ip_network(text)
    except ValueError:
        raise ValueError(f"{option}: expected a network like 10.0.0.0/8, got {text!r:.80}") from None


def as_brokers(count: int, racks: str | None) -> dict[int, str | None]:
    """Ids 1 to `count`, each with its rack; racks are given in turn where there are fewer of them."""
    if not 0 <= count <= BROKERS_MAX:
        raise ValueError(f"--broker-count: expected 0 to {BROKERS_MAX}, got {count}")
    names = [] if racks is None else numerals.items(racks)
    if any(not name for name in names):
        raise ValueError(f"--racks: expected names with commas between them, got {racks!r:.80}")
    if len(names) > count:
        raise ValueError(f"--racks: expected at most {count} racks, one per broker, got {len(names)}")
    return {i + 1: names[i % len(names)] if names else None for i in range(count)}


def as_topics(texts: Sequence[str], brokers: int) -> Mapping[str, NewTopic]:
    """`NAME[:PARTITIONS[:REPLICATION_FACTOR]]`: 1 partition, and 3 replicas or as many as there are brokers; 3 where
    there are none here."""
    topics = {}
    for text in texts:
        found = _TOPIC.fullmatch(text)
        if found is None:
            raise ValueError(f"--topic: expected NAME[:PARTITIONS[:REPLICATION_FACTOR]], got {text!r:.80}")
        if found[1] in topics:
            raise ValueError(f"--topic: {found[1]:.80} is given twice")
        partitions, factor = (numerals.whole(part or "") for part in (found[2], found[3]))
        default = min(3, brokers) or 3
        topics[found[1]] = NewTopic(1 if partitions is None else partitions, default if factor is None else factor)
    return topics
