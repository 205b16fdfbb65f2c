"""What all coordinators share: each is a state machine whose state is kept in the log of a partition of an internal
topic.

    partitions   the internal topics, and which partition holds a group or a transactional id
    errors       Kafka's error codes
    records      records of an internal topic
    turn         the handling of one event: the answers and the appends that result
    machine      loading, appends, and what is due
    schedule     what is due when
    held         the memory that clients make coordinators hold, and its bound

The package reads no clock, starts no thread and does no I/O. Consumer groups (`kedge.controller.groups`) and
transactions (`kedge.controller.transactions`) stand on it. A host that keeps logs drives them, such as
`kedge.controller.server.coordinators`.
"""

from __future__ import annotations

from .errors import CoordinatorError as CoordinatorError
from .machine import Machine as Machine
from .partitions import INTERNAL_TOPICS as INTERNAL_TOPICS
from .partitions import OFFSETS_TOPIC as OFFSETS_TOPIC
from .partitions import TRANSACTIONS_TOPIC as TRANSACTIONS_TOPIC
from .partitions import partition_of as partition_of
from .turn import Append as Append
from .turn import Output as Output
