"""The one source of chance."""

from __future__ import annotations

import base64
from collections import Counter
from uuid import UUID

import pytest

from kedge import NewTopic
from kedge.controller.runtime.clock import IdSource
from tests.runtime.world import Cluster


@pytest.mark.checklist(149)
def test_topics_begin_at_random_places() -> None:
    """Each of them is spread evenly over brokers and racks all the same."""
    cluster = Cluster()
    for broker in range(1, 7):
        cluster.join(broker, rack="abc"[broker % 3])
    made = cluster.done(cluster.controller.admin.create_topics({f"t{n}": NewTopic(6, 3) for n in range(20)}).all())
    placed = [topic.assignments for topic in made.values()]
    assert len({replicas[0][0] for replicas in placed}) > 1
    assert len(set(placed)) > 6
    for replicas in placed:
        assert Counter(each[0] for each in replicas) == dict.fromkeys(range(1, 7), 1)
        assert all(len({broker % 3 for broker in each}) == 3 for each in replicas)


def test_ids_are_random_uuids_that_no_tool_takes_for_an_option() -> None:
    """One in 64 would begin with a dash."""
    chance = IdSource(1)
    made = [chance.topic_id() for _ in range(1_000)]
    assert len(set(made)) == len(made)
    assert not any(one.startswith("-") for one in made)
    assert all(UUID(bytes=base64.urlsafe_b64decode(one + "==")).version == 4 for one in made)
