"""One connection to a broker.

A request is sent and answered within the given time, or NotDelivered is raised; after that the connection is unusable.
The broker's versions are requested with each connection, by version 0 of ApiVersions, which every broker answers; and
again after a login, since some APIs are listed only then. Who gives the name of its software asks in version 3, which
has a field for it, and in version 0 where a broker is too old for that.
"""

from __future__ import annotations

import itertools
import math
import select
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from .calls import Address
from .errors import Refused
from .messages import messages_of
from .protocol import SIZE, Header, Messages, read_answer, write_before, write_request
from .security.client import Credentials, NotLetIn, logging_in
from .security.reachable import Network, connected

CLIENT_ID: Final = "kedge"
ANSWER_BYTES_MAX: Final = 100 * 1024 * 1024
_ASKED_FIRST: Final = messages_of("ApiVersions", range(4))
_OF_SESSION: Final = 0.8  # of the time for which a login is good


class NotDelivered(ConnectionError):
    """The broker was not reached, did not answer in time, or sent an invalid answer. The request may have been carried
    out."""


class TimedOut(NotDelivered):
    """The broker did not answer in time."""


class NotOffered(NotDelivered):
    """Both sides have no version of the request in common. It was not sent."""


class Link:
    """A connection to a broker at `address`, by TLS where there is a context, and logged in where there are
    credentials. `within`: the networks that the address has to be in (`security.reachable`); None: any address, also
    one that no broker registers. `software`: its name for the broker. Raises NotDelivered where that fails or takes
    longer than `timeout_s`, which is also the time limit of each request. For one thread at a time."""

    def __init__(
        self,
        address: Address,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
        login: Credentials | None = None,
        within: Sequence[Network] | None = (),
        *,
        client_id: str = CLIENT_ID,
        software: str = "",
    ) -> None:
        self._name = f"{address.host}:{address.port}"
        self.timeout_s = timeout_s
        self._client_id, self._software = client_id, software
        self._correlation_ids = itertools.count(1)
        self._ends = math.inf
        try:
            self._socket = _connected(address, timeout_s, tls, within)
        except (OSError, UnicodeError) as error:
            raise NotDelivered(f"{self._name} cannot be reached: {error}") from error
        try:
            self.speaks = self._asked_versions()
            if login is not None:
                self._log_in(login)
                self.speaks = self._asked_versions()
        except NotDelivered:
            self.close()
            raise

    @property
    def is_open(self) -> bool:
        """Whether the broker has not closed the connection so far, and the login is good for some time."""
        return time.monotonic() < self._ends and not select.select([self._socket], [], [], 0)[0]

    def close(self) -> None:
        self._socket.close()

    def _asked_versions(self) -> dict[int, range]:
        named = {"client_software_name": self._software, "client_software_version": "1"}
        answer = self.ask(_ASKED_FIRST, _ASKED_FIRST.versions[-1] if self._software else 0, named)
        if answer.error_code and self._software:
            answer = self.ask(_ASKED_FIRST, 0, {})
        return {row.api_key: range(row.min_version, row.max_version + 1) for row in answer.api_keys}

    def version_of(self, api: Messages) -> int:
        """The highest version that both sides support. Raises NotOffered where there is none."""
        speaks = self.speaks.get(api.api_key, range(0))
        both = range(max(api.versions.start, speaks.start), min(api.versions.stop, speaks.stop))
        if not both:
            raise NotOffered(
                f"{self._name} supports {api.name} {_versions(speaks)}, this host {_versions(api.versions)}"
            )
        return both[-1]

    def ask(
        self, api: Messages, version: int, fields: Mapping[str, Any], behind: tuple[str, bytes] | None = None
    ) -> Any:
        """The answer to a request with these fields (as in `protocol.build`). `behind`: a field, and the bytes of all
        that comes after it."""
        header = Header(api.api_key, version, next(self._correlation_ids) % 2**31, self._client_id)
        frame = write_request(api, header, fields) if behind is None else write_before(api, header, fields, *behind)
        self._until = time.monotonic() + self.timeout_s
        try:
            self._socket.settimeout(self.timeout_s)
            self._socket.sendall(frame)
            return read_answer(api, header, self._frame())
        except NotDelivered:
            raise
        except (OSError, Refused) as error:
            kind = TimedOut if isinstance(error, TimeoutError) else NotDelivered
            raise kind(f"{self._name} did not answer {api.name}: {error}") from error

    def _log_in(self, login: Credentials) -> None:
        steps, answer = logging_in(login), cast("Any", None)
        try:
            while True:
                api, fields = steps.send(answer)
                answer = self.ask(api, self.version_of(api), fields)
        except StopIteration:
            if lifetime_ms := answer.session_lifetime_ms:
                self._ends = time.monotonic() + lifetime_ms / 1000 * _OF_SESSION
        except NotLetIn as error:
            raise NotDelivered(f"{self._name} refuses the login as {login.name!r:.80}: {error}") from error

    def _frame(self) -> bytes:
        size = SIZE.unpack(self._read(SIZE.size))[0]
        if not 0 <= size <= ANSWER_BYTES_MAX:
            raise NotDelivered(f"{self._name} announces {size} bytes, at most {ANSWER_BYTES_MAX} are accepted")
        return self._read(size)

    def _read(self, size: int) -> bytes:
        read = bytearray()
        while len(read) < size:
            left_s = self._until - time.monotonic()
            if left_s <= 0:
                raise TimedOut(f"{self._name} did not answer within {self.timeout_s} s")
            self._socket.settimeout(left_s)
            more = self._socket.recv(min(size - len(read), 1 << 20))
            if not more:
                raise NotDelivered(f"{self._name} closed the connection before it answered")
            read += more
        return bytes(read)


def _connected(
    address: Address, timeout_s: float, tls: ssl.SSLContext | None, within: Sequence[Network] | None
) -> socket.socket:
    """A connected socket. Raises OSError, which includes ssl.SSLError."""
    if within is None:
        plain = socket.create_connection((address.host, address.port), timeout_s)
    else:
        plain = connected(address.host, address.port, timeout_s, within)
    if tls is None:
        return plain
    try:
        return tls.wrap_socket(plain, server_hostname=address.host)
    except BaseException:
        plain.close()
        raise


def _versions(versions: range) -> str:
    return f"{versions.start} to {versions[-1]}" if versions else "in no version"
