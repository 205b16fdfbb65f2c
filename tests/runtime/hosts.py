"""Hosts and executors of the clusters of transcripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from kedge import HostNotices
from tests.runtime.world import Brokers


class Noticing(Brokers, HostNotices):
    """A host that notes what it hears of configs, controllers and partitions."""

    def __init__(self) -> None:
        super().__init__()
        self.notices: list[str] = []

    def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        self.notices.append(f"{entity_type}/{name} {json.dumps(dict(configs))}")

    def controller_changed(self, controller_id: int, epoch: int) -> None:
        self.notices.append(f"controller {controller_id} epoch {epoch}")

    def partition_purged(self, topic: str, partition: int) -> None:
        self.notices.append(f"{topic}-{partition} is purged")


class HeldCalls:
    """An executor whose calls wait until they are let go."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, Callable[[], None]]] = []

    def submit(self, broker: int, call: Callable[[], None]) -> None:
        self.calls.append((broker, call))

    def close(self, timeout_s: float) -> None:
        """Nothing to end."""

    def of(self, *brokers: int) -> list[tuple[int, Callable[[], None]]]:
        return [one for one in self.calls if not brokers or one[0] in brokers]

    def let_go(self, due: Sequence[tuple[int, Callable[[], None]]]) -> None:
        """Let these return."""
        self.calls = [one for one in self.calls if one not in due]
        for _, call in due:
            call()

    def drain(self, run: Callable[[], object], *brokers: int) -> None:
        """Let them return, and those that follow on them; `run`: the controllers go on."""
        while due := self.of(*brokers):
            self.let_go(due)
            run()
