"""One connection: an etcd3 client on one endpoint, logged in, and a Watch stream that tells of its end.

Rules
* A connection that broke is never mended. It is closed, which ends every call on it, and another one is made: gRPC's
  own way back has a memory of failures, shared between channels, that an election cannot wait for.
* No retry below us: with gRPC's retries on, a commit could be sent twice.
* Every call has a deadline. Only a call that the server refused for an old token is sent again, after a new login;
  it was refused before anything was done.
* Passwords and tokens are in no message.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from stores.base import Invalid
from stores.etcd.errors import STALE_TOKEN, says
from stores.etcd.rpc import etcd3, etcdrpc, grpc
from stores.etcd.url import EtcdUrl
from stores.etcd.wait import Deadline

_IN_FLIGHT: Final = 4  # requests of one bulk read at once: a fifth finds the server, or Python, busy
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),  # a range over a cluster's keys is far above gRPC's 4 MB
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a TCP connection of its own
    ("grpc.enable_http_proxy", 0),  # a metadata store is not behind a web proxy, whatever the environment says
)
# The member has to say so when it loses its cluster, instead of falling silent.
_STREAM: Final = (("hasleader", "true"),)


class Connection:
    """A channel to `endpoint`. `failed` is called once, from any thread, when the Watch stream ends."""

    def __init__(self, url: EtcdUrl, endpoint: tuple[str, int], failed: Callable[[Connection], None]) -> None:
        self.endpoint: Final = endpoint
        self._url = url
        self._failed = failed
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._reader: threading.Thread | None = None
        self._token: tuple[tuple[str, str], ...] = ()
        try:
            self._client = etcd3.client(
                *endpoint,
                ca_cert=url.tls_ca,
                cert_cert=url.tls_cert,
                cert_key=url.tls_key,
                grpc_options=_OPTIONS,
            )
        except OSError as error:
            raise Invalid(f"etcd: a file for TLS cannot be read: {error}") from error
        channel = self._client.channel
        self.kv: Final[Any] = etcdrpc.KVStub(channel)
        self.lease: Final[Any] = etcdrpc.LeaseStub(channel)
        self.maintenance: Final[Any] = etcdrpc.MaintenanceStub(channel)
        self._auth: Final[Any] = etcdrpc.AuthStub(channel)
        self._watch: Final[Any] = etcdrpc.WatchStub(channel)

    # Calls

    def log_in(self, deadline: Deadline) -> None:
        """Get a token, if there is a user. Raises what gRPC raises."""
        if self._url.user is None:
            return
        request = etcdrpc.AuthenticateRequest(name=self._url.user, password=self._url.password)
        self._token = (("token", self._auth.Authenticate(request, deadline.left_s).token),)

    def call(self, method: Any, request: Any, deadline: Deadline) -> Any:
        """The answer to `request`. Raises what gRPC raises, within the deadline."""
        try:
            return method(request, deadline.left_s, metadata=self._token)
        except grpc.RpcError as error:
            if self._url.user is None or not says(error, *STALE_TOKEN):
                raise
        self.log_in(deadline)
        return method(request, deadline.left_s, metadata=self._token)

    def call_all(self, method: Any, requests: Sequence[Any], deadline: Deadline) -> Iterator[Any]:
        """The answers to `requests`, in their order, a few requests at once."""
        under_way: list[Any] = []
        try:
            for number in range(len(requests)):
                while len(under_way) < _IN_FLIGHT and number + len(under_way) < len(requests):
                    following = requests[number + len(under_way)]
                    under_way.append(method.future(following, deadline.left_s, metadata=self._token))
                yield self._answer(under_way.pop(0), method, requests[number], deadline)
        finally:
            for future in under_way:
                future.cancel()

    def _answer(self, future: Any, method: Any, request: Any, deadline: Deadline) -> Any:
        try:
            return future.result()
        except grpc.RpcError as error:
            if self._url.user is None or not says(error, *STALE_TOKEN):
                raise
        return self.call(method, request, deadline)

    def beat(self, lease_id: int, timeout_s: float) -> int:
        """Keep the lease alive; the seconds that it has now, 0 if it is gone. Raises what gRPC raises."""
        request = etcdrpc.LeaseKeepAliveRequest(ID=lease_id)
        answers = self.lease.LeaseKeepAlive(iter((request,)), timeout_s, metadata=self._token + _STREAM)
        return max((int(answer.TTL) for answer in answers), default=0)

    # The Watch stream

    def listen(self, take: Callable[[Any], None]) -> None:
        """Open the Watch stream; its answers go to `take`, in a thread of this connection."""
        answers = self._watch.Watch(iter(self._requests.get, None), metadata=self._token + _STREAM)
        self._reader = threading.Thread(target=self._read, args=(answers, take), name="kedge-etcd-watch", daemon=True)
        self._reader.start()

    def ask(self, request: Any) -> None:
        """Send a WatchRequest. Never waits."""
        self._requests.put(request)

    def _read(self, answers: Any, take: Callable[[Any], None]) -> None:
        try:
            with suppress(grpc.RpcError):
                for answer in answers:
                    take(answer)
        finally:
            self._failed(self)

    def close(self) -> None:
        """End every call on it. Idempotent, never waits."""
        self._requests.put(None)  # else the thread of gRPC that takes requests from there would wait for ever
        self._client.close()

    def join(self, timeout_s: float) -> None:
        """Wait for the reading thread to end, after `close`."""
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(timeout_s)
