"""`connected(endpoint)`: a Cluster for the time of a block, or an error of one line that says why there is none."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ..extras import need
from .errors import NotConnected, said_by
from .options import Endpoint
from .probing import await_server, misfit
from .properties import read_properties, settings

if TYPE_CHECKING:  # at run time kafka-python is loaded only by who connects
    from .client import Client
    from .cluster import Cluster

_FIRST_TRY_MS: Final = 1_500
_ANSWER_S: Final = 2.0
_CLOSED: Final = 3  # times; kafka-python may miss the refusal that a server sends before it closes a connection

_CLOSED_IN_LOGIN: Final = "the connection was closed while it authenticated by"


@contextmanager
def connected(endpoint: Endpoint) -> Iterator[Cluster]:
    """The cluster, for as long as the block runs. Raises Failed: NotConnected, or what is wrong with the file."""
    given = settings({} if endpoint.config_file is None else read_properties(endpoint.config_file))
    need("wire")
    with _listening() as heard:
        client = _connect(endpoint.servers, given, heard)
        from .cluster import Cluster  # noqa: PLC0415 - as above

        try:
            yield Cluster(client)
        except NotConnected:
            if reason := _shortcoming(endpoint.servers, given):
                raise NotConnected(f"{endpoint.servers}: {reason}") from None
            raise
        finally:
            client.close()


def _connect(servers: str, given: dict[str, Any], heard: _Heard) -> Client:
    """kafka-python alone retries until its timeout, also after a wrong password, and does not say why."""
    from kafka.errors import KafkaError  # noqa: PLC0415 - as above

    from .client import Client  # noqa: PLC0415 - as above

    deadline, try_ms = time.monotonic() + given["bootstrap_timeout_ms"] / 1000, _FIRST_TRY_MS
    await_server(servers.split(","), given.get("ssl_context"), deadline)
    while True:
        left_ms = max(1, round((deadline - time.monotonic()) * 1000))
        this = {"bootstrap_servers": servers.split(","), "bootstrap_timeout_ms": min(try_ms, left_ms)}
        try:
            return Client(**{**given, **this})
        except (KafkaError, OSError, ValueError) as error:
            reason = heard.last or said_by(error)
            if not heard.is_refused and (hint := _hint(servers, given)):
                raise NotConnected(f"{servers}: {reason.removesuffix('.')}; {hint}") from None
            if heard.is_final:
                raise NotConnected(f"{servers}: {reason}") from None
            if left_ms <= try_ms:
                raise NotConnected(f"{servers}: {_why(servers, given, heard) or reason}") from None
            if _has_closed(given, heard) and _shortcoming(servers, given) is None:
                raise NotConnected(f"{servers}: {_CLOSED_IN_LOGIN} {given['sasl_mechanism']}") from None
            try_ms *= 2


def _why(servers: str, given: dict[str, Any], heard: _Heard) -> str | None:
    """Why there is no connection when the time is over; None where the last error says it."""
    was_silent = not heard.last and heard.is_silent  # before the next question, whose end is heard, too
    if reason := _shortcoming(servers, given):
        return reason
    if was_silent:
        patience_s = given["bootstrap_timeout_ms"] / 1000
        return f"the server accepts connections, but did not answer within {patience_s:g} s"
    return f"{_CLOSED_IN_LOGIN} {given['sasl_mechanism']}" if reason is None and _has_closed(given, heard) else None


def _has_closed(given: dict[str, Any], heard: _Heard) -> bool:
    """Whether servers have closed connections with a login, before or after it was complete."""
    return heard.closed >= _CLOSED and "sasl_mechanism" in given


def _shortcoming(servers: str, given: dict[str, Any]) -> str | None:
    """What the first server that lets us in says is wrong with its cluster (`shortcoming`)."""
    from .client import shortcoming  # noqa: PLC0415 - as above

    found = (shortcoming(server, given, _ANSWER_S) for server in servers.split(","))
    return next((reason for reason in found if reason is not None), None)


def _hint(servers: str, given: dict[str, Any]) -> str:
    """What the first server that a probe gets an answer from requires; servers close such connections in silence."""
    speaks = given.get("ssl_context"), given.get("sasl_mechanism")
    return next((found for server in servers.split(",") if (found := misfit(server, *speaks))), "")


class _Heard(logging.Handler):
    """Keeps the last reason for a failed connection from the log of kafka-python, whose errors do not contain it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""
        self.is_final = self.is_refused = self.is_silent = False
        self.closed = 0

    def emit(self, record: logging.LogRecord) -> None:
        from kafka import errors  # noqa: PLC0415 - it wrote this

        given = record.args if isinstance(record.args, tuple) else ()
        of_time = (errors.KafkaTimeoutError, errors.RequestTimedOutError)  # these say how long it took, and not why
        for error in given:
            if not isinstance(error, Exception):
                continue
            if isinstance(error, of_time) or isinstance(error.__context__, of_time):  # a connection's is wrapped
                self.is_silent = True
            elif not self.is_final:
                self.last = said_by(error)
                self.is_refused = isinstance(error, errors.SaslAuthenticationFailedError)
                self.is_final = self.is_refused or isinstance(error, errors.UnsupportedSaslMechanismError)
                self.closed += isinstance(error, errors.KafkaConnectionError)


@contextmanager
def _listening() -> Iterator[_Heard]:
    """The log of kafka-python goes to the handler, and not to the terminal."""
    heard, log = _Heard(), logging.getLogger("kafka")
    before = log.propagate
    log.addHandler(heard)
    log.propagate = False
    try:
        yield heard
    finally:
        log.propagate = before
        log.removeHandler(heard)
