"""Store servers that are stopped, killed and started again under a cluster that works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kedge import NewTopic, RequestTimedOut, TopicPartition
from tests.real.cluster import Cluster
from tests.real.moves import finished, planned
from tests.real.served import Served

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

MOVES = 200
LONG_S = 20.0  # a session that outlives the restart of a server, also on a busy machine
SHORT_S = 3.0
LATE_S = 1.5


def pause(cluster: Cluster, served: Served) -> None:
    """The server stands still for so long that a request with a short deadline is over."""
    served.server.pause()
    late = cluster.send("create_topics", {"late": NewTopic(1, 1)}, timeout_s=LATE_S)
    cluster.until(late.done, "a request whose deadline is over is answered")
    assert isinstance(late.result()["late"], RequestTimedOut)
    served.server.resume()


def kill(_: Cluster, served: Served) -> None:
    served.server.restart()


def stop(_: Cluster, served: Served) -> None:
    served.server.stop()
    served.server.start()


@pytest.mark.parametrize("fault", [pause, kill, stop])
def test_a_server_that_is_away_for_less_than_the_session_time_is_waited_for(
    served: Served, tmp_path: Path, fault: Callable[[Cluster, Served], None]
) -> None:
    """No error reaches a caller whose deadline was not over, the same controller leads on, and the moves go on."""
    begin, ends = planned(MOVES)
    with Cluster(served, tmp_path, controllers=1, session_s=LONG_S) as cluster:
        tps = cluster.create_topic("t", begin, records=1)
        targets = dict(zip(tps, ends, strict=True))
        cluster.note(targets)
        cluster.hold_back(tps[MOVES // 2 :])
        first, second = dict(list(targets.items())[: MOVES // 2]), dict(list(targets.items())[MOVES // 2 :])
        epoch = cluster.epoch
        cluster.reassign(first)
        before = [
            cluster.send("alter_partition_reassignments", second),
            cluster.send("create_topics", {"before": NewTopic(2, 2)}),
        ]
        fault(cluster, served)
        after = cluster.send("create_topics", {"after": NewTopic(2, 2)})
        cluster.let_go(tps)
        cluster.until(lambda: all(future.done() for future in (*before, after)), "all are answered")
        answers = [answer for future in (*before, after) for answer in future.result().values()]
        assert not [answer for answer in answers if isinstance(answer, Exception)]
        finished(cluster, targets)
        assert cluster.epoch == epoch
        assert {"before", "after"} <= set(cluster.committed.topics)


def test_a_server_that_stands_still_beyond_every_session_loses_nothing(served: Served, tmp_path: Path) -> None:
    """Every broker and the controller have lost their sessions, come back under new epochs, and the moves end."""
    begin, ends = planned(MOVES)
    with Cluster(served, tmp_path, controllers=2, session_s=SHORT_S, broker_session_s=SHORT_S) as cluster:
        tps = cluster.create_topic("t", begin, records=1)
        targets: dict[TopicPartition, tuple[int, int]] = dict(zip(tps, ends, strict=True))
        cluster.hold_back(tps)
        cluster.reassign(targets)
        epoch = cluster.epoch
        served.server.pause()
        cluster.until(lambda: cluster.active is None, "the controller knows that its session is over")
        served.server.resume()
        cluster.until(lambda: cluster.active is not None, "a controller leads")
        cluster.let_go(tps)
        finished(cluster, targets)
        assert cluster.epoch > epoch
