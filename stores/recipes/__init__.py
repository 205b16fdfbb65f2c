"""Election, fencing, and resolving unknown outcomes: written once, above the contract of `kedge.stores.base`.

Rules
* A leader holds `/controller` (ephemeral) under a controller epoch that only its election wrote. Epochs rise.
  Beside Kafka brokers another key is held, and `/controller` stays (`SEAT_BESIDE_KAFKA`).
* Every commit of a leader begins with the same two ops: Check `/controller_epoch` at the version of its election, and
  Put `/kedge/commit`, the commit token, at the version that the previous commit left. The first fails once another
  controller was elected. The second makes commits serial: if one commit is sent twice, only one of them succeeds.
* The token's `seq` continues over terms and never restarts; the first commit of a term claims the token.
* Whether a commit without a reply was applied is read from the token, over a new session, and never guessed.
* Nothing here waits: retryable errors go to the caller, which has a deadline and a clock.
"""

from .election import SEAT, SEAT_BESIDE_KAFKA, ElectedTerm, Seat, decode_epoch, elect
from .fence import FENCE_OPS, Attempt, Fence, Outcome, Resolution, is_fence_conflict, resolve
from .holding import Contested, hold
from .leftover import reap_own_leftover
from .sequence import NUMBER_MAX, next_in_sequence, next_number, number_in_sequence, sequence_key, taken
from .token import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY, Token

__all__ = [
    "EPOCH_KEY",
    "FENCE_OPS",
    "HELD_KEY",
    "LEADER_KEY",
    "NUMBER_MAX",
    "SEAT",
    "SEAT_BESIDE_KAFKA",
    "TOKEN_KEY",
    "Attempt",
    "Contested",
    "ElectedTerm",
    "Fence",
    "Outcome",
    "Resolution",
    "Seat",
    "Token",
    "decode_epoch",
    "elect",
    "hold",
    "is_fence_conflict",
    "next_in_sequence",
    "next_number",
    "number_in_sequence",
    "reap_own_leftover",
    "resolve",
    "sequence_key",
    "taken",
]
