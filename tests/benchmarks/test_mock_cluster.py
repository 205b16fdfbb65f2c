"""The comparison with librdkafka's mock cluster: what works with `kedge serve`, and that the other serves at all."""

from __future__ import annotations

import pytest

from benchmarks.peers import mock_cluster
from benchmarks.peers.mock_cluster import STEPS, consume, kedge, mock, produce, tried

pytestmark = pytest.mark.full  # processes


def test_every_step_works_with_kedge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mock_cluster, "RECORDS", 100)
    monkeypatch.setattr(mock_cluster, "GROUPS", 3)
    with kedge() as bootstrap:
        outcomes = {step: tried(step, bootstrap)[0] for step in STEPS}
    assert set(outcomes.values()) == {"ok"}, outcomes


def test_the_mock_cluster_serves_records_and_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mock_cluster, "RECORDS", 100)
    with mock() as bootstrap:
        assert [tried(step, bootstrap)[0] for step in (produce, consume)] == ["ok", "ok"]
