"""How requests are sent with kafka-python: to a broker, to any broker, or to the controller.

* kafka-python's own methods drop the messages of servers. So requests are its classes (`message` makes them of plain
  values), and answers are returned as they came; `checked` raises what an answer says of the whole request.
* Its errors become Failed or Refused here.
* A request that was not sent is retried until the deadline; one that may have been sent, only if it is repeatable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka import KafkaAdminClient
from kafka import errors as kafka_errors
from kafka.net.compat import KafkaNetClient
from kafka.protocol.admin import DescribeClusterRequest
from kafka.protocol.metadata import MetadataRequest

from ...wire.codec import fields_of
from ...wire.messages import KEDGE
from .errors import UNSUPPORTED, Failed, NotConnected, Refused, said_by

NOT_CONTROLLER: Final = 41
_CLUSTER_AUTHORIZATION_FAILED: Final = 31
_KAFKAS: Final = {
    -1: "The server experienced an unexpected error when processing the request.",
    3: "This server does not host this topic-partition.",
    5: "There is no leader for this topic-partition as we are in the middle of a leadership election.",
    7: "The request timed out.",
    8: "The broker is not available.",
    17: "The request attempted to perform an operation on an invalid topic.",
    29: "Topic authorization failed.",
    _CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    37: "Number of partitions is below 1.",
    38: "Replication factor is below 1 or larger than the number of available brokers.",
    39: "Replica assignment is invalid.",
}
"""What Kafka's tools print where the server gave no message, and kafka-python explains instead."""
_PAUSE_S: Final = 0.1
_NAMED_MAX: Final = 5
_NOT_SENT: Final = (kafka_errors.NodeNotReadyError,)
_LOST: Final = (kafka_errors.KafkaConnectionError, kafka_errors.Cancelled)


class Client(KafkaAdminClient):  # type: ignore[misc] # kafka-python brings no types
    """A connection to a cluster. Not thread-safe."""

    DEFAULT_CONFIG: Final = {**KafkaAdminClient.DEFAULT_CONFIG, "client_software_name": KEDGE}  # or no private keys

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except BaseException:
            self._closed = False
            self.close()  # its thread runs already
            raise
        self._controller: int | None = None

    @property
    def deadline_s(self) -> float:
        return float(self.config["request_timeout_ms"]) / 1000

    def ask(self, request: Any, broker: int | None = None, *, repeatable: bool = True, timeout_s: float = 0) -> Any:
        deadline = time.monotonic() + (timeout_s or self.deadline_s)
        again = (*_NOT_SENT, *_LOST) if repeatable else _NOT_SENT
        while True:
            try:
                return self._manager.run(self._send, request, broker)
            except again as error:
                if time.monotonic() >= deadline:
                    raise NotConnected(self._unreachable(broker, error)) from None
                self._manager.run(self._net.sleep, _PAUSE_S)
            except kafka_errors.KafkaError as error:
                raise _failure(error, request, broker, self.deadline_s) from None

    def ask_controller(
        self,
        request: Any,
        error_of: Callable[[Any], int] = lambda _: 0,
        *,
        repeatable: bool = False,
        timeout_s: float = 0,
    ) -> Any:
        """The answer of the controller; `error_of` an answer is its code, of which 41 means: ask who it is now."""
        deadline = time.monotonic() + (timeout_s or self.deadline_s)
        while True:
            if self._controller is None:
                self._controller = self._find_controller(deadline)
            try:
                answer = self.ask(request, self._controller, repeatable=repeatable, timeout_s=timeout_s)
            except Failed:
                self._controller = None  # it may be another one when the caller tries again
                raise
            if error_of(answer) != NOT_CONTROLLER or time.monotonic() >= deadline:
                return answer
            self._controller = None
            self._manager.run(self._net.sleep, _PAUSE_S)

    def versions(self) -> dict[int, tuple[int, int]]:
        """What the server offers: key of an API -> its lowest and highest version."""
        offered: dict[int, tuple[int, int]] = dict(self._manager.broker_version_data.api_versions)
        return offered

    def _unreachable(self, broker: int | None, error: Any) -> str:
        """Names the addresses that were tried: those that the cluster announces, not those that were given."""
        known = {b.node_id: f"{b.host}:{b.port}" for b in self._manager.cluster.brokers()}
        why = "" if isinstance(error, _NOT_SENT) else f": {said_by(error)}"
        if broker is None:
            said = ", ".join(f"{each} at {known[each]}" for each in sorted(known, key=str)[:_NAMED_MAX])
            more = f" and {len(known) - _NAMED_MAX} more" if len(known) > _NAMED_MAX else ""
            return f"no broker of the cluster can be reached any more: {said or 'none'}{more}{why}"
        return f"broker {broker}{f' at {known[broker]}' if broker in known else ''} cannot be reached{why}"

    async def _send(self, request: Any, broker: int | None) -> Any:
        if broker is not None and self._manager.cluster.broker_metadata(broker) is None:
            await self._manager.cluster.refresh_metadata()  # it may have joined since the last refresh
        return await self._manager.send(request, node_id=broker)

    def _find_controller(self, deadline: float) -> int:
        while True:
            found: int = self.ask(MetadataRequest(topics=[], allow_auto_topic_creation=False)).controller_id
            if found != -1:
                return found
            if time.monotonic() >= deadline:
                raise Failed("the cluster has no controller")
            self._manager.run(self._net.sleep, _PAUSE_S)


def shortcoming(server: str, settings: Mapping[str, Any], timeout_s: float) -> str | None:
    """What a server says is wrong with its cluster, such as that no controller is active; empty: nothing. None: it does
    not let us in, or does not answer in time. A Client asks for the brokers first, and cannot tell none from silence.
    """
    this = {**Client.DEFAULT_CONFIG, **settings, "bootstrap_servers": [server]}
    connection = KafkaNetClient(**this)
    manager, timeout_ms = connection._manager, timeout_s * 1000  # noqa: SLF001 - as in Client
    manager._net.start()  # noqa: SLF001

    async def described() -> Any:
        (node,) = manager.cluster.bootstrap_brokers()[:1]
        found = await manager.get_connection(node.node_id, timeout_ms=timeout_ms)
        return await found.send_request(DescribeClusterRequest(), request_timeout_ms=timeout_ms)

    try:
        answer = manager.run(described)
    except (kafka_errors.KafkaError, OSError, ValueError):
        return None
    finally:
        connection.close()
        manager._net.stop()  # noqa: SLF001
    if answer.error_code:
        return str(refused(answer.error_code, answer.error_message))
    return "" if answer.brokers else "the cluster has no live broker"


def message(kind: Any, **fields: Any) -> Any:
    """A request of kafka-python's. Its structs are dicts."""
    known = fields_of(kind)
    return kind(**{name: _nested(known.get(name), value) for name, value in fields.items()})


def _nested(field: Any, value: Any) -> Any:
    if field is None or value is None:
        return value
    if field.is_struct_array():
        return [message(field.data_class, **each) for each in value]
    return message(field.data_class, **value) if field.is_struct() else value


def checked(answer: Any) -> Any:
    """The same answer, or row of one. Raises Refused if it is an error."""
    if answer.error_code:
        raise refused(answer.error_code, getattr(answer, "error_message", None))
    return answer


def refused(code: int, message: str | None = None) -> Refused:
    """The error for a code in an answer, with the server's message, or Kafka's general one where it gave none."""
    known = kafka_errors.for_code(code)
    if code == _CLUSTER_AUTHORIZATION_FAILED:
        message = None  # in the server's own message Kafka prints its objects
    return Refused(code, message or _KAFKAS.get(code) or known.description or known.__name__)


def _failure(error: Any, request: Any, broker: int | None, deadline_s: float) -> Failed:
    named = getattr(request, "name", type(request).__name__)
    if isinstance(error, kafka_errors.IncompatibleBrokerVersion):
        return Refused(UNSUPPORTED, f"The server does not support {named.removesuffix('Request')}")
    if isinstance(error, (kafka_errors.KafkaTimeoutError, kafka_errors.RequestTimedOutError)):
        return Failed(f"{_at(broker)} did not answer {named} within {deadline_s:g} s")
    if isinstance(error, _LOST):
        return Failed(f"{_at(broker)}: the connection was lost, {named} may have been executed: {said_by(error)}")
    code = getattr(error, "errno", None)
    return refused(code, " ".join(map(str, error.args))) if code else Failed(said_by(error))


def _at(broker: int | None) -> str:
    return "the server" if broker is None else f"broker {broker}"
