"""The end of a process at one of its commits."""

from __future__ import annotations

import random

from kedge.stores import MemoryServer, MemoryStore
from kedge.stores.base import MetadataStore
from kedge.stores.faults import FailBefore, Fault, FaultStore
from kedge.stores.faults.plan import Call


class Death:
    """A process dies at its nth commit, over all its stores: from then on nothing of it reaches any store."""

    def __init__(self, at: int, fault: Fault) -> None:
        self._at = at
        self._fault = fault
        self.commits = 0

    @property
    def is_over(self) -> bool:
        return self.commits >= self._at

    def __call__(self, call: Call, _: random.Random) -> list[Fault]:
        if self.is_over:
            return [FailBefore()]
        if call.name == "commit":
            self.commits += 1
            return [self._fault] if self.is_over else []
        return []

    def store(self, opened: MemoryServer | MetadataStore) -> FaultStore:
        return FaultStore(MemoryStore(opened) if isinstance(opened, MemoryServer) else opened, self)
