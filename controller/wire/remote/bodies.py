"""What comes behind the broker epoch in LeaderAndIsr and UpdateMetadata, with the partitions packed by `states` where
the version allows it.

UpdateMetadata is encoded once for all brokers that get the same partitions: only the broker epoch differs. The
controller puts the same tuple into the requests of all brokers (`Shared`), and what was encoded is kept with that
tuple.
"""

from __future__ import annotations

import threading
from typing import Final

from ...model.host import LeaderAndIsrRequest, Shared, UpdateMetadataRequest
from ..protocol import Messages, body_behind
from . import orders, states

DIFFERS: Final = "broker_epoch"
"""The field of which, and all before it, each broker gets its own. All behind it is in common."""
PARTITIONS: Final = "topic_states"


class InCommon:
    """What brokers have in common of an UpdateMetadata. Thread-safe: while one thread encodes, others wait for it."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._lock = threading.Lock()

    def of(self, request: UpdateMetadataRequest, version: int) -> bytes:
        """The bytes of the request behind `DIFFERS`."""
        if not isinstance(request.partitions, Shared):
            return self._encoded(request, version)
        key = (DIFFERS, version, request.controller_epoch, request.full, request.live_brokers)
        prepared = request.partitions.prepared
        with self._lock:
            if key not in prepared:
                prepared[key] = self._encoded(request, version)
            encoded: bytes = prepared[key]
            return encoded

    def _encoded(self, request: UpdateMetadataRequest, version: int) -> bytes:
        if version < states.UPDATE_METADATA_SINCE:
            return body_behind(self._messages, version, orders.update_metadata(request, version), DIFFERS)
        partitions = states.update_metadata(request, version)
        return body_behind(
            self._messages, version, orders.update_metadata_besides(request), DIFFERS, (PARTITIONS, partitions)
        )


def leader_and_isr(messages: Messages, request: LeaderAndIsrRequest, version: int) -> bytes:
    """The bytes of LeaderAndIsr behind `DIFFERS`."""
    if version < states.LEADER_AND_ISR_SINCE:
        return body_behind(messages, version, orders.leader_and_isr(request, version), DIFFERS)
    partitions = states.leader_and_isr(request, version)
    return body_behind(messages, version, orders.leader_and_isr_besides(request), DIFFERS, (PARTITIONS, partitions))
