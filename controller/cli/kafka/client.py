"""How requests are sent: to a broker, to any broker, or to the controller.

A request that was not sent is retried until the deadline; one that may have been sent, only if it is repeatable.
Connections stay open; one that a broker closed, or whose login ends, is replaced before the next request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from kafka import errors as kafka_errors

from ...wire.calls import Address
from ...wire.link import Link, NotDelivered, NotOffered, TimedOut
from ...wire.messages import KEDGE, MESSAGES, messages_of
from ...wire.security.client import Credentials
from .errors import UNSUPPORTED, Failed, NotConnected, Refused
from .values import DEFAULT_TIMEOUT_MS

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


class Client:
    """Connections to a cluster. `servers`: the addresses that are asked first. `given`: the settings of connections, as
    `properties.settings` returns them. Not thread-safe."""

    def __init__(self, servers: tuple[Address, ...], given: Mapping[str, Any]) -> None:
        self.deadline_s: float = given["request_timeout_ms"] / 1000
        self._tls = given.get("ssl_context")
        self._login: Credentials | None = None
        if "sasl_mechanism" in given:
            user, password = given["sasl_plain_username"], given["sasl_plain_password"]
            self._login = Credentials(user, password, given["sasl_mechanism"])
        self._id = given["client_id"]
        self._servers = servers
        self._links: dict[int | None, Link] = {}  # None: to the server that answers for the cluster
        self._nodes: dict[int, Address] = {}
        self._controller: int | None = None
        self.offered: Mapping[int, range] = {}
        """The versions of each API, by its key, of the server that was entered."""

    def close(self) -> None:
        for broker in list(self._links):
            self._drop(broker)

    def enter(self, server: Address, timeout_s: float) -> str:
        """From now on this server answers for the cluster. Returns what it says is wrong with the cluster, such as that
        no controller is active; empty: nothing. Raises NotDelivered."""
        self._drop(None)
        link = self._links[None] = self._linked(server, timeout_s)
        self.offered = link.speaks
        try:
            nodes = self.nodes(lambda api, **fields: _asked(link, api, **fields))[1]
        except Refused as error:
            return str(error)
        finally:
            link.timeout_s = self.deadline_s
        return "" if nodes else "the cluster has no live broker"

    def ask(
        self,
        api: str,
        broker: int | None = None,
        *,
        repeatable: bool = True,
        timeout_s: float = 0,
        lowest: int = 0,
        **fields: Any,
    ) -> Any:
        """The answer to a request of version `lowest` or a higher one; fields that the version lacks are left out."""
        deadline = time.monotonic() + (timeout_s or self.deadline_s)
        at = "the server" if broker is None else f"broker {broker}"
        while True:
            try:
                link = self._link(broker, deadline)
            except NotDelivered as error:
                problem = str(error)
            else:
                try:
                    return _asked(link, api, lowest, **fields)
                except TimedOut:
                    self._drop(broker)
                    raise Failed(f"{at} did not answer {api} within {self.deadline_s:g} s") from None
                except NotDelivered as error:
                    self._drop(broker)
                    if not repeatable:
                        lost = f"the connection was lost, {api} may have been executed"
                        raise Failed(f"{at}: {lost}: {error}") from None
                    problem = f"{at}: {error}"
            if time.monotonic() >= deadline:
                raise NotConnected(problem)
            time.sleep(_PAUSE_S)

    def ask_controller(
        self,
        api: str,
        error_of: Callable[[Any], int] = lambda answer: int(answer.error_code),
        *,
        repeatable: bool = False,
        timeout_ms: int | None = None,
        **fields: Any,
    ) -> Any:
        """The answer of the controller; `error_of` an answer is its code, of which 41 means: ask who it is now."""
        timeout_s = self.deadline_s if timeout_ms is None else timeout_ms / 1000
        fields["timeout_ms"] = timeout_ms or DEFAULT_TIMEOUT_MS
        deadline = time.monotonic() + timeout_s
        while True:
            if self._controller is None:
                self._controller = self._find_controller(deadline)
            try:
                answer = self.ask(api, self._controller, repeatable=repeatable, timeout_s=timeout_s, **fields)
            except Failed:
                self._controller = None  # it may be another one when the caller tries again
                raise
            if error_of(answer) != NOT_CONTROLLER or time.monotonic() >= deadline:
                return answer
            self._controller = None
            time.sleep(_PAUSE_S)

    def nodes(self, ask: Callable[..., Any] | None = None) -> tuple[int, dict[int, Any]]:
        """The controller's id, -1: none; and the nodes of the cluster by id."""
        ask = ask or self.ask
        try:
            answer = checked(ask("DescribeCluster"))
            found = {each.broker_id: each for each in answer.brokers}
        except Refused as error:
            if error.code != UNSUPPORTED:
                raise
            answer = ask("Metadata", topics=[], allow_auto_topic_creation=False)
            found = {each.node_id: each for each in answer.brokers}
        self._nodes = {node: Address(each.host, each.port) for node, each in found.items()}
        return answer.controller_id, found

    def _find_controller(self, deadline: float) -> int:
        while True:
            found: int = self.ask("Metadata", topics=[], allow_auto_topic_creation=False).controller_id
            if found != -1:
                return found
            if time.monotonic() >= deadline:
                raise Failed("the cluster has no controller")
            time.sleep(_PAUSE_S)

    def _link(self, broker: int | None, deadline: float) -> Link:
        """Raises NotDelivered, which names the addresses that were tried: nothing was sent."""
        link = self._links.get(broker)
        if link is not None and link.is_open:
            return link
        self._drop(broker)
        if broker is not None and broker not in self._nodes:
            self._refresh(deadline)  # it may have joined since
        tried = [("the server", server) for server in self._servers] if broker is None else []
        tried += [(f"broker {n} at", address) for n, address in self._nodes.items() if broker in (None, n)]
        problems = [] if tried else [f"broker {broker} cannot be reached"]
        for at, (name, address) in enumerate(tried):
            try:
                link = self._linked(address, share_s(deadline, len(tried) - at))
            except NotDelivered as error:
                problems.append(f"{name} {error}")
                continue
            link.timeout_s = self.deadline_s
            self._links[broker] = link
            return link
        if broker is not None:
            self._refresh(deadline)  # it may be elsewhere
        raise NotDelivered("; ".join(problems))

    def _refresh(self, deadline: float) -> None:
        with suppress(Refused):  # such as that no controller is active for the moment
            self.nodes(partial(self.ask, timeout_s=share_s(deadline, 1)))

    def _linked(self, address: Address, timeout_s: float) -> Link:
        return Link(address, timeout_s, self._tls, self._login, None, client_id=self._id, software=KEDGE)

    def _drop(self, broker: int | None) -> None:
        if (link := self._links.pop(broker, None)) is not None:
            link.close()


def share_s(deadline: float, of: int) -> float:
    """The time of the next of so many attempts until a deadline, if each may take as long as the others."""
    return max(_PAUSE_S, deadline - time.monotonic()) / of


def _asked(link: Link, api: str, lowest: int = 0, **fields: Any) -> Any:
    """Raises NotDelivered, or Refused where the server does not support the API."""
    kind = MESSAGES[f"{api}Request"]
    messages = messages_of(api, range(max(lowest, kind.min_version), kind.max_version + 1))
    try:
        return link.ask(messages, link.version_of(messages), fields)
    except NotOffered:
        raise Refused(UNSUPPORTED, f"The server does not support {api}") from None


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
