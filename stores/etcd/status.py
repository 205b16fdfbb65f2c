"""The Status that each etcd member reports, by its Maintenance service, over a separate connection."""

from __future__ import annotations

from typing import Any, Final

from ..base import Invalid
from ..probing import ServerState
from .connection import Connection
from .errors import code_and_text
from .rpc import etcdrpc, grpc
from .url import EtcdUrl
from .wait import Deadline

_EACH_S_MAX: Final = 2.0


def states(url: EtcdUrl, deadline: Deadline) -> tuple[ServerState, ...]:
    return tuple(_state(url, endpoint, deadline) for endpoint in url.endpoints)


def _state(url: EtcdUrl, endpoint: tuple[str, int], deadline: Deadline) -> ServerState:
    address = f"{endpoint[0]}:{endpoint[1]}"
    if deadline.over:
        return ServerState(address, problem="not queried: no time was left")
    try:
        status = _status(url, endpoint, Deadline(min(_EACH_S_MAX, deadline.left_s)))
    except (Invalid, grpc.RpcError) as error:
        return ServerState(address, problem=f"does not answer: {code_and_text(error)[0]}")
    return ServerState(address, status.version or None, _role(status), _problem(status))


def _status(url: EtcdUrl, endpoint: tuple[str, int], deadline: Deadline) -> Any:
    link = Connection(url, endpoint, lambda _: None)
    try:
        link.log_in(deadline)
        return link.call(link.maintenance.Status, etcdrpc.StatusRequest(), deadline)
    finally:
        link.close()


def _role(status: Any) -> str:
    return "leader" if status.leader == status.header.member_id else "follower"


def _problem(status: Any) -> str | None:
    if not status.leader:
        return "has no leader"
    return f"reports: {', '.join(status.errors)}"[:300] if status.errors else None
