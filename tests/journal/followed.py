"""A world whose commits are journalled and held against the rules of a legal trace, commit by commit."""

from __future__ import annotations

import json

from kedge.controller.audit import Trace
from kedge.controller.runtime.journal import Decided, Journal, MemorySink
from kedge.controller.state import Batch
from tests.rules.world import World


class FollowedWorld(World):
    """`plant...` is seen only by a takeover: after it the next term begins. `rows`: how many were checked."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0
        self.is_planted = True
        self._sink = MemorySink()
        self._journal = Journal(self._sink)
        self._trace = Trace()

    def commit(self) -> Batch:
        """The batch is in the store and in the journal. AssertionError where a row is illegal."""
        done = super().commit()
        decided = [Decided([record for record, _, _ in done.log], "somebody asked")]
        self._journal.commit(self._seq, self.now_ms, decided, self.state.partition_epoch)
        self._follow()
        return done

    def take_over_if_planted(self) -> None:
        """Before an event: what was planted since the last one is what a takeover finds."""
        if self.is_planted:
            self.is_planted = False
            self.state.controller_epoch += 1
            self._journal.takeover(self.state, self._seq, self.now_ms)
            self._follow()

    def _follow(self) -> None:
        for line in self._sink.lines:
            illegal = self._trace.feed(json.loads(line))
            assert illegal is None, f"{illegal}: {line}"
            self.rows += 1
        assert not self._trace.unchecked
        self._sink.lines.clear()
