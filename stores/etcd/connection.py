"""One connection: an etcd3 client on one endpoint, logged in, with a Watch stream that reports its end.

Rules
* A broken connection is not repaired. It is closed, which ends all its calls, and a new one is made: gRPC's own
  reconnecting remembers failures and shares them between channels, which takes too long for an election.
* gRPC's retries are off: they could send a commit twice.
* Every call has a deadline. Only a call that the server refused for an old token, before doing anything, is sent again
  after a new login.
* Ctrl-C inside of gRPC may leave the lock of its channel taken for good, for all threads but the interrupted one. So
  the connection is given up, and a thread closes it, which is not waited for if it does not end.
* No message contains a password or token.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from ..base import Invalid
from ..reading import require_private
from .errors import STALE_TOKEN, says
from .rpc import etcd3, etcdrpc, grpc
from .url import EtcdUrl
from .wait import Deadline

_CLOSE_S: Final = 2.0
_IN_FLIGHT: Final = 4  # concurrent requests of one bulk read; with a fifth, the server or Python is the bottleneck
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),  # a range over a cluster's keys exceeds gRPC's 4 MB
    ("grpc.max_send_message_length", -1),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),  # a TCP connection of its own
    ("grpc.enable_http_proxy", 0),  # never use the web proxy of the environment for a metadata store
)
# A member that loses its cluster then ends the stream instead of falling silent.
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
        self.is_interrupted = False
        try:
            if url.tls_key is not None:
                require_private(url.tls_key)
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
        """Get a token, if there is a user. Raises gRPC's errors."""
        if self._url.user is None:
            return
        request = etcdrpc.AuthenticateRequest(name=self._url.user, password=self._url.password)
        self._token = (("token", self._auth.Authenticate(request, deadline.left_s).token),)

    def call(self, method: Any, request: Any, deadline: Deadline) -> Any:
        """The answer to `request`. Raises gRPC's errors, within the deadline."""
        try:
            return method(request, deadline.left_s, metadata=self._token)
        except grpc.RpcError as error:
            if self._url.user is None or not says(error, *STALE_TOKEN):
                raise
        self.log_in(deadline)
        return method(request, deadline.left_s, metadata=self._token)

    def call_all(self, method: Any, requests: Sequence[Any], deadline: Deadline) -> Iterator[Any]:
        """The answers to `requests`, in their order; a few requests run concurrently."""
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
        """Keep the lease alive. Returns its remaining seconds, 0 if it is gone. Raises gRPC's errors."""
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

    def give_up(self) -> None:
        """A call was interrupted in the calling thread: fail."""
        self.is_interrupted = True
        self._failed(self)

    def close(self) -> None:
        """End all calls on this connection. Idempotent. Never waits, but after an interrupt up to _CLOSE_S."""
        self._requests.put(None)  # ends gRPC's thread that takes requests from this queue
        if not self.is_interrupted:
            self._client.close()
            return
        closing = threading.Thread(target=self._client.close, name="kedge-etcd-close", daemon=True)
        closing.start()
        closing.join(_CLOSE_S)

    def join(self, timeout_s: float) -> None:
        """Wait for the reading thread to end, after `close`."""
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(timeout_s)
