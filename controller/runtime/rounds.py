"""A round: the requests that one broker gets together, and their results."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import attrs

from ...stores.base import Changed
from ...stores.recipes import LEADER_KEY
from ..model.errors import ErrorCode
from ..model.host import (
    Host,
    HostResponse,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from ..model.printable import clean
from ..model.values import Broker, DeleteIntent, TopicPartition
from .inbox import Hint, Inbox, Sent

_WORDS_MAX: Final = 500  # characters of an error in the log and in a finding
_log = logging.getLogger(__name__)

_Request: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


@attrs.define(eq=False)
class Round:
    """The requests to a broker, and their results. `error`: why they were not delivered."""

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
    """Make the three calls of a round, in order. Never raises: an exception of the host means "not delivered"."""
    try:
        if sending.leader_and_isr is not None:
            sending.errors = _checked(sending.leader_and_isr, host.leader_and_isr(sending.leader_and_isr))
        if sending.update_metadata is not None:
            _checked(sending.update_metadata, host.update_metadata(sending.update_metadata))
        if sending.stop_replica is not None:
            sending.undeleted = _checked(sending.stop_replica, host.stop_replica(sending.stop_replica))
    except _StaleControllerError as error:
        sending.error = str(error)
        inbox.put(Hint(Changed(LEADER_KEY)))  # check whether we still lead: the store decides, not the broker
    except Exception as error:  # noqa: BLE001 - an error of the host must not affect others
        sending.error = _words(error)
        _log.debug("broker %d: a round was not delivered", sending.broker.broker_id, exc_info=True)
    except BaseException as error:
        sending.error = _words(error)  # the interrupt is raised again, but the round has ended
        raise
    finally:
        inbox.put(Sent(sending.broker.broker_id, sending))


def _words(error: BaseException) -> str:
    """The text of a host's exception, also of one that cannot be formatted. A broker chose some of it: its host, its
    reason to refuse a login."""
    name = type(error).__name__
    try:
        return clean(f"{name}: {error}"[:_WORDS_MAX])
    except Exception:  # noqa: BLE001 - as above; a failed round must not look like a delivered one
        return name


def _checked(request: _Request, response: HostResponse) -> dict[TopicPartition, ErrorCode]:
    """The partitions that failed. Raises if the request failed as a whole, and for an answer about something that was
    not in the request."""
    if not isinstance(response, HostResponse):
        raise TypeError(f"a callback must return a HostResponse, not {response!r:.200}")
    if response.error == ErrorCode.STALE_CONTROLLER_EPOCH:
        raise _StaleControllerError("the broker knows a later controller")
    if response.error != ErrorCode.NONE:  # by value: a host may hand on the number that came over a wire
        raise RuntimeError(f"the broker answered {response.error!r}")
    errors = dict(response.errors.items())  # a copy, since the host may change it later
    if not errors:
        return errors
    _require_answers(request, errors)
    return {tp: code for tp, code in errors.items() if code != ErrorCode.NONE}


def _require_answers(request: _Request, errors: Mapping[Any, object]) -> None:
    """Check that each error is a code for a partition of the request. TypeError, ValueError."""
    asked = {(p.topic, p.partition) for p in request.partitions}
    for tp, code in errors.items():
        if not isinstance(tp, TopicPartition):
            raise TypeError(f"the errors of a HostResponse must be keyed by TopicPartition, not {tp!r:.200}")
        if (tp.topic, tp.partition) not in asked:
            raise ValueError(f"the broker answered for {tp}, which was not in the request")
        if not isinstance(code, int) or isinstance(code, bool):
            raise TypeError(f"the error of {tp} must be an ErrorCode or an int, not {code!r:.200}")
