"""`connected(endpoint)`: a Cluster for the time of a block, or an error of one line that says why there is none."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, Final

from ...model import numerals
from ..extras import need
from .errors import NotConnected
from .options import Endpoint
from .properties import read_properties, settings

if TYPE_CHECKING:  # at run time the protocol is loaded only by who connects
    from ...wire.calls import Address
    from ...wire.link import NotDelivered
    from .client import Client
    from .cluster import Cluster

_PAUSE_S: Final = 0.1


@contextmanager
def connected(endpoint: Endpoint) -> Iterator[Cluster]:
    """The cluster, for as long as the block runs. Raises Failed: NotConnected, or what is wrong with the file."""
    given = settings({} if endpoint.config_file is None else read_properties(endpoint.config_file))
    need("wire")
    from ...wire.calls import Address  # noqa: PLC0415 - as above
    from .client import Client  # noqa: PLC0415 - as above
    from .cluster import Cluster  # noqa: PLC0415 - as above

    servers = tuple(Address(*_host_and_port(server)) for server in endpoint.servers.split(","))
    with closing(Client(servers, given)) as client:
        _enter(client, servers, given)
        yield Cluster(client)


def _enter(client: Client, servers: tuple[Address, ...], given: dict[str, Any]) -> None:
    """Tries the servers until one of them answers for a cluster that has a controller and brokers."""
    from ...wire.link import NotDelivered, TimedOut  # noqa: PLC0415 - as above
    from .client import share_s  # noqa: PLC0415 - as above

    patience_s = given["bootstrap_timeout_ms"] / 1000
    deadline = time.monotonic() + patience_s
    silent = f"the server accepts connections, but did not answer within {patience_s:g} s"
    problems: dict[Address, str] = {}
    while True:
        for at, server in enumerate(servers):
            try:
                problem = client.enter(server, share_s(deadline, len(servers) - at))
            except TimedOut:
                problem = problems.get(server, silent)  # the last attempts have little time
            except NotDelivered as error:
                problem = _why(server, error, given)
            if not problem:
                return
            problems[server] = problem
        if time.monotonic() >= deadline:
            raise NotConnected("; ".join(f"{_name(server)}: {problem}" for server, problem in problems.items()))
        time.sleep(_PAUSE_S)


def _why(server: Address, error: NotDelivered, given: dict[str, Any]) -> str:
    """The reason in plain words. Raises NotConnected where it stays."""
    from ...wire.security.client import NotLetIn  # noqa: PLC0415 - as above
    from .probing import misfit, of_certificate  # noqa: PLC0415 - as above

    name, cause = _name(server), error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        raise NotConnected(f"{name}: the certificate of the server is not trusted: {cause.verify_message}") from None
    if isinstance(cause, ssl.SSLError):
        raise NotConnected(f"{name}: {of_certificate(cause) or f'TLS failed: {cause.reason or cause}'}") from None
    said = str(error).removeprefix(name).strip()
    if isinstance(cause, OSError) and said.startswith("cannot be reached"):
        return cause.strerror or said
    hint = misfit(server, given.get("ssl_context"), given.get("sasl_mechanism"))
    if hint or isinstance(cause, NotLetIn):
        raise NotConnected(f"{name}: the server {said}{f'; {hint}' if hint else ''}") from None
    return f"the server {said}"


def _name(server: Address) -> str:
    return f"{server.host}:{server.port}"


def _host_and_port(server: str) -> tuple[str, int]:
    host, _, given = server.rpartition(":")
    port = numerals.whole(given, 1, 65_535)
    assert port is not None  # checked with the option
    return host.strip("[]"), port
