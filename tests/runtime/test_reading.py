"""What others write is read in bulk: how many reads there are does not depend on how many keys changed."""

from __future__ import annotations

import pytest

from tests.runtime.world import cluster_of_three

_READS = ("get", "get_many", "get_columns", "children")


@pytest.mark.parametrize("partitions", [1, 300])
def test_foreign_topic_is_read_at_once_however_many_partitions_it_has(partitions: int) -> None:
    """One read for all its states, where there was one for each."""
    cluster = cluster_of_three()
    cluster.store.forget_calls()
    cluster.put("/brokers/topics/n", {"version": 1, "partitions": {str(i): [1, 2] for i in range(partitions)}})
    cluster.run()
    found = cluster.done(cluster.controller.query(lambda view: view.partition_count("n")))
    assert found == partitions
    reads = [call for call in cluster.store.calls if call.name in _READS]
    of_states = [call for call in reads if any(key.endswith("/state") for key in call.keys)]
    assert len(of_states) == 1
    assert len(reads) <= 12  # those of what our own commit wrote among them
