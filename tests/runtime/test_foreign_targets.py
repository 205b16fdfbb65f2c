"""A controller that is none of Kedge's led in between: what moved before is reported and dropped, not resumed."""

from __future__ import annotations

import pytest

from controller import Settings
from controller.codec import keys
from tests.runtime.world import Cluster


def left_alone(*, led: bool = True) -> Cluster:
    """`t-0` moves to 3 and 4; then Kedge's epoch is over, and three others go by. `led`: under one of them somebody
    wrote a state key."""
    cluster = Cluster()
    cluster.join(1, 2, 3, 4)
    cluster.create("t", (1, 2))
    cluster.create("u", (1, 2))
    cluster.done(cluster.move([3, 4]))
    while cluster.controllers:
        cluster.controllers.pop().close()
    epoch = int(cluster.keys()["/controller_epoch"])
    cluster.put("/controller_epoch", b"%d" % (epoch + 3))
    if led:
        cluster.put(keys.state("u", 0), cluster.state("u") | {"controller_epoch": epoch + 2})
    return cluster


@pytest.mark.checklist(257)
def test_a_move_from_before_a_foreign_controller_is_dropped_and_reported() -> None:
    """As by a cancel. A move that is asked for afterwards goes on, also under the next controller."""
    cluster = left_alone()
    cluster.another(2)
    cluster.run()
    assert "targetReplicas" not in cluster.state()
    assert cluster.get("/brokers/topics/t")["partitions"] == {"0": [1, 2]}
    assert "t-0" in cluster.findings()["foreign controller"]
    cluster.done(cluster.move([3, 4]))
    cluster.succeed()
    assert cluster.state()["targetReplicas"] == [3, 4]
    assert cluster.findings() == {}


def test_epochs_in_which_nobody_wrote_drop_nothing() -> None:
    """Elections that came to nothing."""
    cluster = left_alone(led=False)
    cluster.another(2)
    cluster.run()
    assert cluster.state()["targetReplicas"] == [3, 4]
    assert cluster.findings() == {}


def test_a_setting_resumes_it() -> None:
    cluster = left_alone()
    cluster.another(2, settings=Settings(resume_foreign_targets=True))
    cluster.run()
    assert cluster.state()["targetReplicas"] == [3, 4]


def test_what_was_resumed_is_not_dropped_by_the_next_controller() -> None:
    cluster = left_alone()
    cluster.another(2, settings=Settings(resume_foreign_targets=True))
    cluster.run()
    cluster.succeed()
    assert cluster.state()["targetReplicas"] == [3, 4]
    assert cluster.findings() == {}


def test_an_election_that_comes_to_nothing_does_not_hide_an_earlier_foreign_controller() -> None:
    """The first controller claims its epoch and ends; another is elected and ends before its claim."""
    cluster = left_alone()
    cluster.another(2, settings=Settings(commit_decisions_max=1)).poll_once()
    cluster.controllers.pop().close()
    cluster.put("/controller_epoch", b"%d" % (int(cluster.keys()["/controller_epoch"]) + 1))
    cluster.another(3)
    cluster.run()
    assert "targetReplicas" not in cluster.state()


def test_a_takeover_that_ends_before_it_dropped_them_leaves_that_to_the_next() -> None:
    """The token that told of the gap was overwritten by its claim."""
    for polls in range(1, 6):
        cluster = left_alone()
        taking_over = cluster.another(2, settings=Settings(commit_decisions_max=1))
        for _ in range(polls):
            taking_over.poll_once()
        cluster.succeed()
        assert "targetReplicas" not in cluster.state(), polls
