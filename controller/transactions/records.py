"""The state of a transactional id: a record of `__transaction_state`, of which the newest of each id is valid."""

from __future__ import annotations

import enum
from typing import Final

import attrs

from ..model.values import TopicPartition

NO_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
EPOCH_MAX: Final = 2**15 - 1
"""The highest epoch of a producer. Clients never get it: with it a coordinator can fence the one before."""
_PARTITION_BYTES: Final = 4


class State(enum.Enum):
    """Kafka's names of the states of a transaction."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


PREPARED: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})


@attrs.frozen(kw_only=True)
class Stored:
    """Names as in Kafka's TransactionLogValue. `producer_epoch`: -1 for an id that has none yet. `last_epoch`: the one
    before, which its producer may still name when it repeats a request; -1 if it may not. `next_id`: the id that
    replaces `producer_id` when the transaction is complete. `start_ms`: -1 if none was begun. `version`: the
    transaction version of the producer, 2 where each end gives it a new epoch (KIP-890)."""

    producer_id: int
    producer_epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_id: int = NO_ID
    next_id: int = NO_ID
    timeout_ms: int
    state: State = State.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIME
    update_ms: int = 0
    version: int = 0

    @property
    def is_prepared(self) -> bool:
        """Whether its end is decided, and markers are written."""
        return self.state in PREPARED

    @property
    def is_open(self) -> bool:
        """Whether a transaction has begun and is not complete."""
        return self.state is State.ONGOING or self.is_prepared

    @property
    def is_exhausted(self) -> bool:
        """Whether its producer cannot get another epoch."""
        return self.producer_epoch >= EPOCH_MAX - 1


@attrs.frozen
class TransactionRecord:
    """The state of a transactional id; None: it is deleted."""

    transactional_id: str
    stored: Stored | None

    @property
    def key(self) -> str:
        """The newest record with this key is valid."""
        return self.transactional_id

    @property
    def is_deleted(self) -> bool:
        return self.stored is None

    @property
    def bytes_min(self) -> int:
        """It has no fewer when it is encoded."""
        return len(self.transactional_id) + _PARTITION_BYTES * len(self.stored.partitions if self.stored else ())
