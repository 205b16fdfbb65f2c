"""A controller that is none of Kedge's led in between: what moved before is reported and dropped, not resumed."""

from __future__ import annotations

from itertools import count

import pytest

from kedge import Settings
from kedge.controller.codec import keys
from kedge.stores.faults import FailBefore, Fault, LoseReply
from kedge.stores.recipes import LEADER_KEY
from tests.kit.death import Death
from tests.runtime.world import Cluster


def left_alone(wrote: str | None = "u") -> Cluster:
    """`t-0` and `t-1` move to 3 and 4; then Kedge's epoch is over, and three others go by. `wrote`: the topic of
    which another client wrote a state key under one of them."""
    cluster = Cluster()
    cluster.join(1, 2, 3, 4)
    cluster.create("t", (1, 2), (1, 2))
    cluster.create("u", (1, 2))
    for partition in (0, 1):
        cluster.done(cluster.move([3, 4], "t", partition))
    while cluster.controllers:
        cluster.controllers.pop().close()
    epoch = int(cluster.keys()["/controller_epoch"])
    cluster.put("/controller_epoch", b"%d" % (epoch + 3))
    if wrote is not None:
        cluster.put(keys.state(wrote, 0), cluster.state(wrote) | {"controller_epoch": epoch + 2})
    return cluster


ENDS = pytest.mark.parametrize("fault", [FailBefore(), LoseReply()], ids=["before it is sent", "applied, reply lost"])


@pytest.mark.slow
@ENDS
@pytest.mark.parametrize("wrote", ["t", "u"])
@pytest.mark.parametrize("resumes", [False, True])
def test_a_takeover_dying_at_any_commit_resumes_all_or_nothing_as_the_setting_says(
    fault: Fault, wrote: str, *, resumes: bool
) -> None:
    """Its claim overwrites the token that showed the gap, and its other commits the state keys that prove it: by a
    drop, or a request."""
    for at in count(1):
        cluster, death = left_alone(wrote), Death(at, fault)
        wanted = [cluster.state("t", p)["targetReplicas"] if resumes else None for p in (0, 1)]
        dying = cluster.another(
            2, death.store(cluster.server), settings=Settings(commit_decisions_max=1, resume_foreign_targets=resumes)
        )
        dying.poll_once()
        cluster.isr([1], "u")
        for _ in range(20):
            dying.poll_once()
        dying.close()
        cluster.controllers.clear()
        expire(cluster)
        cluster.another(3, settings=Settings(resume_foreign_targets=resumes))
        cluster.run()
        assert [cluster.state("t", p).get("targetReplicas") for p in (0, 1)] == wanted, at
        if not death.is_over:
            break
    assert at > (4 if resumes else 5)


def expire(cluster: Cluster) -> None:
    """The session of a controller that died is over."""
    entry = cluster.other.get(LEADER_KEY, timeout_s=1)
    if entry is not None and entry.owner is not None:
        cluster.server.expire(entry.owner)
