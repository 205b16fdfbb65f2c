"""The legacy key in tests: plans as other tools write them, and what the journal says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kedge import Journal, MemorySink
from tests.runtime.world import Cluster

KEY: Final = "/admin/reassign_partitions"
Plan = Mapping[tuple[str, int], Sequence[object]]


def plan(targets: Plan, **more: Any) -> dict[str, Any]:
    """The JSON of a plan."""
    entries = [{"topic": t, "partition": p, "replicas": list(target)} for (t, p), target in targets.items()]
    return {"version": 1, "partitions": entries, **more}


class Told:
    """A cluster of six brokers with topic t on 1, 2, 3, two partitions, and the rows of its journal."""

    def __init__(self, *, partitions: int = 2, **more: Any) -> None:
        self.sink = MemorySink()
        self.cluster = Cluster(journal=Journal(self.sink), **more)
        self.cluster.join(1, 2, 3, 4, 5, 6)
        self.cluster.create("t", *[(1, 2, 3)] * partitions)

    def submit(self, targets: Plan, *, run: bool = True) -> None:
        self.cluster.put(KEY, plan(targets))
        if run:
            self.cluster.run()

    def named(self) -> dict[tuple[str, int], list[int]] | None:
        """What the key in the store names; None where it is gone."""
        found = self.cluster.get(KEY)
        return None if found is None else {(e["topic"], e["partition"]): e["replicas"] for e in found["partitions"]}

    def target(self, partition: int = 0) -> list[int] | None:
        """T of a partition, as committed."""
        found: list[int] | None = self.cluster.state("t", partition).get("targetReplicas")
        return found

    def finish(self, partition: int, *isr: int) -> None:
        """The leader says that these are in sync."""
        self.cluster.done(self.cluster.isr(isr, "t", partition))

    def rows(self, *events: str) -> list[dict[str, Any]]:
        found = [json.loads(line) for line in self.sink.lines]
        return [row for row in found if row["event"] in events]

    def fail_over(self, node_id: int = 2) -> None:
        """The controller is gone without a word; another one leads."""
        for controller in self.cluster.controllers:
            controller.close()
        self.cluster.controllers.clear()
        self.cluster.another(node_id)
        self.cluster.run()
