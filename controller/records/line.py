"""What a record needs to write its line: its commit, and the Decision to which it belongs.

* Values are those after the record; a field that does not apply is left out. Ids of brokers are lists of ints.
* Sensitive configs have HIDDEN in the place of their values (`kedge.controller.model.sensitive_configs`).
* `cause` is the record's own if it has one, otherwise the decision's. `detail` is an object; its members depend on the
  event.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from ..codec.journal_text import topic, why
from ..model.values import Partition


@attrs.define
class LineContext:
    """`topic_id`: of a topic by its name, None if it no longer exists. `partition_epoch`: of a partition after the
    commit. `bytes_copied`: by the move that ends here, None if unknown."""

    ts_ms: int
    partition_epoch: Callable[[Partition], int]
    topic_id: Callable[[str], str | None]
    cause: str | None = None
    request: str | None = None
    bytes_copied: int | None = None

    def topic(self, name: str) -> str:
        return topic(name, self.topic_id(name))

    def line(self, event: str, members: str = "", detail: str = "", cause: str | None = None) -> str:
        """The text of a line. `members`: what the event is about; `detail`: as JSON. `cause`: the record's own."""
        about = members and f",{members}"
        more = detail and f',"detail":{detail}'
        return f'"event":"{event}"{about}{why(self.cause if cause is None else cause, self.request)}{more}'
