"""A cluster that works is moved from one real store to another, and all that takes part is killed, stopped and started
again meanwhile: the command, the servers of both stores, the first controller over the new one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kedge.controller.codec import keys
from tests.real.cluster import CALL_S
from tests.real.moves import asked_for, finished
from tests.real.moving import MovedCluster
from tests.real.served import NAMES, Served, serve

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

MOVES = 300
LATE = 4
RUNS_MAX = 4
SESSION_S = 3.0
LONG_S = 20.0  # a session that outlives the restart of a server, also on a busy machine
FREE = "a controller is active on TO"


@pytest.fixture(params=NAMES)
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Served, Served]]:
    """A server of each kind, in both orders."""
    other = next(name for name in NAMES if name != request.param)
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(serve(request.param)), stack.enter_context(serve(other))


def test_the_command_is_killed_at_every_stage_and_then_the_first_controller_over_the_new_store(
    stores: tuple[Served, Served], tmp_path: Path
) -> None:
    """Run again it goes on where it was; brokers serve on meanwhile, and nothing that was acknowledged is lost. The
    second controller raises every leader epoch that the first one left, and ends the moves."""
    with MovedCluster(*stores, tmp_path, session_s=SESSION_S) as cluster:
        targets = asked_for(cluster, MOVES)
        cluster.reassign(targets)
        killed = []
        for line in ("scan 1", "is fenced", "last scan", "stage sealed"):
            command = cluster.ended(cluster.begin(kill_at=line))
            assert command.has_said(line), command.said
            killed.append(cluster.phases()[0])
            assert all(cluster.producers.write(tp, 1, 100) == 1 for tp in list(targets)[:50])
            cluster.until(lambda: cluster.producers.waiting == 0, "the records are acknowledged")
        assert killed[0] == "copying"
        assert killed[1] in {"fenced", "moved"}
        assert killed[-1] == "moved"
        before = cluster.leader_epochs()
        command = cluster.begin()
        first, second = cluster.next_nodes.values()
        cluster.until(lambda: some_raised(cluster, before) > 1, "the first controller raises epochs")
        first.kill()
        left = {key for key, epoch in epochs_in(cluster).items() if epoch <= before[key]}
        assert left, "all were raised already: the test shows nothing"
        assert cluster.phases()[1] == "complete"
        assert cluster.ended(command).exit_code == 0, command.said
        second.start()
        cluster.until(lambda: second.is_active, "the second controller leads")
        cluster.until(lambda: cluster.phases()[1] == "", "all leader epochs are raised")
        now = epochs_in(cluster)
        assert now.keys() == before.keys()
        assert all(now[key] > epoch for key, epoch in before.items())
        cluster.follow()
        cluster.let_go(targets)
        finished(cluster, targets)
        verified = cluster.ended(cluster.begin("--verify"))
        assert (verified.exit_code, verified.has_said(FREE)) == (0, True), verified.said


def test_servers_that_stand_still_and_are_killed_while_it_is_moved_lose_nothing(
    stores: tuple[Served, Served], tmp_path: Path
) -> None:
    """Both are paused and started again while a broker is waited for, and once more under the fence; the
    command waits or is run again."""
    with MovedCluster(*stores, tmp_path, session_s=LONG_S, late=[LATE]) as cluster:
        targets = asked_for(cluster, MOVES)
        cluster.reassign(targets)
        before = cluster.leader_epochs()
        command = cluster.begin()
        cluster.until(lambda: command.has_said(f"waiting for brokers [{LATE}]"), "the late broker is waited for")
        for deed in (pause, restart):
            for served in stores:
                deed(cluster, served)
        command = cluster.begin() if command.is_over else command
        cluster.register_next(LATE)
        cluster.until(lambda: command.has_said("is fenced") or command.is_over, "it is fenced")
        for served in stores:
            restart(cluster, served)
        runs = 1
        while cluster.ended(command).exit_code and runs < RUNS_MAX:
            command, runs = cluster.begin(), runs + 1
        assert command.exit_code == 0, command.said
        cluster.until(lambda: cluster.next_nodes[201].is_active, "the controller over the new store leads")
        cluster.until(lambda: cluster.phases()[1] == "", "all leader epochs are raised")
        assert all(epoch > before[key] for key, epoch in epochs_in(cluster).items())
        cluster.follow()
        cluster.let_go(targets)
        finished(cluster, targets)


def pause(cluster: MovedCluster, served: Served) -> None:
    """The server stands still for some steps of the brokers."""
    served.server.pause()
    for _ in range(100):
        cluster.step()
    served.server.resume()


def restart(_: MovedCluster, served: Served) -> None:
    served.server.restart()


def epochs_in(cluster: MovedCluster) -> dict[str, int]:
    """The leader epochs that stand in the second store."""
    entries = cluster.next_store.snapshot(keys.TOPICS, timeout_s=CALL_S).entries
    return {e.key: json.loads(e.value)["leader_epoch"] for e in entries if e.key.endswith("/state")}


def some_raised(cluster: MovedCluster, before: dict[str, int]) -> int:
    """How many of the leader epochs in the second store are above the former ones."""
    return sum(epoch > before[key] for key, epoch in epochs_in(cluster).items())
