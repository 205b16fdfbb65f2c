"""The example of processes on a real store: the move outlives a killed process, and its broker is a careful host."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from examples.processes.broker import NO_LEADER, OFFLINE, Broker
from kedge import HostResponse, LeaderAndIsrRequest, StopReplicaRequest, TopicPartition, UpdateMetadataRequest
from kedge.controller.rig.host_suite import CASES, Ability, Case, Held, HostUnderTest, Role
from tests.kit.commands import CHECKOUT, run_example

SECONDS_MAX = 180
SESSION_S = 4
# A broker's session is not that of its controller: the next controller may still see the killed process's broker.
CALLED_THE_DEAD = r"callbacks of broker (\d) failed and will be repeated: .*Error.*"
MOVED = r"""controller (\d) moves orders-0 from \[\1, (\d)\] to \[\2, (\d)\]
process \1 is dead; controller (?:\2|\3), epoch 2, continues 1 move
orders-0 is on \[\2, \3\], in sync \[\2, \3\]
"""


@pytest.mark.server
@pytest.mark.parametrize(
    "server",
    [pytest.param("etcd_server", marks=pytest.mark.slow), pytest.param("zookeeper_server", marks=pytest.mark.full)],
)
def test_a_move_outlives_the_killed_process_of_its_controller(server: str, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue(server).url("/processes", session_timeout=SESSION_S)
    printed = run_example("processes", url, seconds_max=SECONDS_MAX, logs=CALLED_THE_DEAD)
    assert re.fullmatch(MOVED, printed), printed


def test_the_page_of_the_example_shows_what_it_prints() -> None:
    page = (CHECKOUT / "examples" / "processes" / "README.md").read_text(encoding="utf-8")
    assert re.fullmatch(MOVED, page.partition("```text\n")[2].partition("```")[0])


def unreachable(*_: object) -> None:
    raise ConnectionError("nothing here calls the controller")


class Brokers(HostUnderTest):
    """The brokers of the example, without their network."""

    name = "processes"
    abilities = frozenset({Ability.TARGETS, Ability.STRICT})
    quiet_ms = 0  # a request is carried out before it is answered

    def open(self, broker_ids: Sequence[int]) -> Brokers:
        self.brokers = {broker_id: Broker(broker_id, unreachable) for broker_id in broker_ids}  # type: ignore[arg-type]
        return self

    def close(self) -> None:
        """There is nothing to close."""

    def registered(self, broker_id: int, epoch: int) -> None:
        self.brokers[broker_id].epoch = epoch

    def held(self, broker_id: int, tp: TopicPartition, topic_id: str) -> Held | None:
        said = self.brokers[broker_id].replicas.get((topic_id, tp.partition))
        if said is None:
            return None
        role = Role.LEADER if said.leader == broker_id else Role.FOLLOWER
        role = Role.IDLE if said.leader == NO_LEADER or said.status_code == OFFLINE else role
        return Held(role, said.leader, said.leader_epoch, said.isr)

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return self.brokers[request.broker_id].leader_and_isr(request)

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return self.brokers[request.broker_id].update_metadata(request)

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return self.brokers[request.broker_id].stop_replica(request)


@pytest.mark.parametrize("case", [case for case in CASES if not case.lacks(Brokers())], ids=lambda case: case.name)
def test_its_broker_passes_the_suite_for_hosts(case: Case) -> None:
    case.run(Brokers())
