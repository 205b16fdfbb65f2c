"""Stock clients against `kedge serve` while partitions move: nothing is lost, nothing is there twice, order is kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing

import kafka
import pytest

from tests.e2e.writer import Writer, numbers_in
from tests.serve.processes import DEADLINE_S, serving

TOPIC = "orders"
MOVES: tuple[Sequence[int], ...] = ((4, 5, 1), (2, 3, 4), (5, 1, 2), (3, 4, 5), (1, 2, 3))


def moved(admin: kafka.KafkaAdminClient, targets: dict[kafka.TopicPartition, Sequence[int]]) -> None:
    """The moves are accepted, and have ended."""
    answers = admin.alter_partition_reassignments({tp: list(target) for tp, target in targets.items()})
    assert answers == dict.fromkeys(targets)
    end = time.monotonic() + DEADLINE_S
    while admin.list_partition_reassignments():
        assert time.monotonic() < end, "the moves do not end"


@pytest.mark.server
@pytest.mark.slow
def test_nothing_is_lost_while_stock_clients_move_what_they_write() -> None:
    """Each partition is moved five times, each time to another leader and other brokers, while it is written without a
    pause; what was acknowledged is read back by a consumer that was assigned by hand: all, once, in order."""
    options = ("--broker-count", "5", "--racks", "a,b,c", "--copy-rate", "10MB", "--seed", "1")
    with (
        serving(*options, "--topic", f"{TOPIC}:3:3") as at,
        closing(kafka.KafkaAdminClient(bootstrap_servers=at["bootstrap"])) as admin,
    ):
        writer, meanwhile, last = Writer(at["bootstrap"], TOPIC, 3), 0, dict[int, Sequence[int]]()
        writer.fill(40, 50_000)  # so that moves take their time, whatever else the machine does
        with writer.writing():
            for turn in range(len(MOVES)):
                before = writer.count
                last = {p: MOVES[(turn + p) % len(MOVES)] for p in range(3)}
                moved(admin, {kafka.TopicPartition(TOPIC, p): target for p, target in last.items()})
                meanwhile += writer.count - before
        assert writer.failures == []
        assert meanwhile > 0, "nothing was written while they moved"
        counts = [len(numbers) for numbers in writer.acknowledged]
        assert numbers_in(at["bootstrap"], TOPIC, counts) == writer.acknowledged
        described = {p["partition_index"]: p for p in admin.describe_topics([TOPIC])[0]["partitions"]}
        assert {p: row["replica_nodes"] for p, row in described.items()} == {p: list(r) for p, r in last.items()}
        assert all(sorted(p["isr_nodes"]) == sorted(p["replica_nodes"]) for p in described.values())
