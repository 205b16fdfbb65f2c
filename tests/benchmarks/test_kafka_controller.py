"""The comparison with Kafka's own controller over simulated brokers: both controllers pass every step."""

from __future__ import annotations

import json

import pytest

from benchmarks.peers.kafka_controller import main

pytestmark = [pytest.mark.full, pytest.mark.server]

PARTITIONS, MOVES = 400, 40


def test_every_figure_is_printed_for_both_controllers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--partitions={PARTITIONS}", f"--moves={MOVES}", "--rounds=1"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {who: [(row["what"], row["n"]) for row in rows if row["controller"] == who] for who in ("kedge", "kafka")}
    assert [what for what, _ in found["kedge"]] == [
        "failover, LeaderAndIsr at all replicas",
        "failover, metadata at all brokers",
        "moves, accepted",
        "moves, done",
        "death, leaders moved",
        "death, out of every ISR",
    ]
    assert [what for what, _ in found["kafka"]] == [what for what, _ in found["kedge"]]
    assert [n for _, n in found["kedge"][:4]] == [PARTITIONS, PARTITIONS, MOVES, MOVES]
    assert all(row["n"] > 0 for row in rows)
