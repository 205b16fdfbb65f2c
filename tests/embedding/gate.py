"""A store whose commits a test holds up, as a server does that does not answer."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from kedge import MemoryServer, MemoryStore
from kedge.stores.base import Commit, Op

WAIT_S: Final = 10.0


class Gate(MemoryStore):
    """A store whose commits can be held up, in every session."""

    def __init__(self, server: MemoryServer, of: Gate | None = None) -> None:
        super().__init__(server)
        self.open: threading.Event = of.open if of else threading.Event()
        self.inside: threading.Event = of.inside if of else threading.Event()
        if of is None:
            self.open.set()

    def another_session(self) -> Gate:
        return Gate(self.server, self)

    def commit(self, ops: Sequence[Op], *, timeout_s: float) -> Commit:
        if not self.open.is_set():
            self.inside.set()
            self.open.wait(WAIT_S)
        return super().commit(ops, timeout_s=timeout_s)
