"""Three servers that are one store, and what befalls one of them, or all in turn, under a cluster that works.

After each: every move is complete, no key is left behind, no epoch fell and no rule was broken by any version of any
key, and each of the three, asked alone, holds the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
import tenacity

from kedge import NewTopic, NotController, TopicPartition
from kedge.controller.model.errors import FencedLeaderEpoch, InvalidUpdateVersion
from kedge.stores import ABSENT, MetadataStore, OutcomeUnknown, Put, Unavailable, open_store
from servers import LocalServer
from tests.real.cluster import CALL_S, Cluster
from tests.real.moves import asked_for, finished, slept_through
from tests.real.served import NAMES
from tests.real.three import PartitionState, Three, standing, struck
from tests.real.writes import Written

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

MOVES = 120
LONG_S = 20.0  # a session that outlives an election of servers, also on a busy machine
SHORT_S = 4.0
CUT_S = 8.0  # a session in which a silent server is found out, and another one is found
PATIENCE_S = 40.0
OVERTAKEN = (FencedLeaderEpoch, InvalidUpdateVersion)  # by a change of the controller's: an isr is requested again


@pytest.fixture(scope="module", params=NAMES)
def ensemble(request: pytest.FixtureRequest) -> Iterator[PartitionState]:
    """Three of each kind, for all tests."""
    with standing(request.param) as found:
        yield found


@pytest.fixture
def three(ensemble: PartitionState) -> Iterator[Three]:
    with struck(*ensemble) as found:
        yield found


def connected(three: Three, cluster: Cluster) -> LocalServer:
    """The node that the active controller is connected to."""
    return three.of(cluster)


def leader(three: Three, _: Cluster) -> LocalServer:
    """The node that leads the others."""
    return three.leader()


WHICH = pytest.mark.parametrize("which", [connected, leader])
Which = Callable[[Three, Cluster], LocalServer]


@attrs.define
class Load:
    """What callers ask while servers come and go: each has a deadline that is not over when they are back."""

    cluster: Cluster
    targets: Mapping[TopicPartition, tuple[int, int]]
    asked: list[Future[Any]] = attrs.field(factory=list)
    made: list[str] = attrs.field(factory=list)
    waves: int = 0

    def wave(self, of: int) -> None:
        """Of the moves one part in `of` may end, which isr changes do, and a topic and a listing are asked for."""
        tps = list(self.targets)
        self.cluster.let_go(tps[self.waves * len(tps) // of : (self.waves + 1) * len(tps) // of])
        self.waves += 1
        self.made.append(f"wave-{self.waves}")
        self.asked.append(self.cluster.send("create_topics", {self.made[-1]: NewTopic(2, 2)}, timeout_s=PATIENCE_S))
        self.asked.append(self.cluster.send("list_partition_reassignments", timeout_s=PATIENCE_S))

    def answered(self) -> None:
        """All were answered, by no error; brokers that asked for an isr got at most the error that it changed."""
        self.cluster.until(lambda: all(future.done() for future in self.asked), "all are answered")
        answers = [future.result() for future in self.asked]
        errors = [e for answer in answers if isinstance(answer, dict) for e in answer.values()]
        assert not [error for error in errors if isinstance(error, Exception)]
        for node in self.cluster.remotes.values():
            assert node.controller is not None
            assert not [error for _, error in node.controller.refused if not isinstance(error, OVERTAKEN)]
        self.cluster.look()
        assert set(self.made) <= set(self.cluster.committed.topics)


@WHICH
def test_a_node_that_is_killed_costs_no_caller_an_error_and_no_term(three: Three, tmp_path: Path, which: Which) -> None:
    """Kill -9 in the middle of moves, of the node that the controller is connected to or of the leader: who asked is
    answered within the deadline, and the same controller leads on."""
    with Cluster(three, tmp_path, controllers=2, session_s=LONG_S) as cluster:
        targets = asked_for(cluster, MOVES)
        cluster.reassign(targets)
        epoch, load = cluster.epoch, Load(cluster, targets)
        load.wave(3)
        killed = which(three, cluster)
        killed.kill()
        load.wave(3)
        load.answered()
        cluster.while_working(killed.start, "the node is back")
        load.wave(3)
        load.answered()
        finished(cluster, targets)
        assert cluster.epoch == epoch
        three.agree(cluster)


@WHICH
def test_a_node_that_is_cut_off_loses_nothing(three: Three, tmp_path: Path, which: Which) -> None:
    """No connection to it ends, and nothing passes: the controller goes to another node under the same session, or is
    deposed and the stand-by finishes; the node follows again when it is mended."""
    three.demand_cable()
    with Cluster(three, tmp_path, controllers=2, session_s=CUT_S, broker_session_s=CUT_S) as cluster:
        targets = asked_for(cluster, MOVES)
        cluster.reassign(targets)
        tps, epoch = list(targets), cluster.epoch
        cut = which(three, cluster)
        three.ensemble.cut(cut)
        cluster.let_go(tps[: MOVES // 2])
        cluster.ask("create_topics", {"meanwhile": NewTopic(2, 2)}, timeout_s=PATIENCE_S)
        cluster.until(lambda: cluster.deleted() >= MOVES // 2, "half of the moves are complete without the node")
        assert three.leader() is not cut
        three.ensemble.mend(cut)
        cluster.let_go(tps)
        finished(cluster, targets)
        assert "meanwhile" in cluster.committed.topics
        assert cluster.epoch >= epoch
        three.agree(cluster)


def test_what_a_leader_that_was_cut_off_holds_of_its_own_is_not_believed(three: Three, tmp_path: Path) -> None:
    """The active controller is cut off with it, and writes a move there: the others elect, the stand-by goes on, and
    when both are back the controller is deposed, and neither it nor the node knows of that move any more."""
    three.demand_cable()
    cut = three.leader()
    seat = three.seat_at(cut, SHORT_S)
    with Cluster(three, tmp_path, controllers=2, session_s=SHORT_S, broker_session_s=CUT_S, first_seat=seat) as cluster:
        targets = asked_for(cluster, MOVES)
        tps, old = list(targets), cluster.leader_node
        assert old.node_id == 101
        cluster.reassign(targets)
        (still,) = cluster.create_topic("still", [[1, 2]], records=1)
        cluster.until_converged()
        three.ensemble.cut(cut)
        asked = cluster.send("alter_partition_reassignments", {still: (3, 4)})
        cluster.until(lambda: cluster.remotes[102].is_active, "the stand-by has taken over")
        if three.name == "zookeeper":
            own = [write.key for one in three.only_held_by(cut) for write in one.writes if isinstance(write, Written)]
            assert "/brokers/topics/still/partitions/0/state" in own
        cluster.let_go(tps[: MOVES // 2])
        cluster.until(lambda: cluster.deleted() >= MOVES // 2, "half of the moves are complete")
        three.ensemble.mend(cut)
        cluster.until(lambda: asked.done() and not old.is_active, "the old controller knows that it was deposed")
        assert isinstance(asked.exception() or asked.result()[still], NotController)
        cluster.let_go(tps)
        finished(cluster, targets)
        assert (cluster.partition(still).replicas, cluster.partition(still).move) == ((1, 2), None)
        three.agree(cluster)


def test_a_controller_that_slept_beyond_its_session_writes_nothing_when_it_wakes(three: Three, tmp_path: Path) -> None:
    """The stand-by goes on without it, and finishes when it is awake."""
    with Cluster(three, tmp_path, controllers=2, session_s=SHORT_S) as cluster:
        targets = asked_for(cluster, MOVES)
        zombie = slept_through(cluster, targets)
        cluster.let_go(targets)
        finished(cluster, targets)
        assert cluster.leader_node is not zombie
        three.agree(cluster)


def test_servers_that_are_restarted_one_after_the_other_cost_no_caller_an_error(three: Three, tmp_path: Path) -> None:
    """Under load: moves, isr changes, and requests with deadlines, before, while and after each node is away."""
    with Cluster(three, tmp_path, controllers=2, session_s=LONG_S) as cluster:
        targets = asked_for(cluster, MOVES)
        cluster.reassign(targets)
        epoch, load = cluster.epoch, Load(cluster, targets)
        for node in three.ensemble.nodes:
            load.wave(6)
            cluster.while_working(node.stop, "the node is down")
            load.wave(6)
            cluster.while_working(node.start, "the node is back")
        load.answered()
        finished(cluster, targets)
        assert cluster.epoch == epoch
        three.agree(cluster)


@tenacity.retry(
    retry=tenacity.retry_if_exception_type((Unavailable, OutcomeUnknown)),
    stop=tenacity.stop_after_delay(PATIENCE_S),
    wait=tenacity.wait_fixed(0.05),
    reraise=True,
)
def stored(store: MetadataStore, number: int) -> None:
    """The key `/a` holds the number, and was written for that once."""
    found = store.get("/a", sync=True, timeout_s=CALL_S)
    if found is None or found.value != b"%d" % number:
        store.commit([Put("/a", b"%d" % number, ABSENT if found is None else found.version)], timeout_s=CALL_S)


def test_every_version_of_a_key_is_in_the_past_of_three_of_which_each_was_away(three: Three) -> None:
    """In order and once, whichever node missed it, and with the leader among those that died."""
    with closing(open_store(three.url(LONG_S))) as store:
        told: list[bytes | None] = []
        for turn, node in enumerate((*three.ensemble.nodes, three.leader())):
            node.kill()
            for number in range(20):
                stored(store, 20 * turn + number)
            told += [w.value for one in three.log.new() for w in one.writes if isinstance(w, Written) and w.key == "/a"]
            node.start()
        assert told == [b"%d" % number for number in range(80)]
