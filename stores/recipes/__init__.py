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

from .election import SEAT as SEAT
from .election import SEAT_BESIDE_KAFKA as SEAT_BESIDE_KAFKA
from .election import ElectedTerm as ElectedTerm
from .election import Seat as Seat
from .election import decode_epoch as decode_epoch
from .election import elect as elect
from .fence import FENCE_OPS as FENCE_OPS
from .fence import Attempt as Attempt
from .fence import Fence as Fence
from .fence import Outcome as Outcome
from .fence import Resolution as Resolution
from .fence import is_fence_conflict as is_fence_conflict
from .fence import resolve as resolve
from .holding import Contested as Contested
from .holding import hold as hold
from .leftover import reap_own_leftover as reap_own_leftover
from .sequence import NUMBER_MAX as NUMBER_MAX
from .sequence import next_in_sequence as next_in_sequence
from .sequence import next_number as next_number
from .sequence import number_in_sequence as number_in_sequence
from .sequence import sequence_key as sequence_key
from .sequence import taken as taken
from .token import EPOCH_KEY as EPOCH_KEY
from .token import HELD_KEY as HELD_KEY
from .token import LEADER_KEY as LEADER_KEY
from .token import TOKEN_KEY as TOKEN_KEY
from .token import Token as Token
