"""A round: what goes out to one broker in one go, and what came of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from controller.model.errors import ErrorCode
from controller.model.host import (
    Host,
    HostResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from controller.model.values import Broker, DeleteIntent, TopicPartition
from controller.runtime.inbox import Hint, Inbox, Sent
from stores.base import Changed
from stores.recipes import LEADER_KEY

_log = logging.getLogger(__name__)

_Request: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


@attrs.define(eq=False)
class Round:
    """What goes out to a broker in one go, and what came of it. `error`: why it was not delivered."""

    broker: Broker
    started_ms: int
    full: bool
    numbers: tuple[int, ...]
    metadata_full: bool
    metadata_from: int
    peers: bool
    intents: tuple[DeleteIntent, ...]
    leader_and_isr: LeaderAndIsrRequest | None = None
    update_metadata: UpdateMetadataRequest | None = None
    stop_replica: StopReplicaRequest | None = None
    errors: dict[TopicPartition, ErrorCode] = attrs.field(factory=dict)  # of leader_and_isr
    undeleted: dict[TopicPartition, ErrorCode] = attrs.field(factory=dict)  # of stop_replica
    error: str | None = None


class _StaleControllerError(Exception):
    """A broker answered STALE_CONTROLLER_EPOCH."""


def deliver(host: Host, sending: Round, inbox: Inbox) -> None:
    """The three calls of a round, in their order. Never raises: what the host raises is a round that did not arrive."""
    try:
        if sending.leader_and_isr is not None:
            sending.errors = _checked(sending.leader_and_isr, host.leader_and_isr(sending.leader_and_isr))
        if sending.update_metadata is not None:
            _checked(sending.update_metadata, host.update_metadata(sending.update_metadata))
        if sending.stop_replica is not None:
            sending.undeleted = _checked(sending.stop_replica, host.stop_replica(sending.stop_replica))
    except _StaleControllerError as error:
        sending.error = str(error)
        inbox.put(Hint(Changed(LEADER_KEY)))  # look whether we still lead: the store decides, not the broker
    except Exception as error:  # noqa: BLE001 - whatever a host raises must not hurt anybody else
        sending.error = _words(error)
        _log.debug("broker %d: a round was not delivered", sending.broker.broker_id, exc_info=True)
    except BaseException as error:
        sending.error = _words(error)  # an interrupt goes on, but the round has come to its end
        raise
    finally:
        inbox.put(Sent(sending.broker.broker_id, sending))


def _words(error: BaseException) -> str:
    """What a host raised, as a text; also of an exception that cannot say what it is."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - as above; a round that failed must not look like one that arrived
        return name


def _checked(request: _Request, response: HostResponse) -> dict[TopicPartition, ErrorCode]:
    """The partitions that did not go well; raises for a request that did not as a whole, and for an answer to something
    that was not asked."""
    if not isinstance(response, HostResponse):
        raise TypeError(f"a host answers with a HostResponse, not with {response!r:.200}")
    if response.error == ErrorCode.STALE_CONTROLLER_EPOCH:
        raise _StaleControllerError("the broker knows a later controller")
    if response.error != ErrorCode.NONE:  # by value: a host may hand on the number that came over a wire
        raise RuntimeError(f"the broker answers {response.error!r}")
    errors = dict(response.errors.items())  # once: it is the host's, who may go on writing to it
    if not errors:
        return errors
    _require_answers(request, errors)
    return {tp: code for tp, code in errors.items() if code != ErrorCode.NONE}


def _require_answers(request: _Request, errors: Mapping[Any, object]) -> None:
    """Each is a code for a partition of the request. TypeError, ValueError."""
    asked = {(p.topic, p.partition) for p in request.partitions}
    for tp, code in errors.items():
        if not isinstance(tp, TopicPartition):
            raise TypeError(f"the errors of a HostResponse stand under TopicPartitions, not under {tp!r:.200}")
        if (tp.topic, tp.partition) not in asked:
            raise ValueError(f"the broker answers for {tp}, which it was not asked for")
        if not isinstance(code, int) or isinstance(code, bool):
            raise TypeError(f"the error of {tp} is an ErrorCode or an int, not {code!r:.200}")
