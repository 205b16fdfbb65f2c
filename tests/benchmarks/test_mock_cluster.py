"""The comparison with librdkafka's mock cluster: what works with `kedge serve`, and that the other serves at all."""

from __future__ import annotations

import pytest

from benchmarks.peers import mock_cluster
from benchmarks.peers.mock_cluster import STEPS, consume, mock, produce, transactions, tried
from benchmarks.served import served

pytestmark = pytest.mark.slow  # processes


def test_only_transactions_fail_with_kedge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mock_cluster, "RECORDS", 100)
    monkeypatch.setattr(mock_cluster, "GROUPS", 3)
    with served("--brokers", "3") as bootstrap:
        outcomes = {step: tried(step, bootstrap)[0] for step in STEPS}
    assert "transactions are not supported" in outcomes.pop(transactions)
    assert set(outcomes.values()) == {"ok"}, outcomes


def test_the_mock_cluster_serves_records_and_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mock_cluster, "RECORDS", 100)
    with mock() as bootstrap:
        assert [tried(step, bootstrap)[0] for step in (produce, consume)] == ["ok", "ok"]
