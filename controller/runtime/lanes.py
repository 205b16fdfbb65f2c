"""What is dirty for one live broker, and when it may be sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from ..model.values import Broker, DeleteIntent, TopicPartition
from ..state.intents import Slot
from .rounds import Round

RETRY_MS_FIRST: Final = 100
RETRY_MS_MAX: Final = 10_000
NEVER: Final = 2**63


@attrs.define(eq=False)
class Lane:
    """At first everything is dirty. `metadata_at`: the position in the log of metadata up to which the broker has it.
    Further metadata waits until `metadata_after_ms`, so that many changes are one request. `intents`: to be sent;
    sent ones wait for their answer. Deletions that the broker refused have a back-off of their own, so that they
    do not delay a new leader."""

    broker: Broker
    full: bool = True
    dirty: dict[int, None] = attrs.field(factory=dict)
    metadata_full: bool = True
    metadata_at: int = 0
    metadata_after_ms: int = 0
    peers: bool = True
    intents: dict[Slot, DeleteIntent] = attrs.field(factory=dict)
    retry_at_ms: int = 0
    retry_ms: int = RETRY_MS_FIRST
    intents_at_ms: int = 0
    intents_ms: int = RETRY_MS_FIRST
    disks_gone: set[TopicPartition] = attrs.field(factory=set)

    def due_ms(self, log_end: int) -> int:
        """When a round may be sent; NEVER if nothing is dirty."""
        if self.dirty or self.full or self.peers or self.metadata_full:
            return self.retry_at_ms
        due_ms = self.metadata_after_ms if self.metadata_at < log_end else NEVER
        if self.intents:
            due_ms = min(due_ms, self.intents_at_ms)
        return max(self.retry_at_ms, due_ms)

    def metadata_sent(self, log_end: int, after_ms: int) -> None:
        """A round has the metadata up to here; more of it waits until `after_ms`."""
        self.metadata_full = self.peers = False
        self.metadata_at, self.metadata_after_ms = log_end, after_ms

    def delivered(self, round_: Round, now_ms: int) -> None:
        """The round was delivered; deletions may have been refused."""
        self.retry_ms = RETRY_MS_FIRST
        if round_.undeleted:
            self._send_again([intent for intent in round_.intents if tp_of(intent) in round_.undeleted])
            self.intents_at_ms = now_ms + self.intents_ms
            self.intents_ms = min(self.intents_ms * 2, RETRY_MS_MAX)
        elif round_.intents:
            self.intents_ms = RETRY_MS_FIRST

    def not_delivered(self, round_: Round, log_from: int, now_ms: int) -> bool:
        """What was in the round is dirty again. Returns whether it is the first failure in a row."""
        self.full |= round_.full
        if not round_.full:
            self.dirty = dict.fromkeys((*round_.numbers, *self.dirty))
        self.metadata_full |= round_.metadata_full or round_.metadata_from < log_from
        self.metadata_at = min(self.metadata_at, max(round_.metadata_from, log_from))
        self.peers |= round_.peers
        self._send_again(round_.intents)
        is_first = self.retry_ms == RETRY_MS_FIRST
        self.retry_at_ms = now_ms + self.retry_ms
        self.retry_ms = min(self.retry_ms * 2, RETRY_MS_MAX)
        return is_first

    def _send_again(self, intents: Iterable[DeleteIntent]) -> None:
        """Mark intents, except where a later intent for the same replica was added meanwhile."""
        for intent in intents:
            self.intents.setdefault(slot_of(intent), intent)


def slot_of(intent: DeleteIntent) -> Slot:
    return intent.topic_id, intent.partition


def tp_of(intent: DeleteIntent) -> TopicPartition:
    return TopicPartition(intent.topic, intent.partition)
