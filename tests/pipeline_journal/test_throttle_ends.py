"""Throttles that end without a change of configs have a row: the audit takes none of them for left behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kedge import ReassignPartitionsOptions, ThrottledRate
from kedge.controller.model.throttle_configs import RATES
from kedge.controller.model.values import TopicPartition
from kedge.controller.rig import Rig
from kedge.controller.rig.outside import set_by_hand
from kedge.controller.runtime.journal import FolderSink, Journal
from kedge.pipeline.audit import audit
from kedge.pipeline.journal.files import journal_files

BOTH = RATES["replication"]
TP = TopicPartition("orders", 0)


def set_without_controller(rig: Rig) -> None:
    """An operator sets another rate over the throttle: no controller leads that could record it."""
    assert rig.active is not None
    rig.mishaps.kill_controller(rig.active.node_id)
    set_by_hand(rig, "brokers", "2", dict.fromkeys(BOTH, "555000"))


def removed_without_controller(rig: Rig) -> None:
    assert rig.active is not None
    rig.mishaps.kill_controller(rig.active.node_id)
    set_by_hand(rig, "brokers", "2", dict.fromkeys(BOTH))


def made_to_stay_as_it_is(rig: Rig) -> None:
    """The same rates once more, to stay."""
    stays = {2: ThrottledRate(leader_rate=100_000, follower_rate=100_000)}
    rig.result(rig.admin.alter_interbroker_throttled_rates(stays, auto_remove_throttle=False).all())


@pytest.mark.slow
@pytest.mark.parametrize(
    "ends", [set_without_controller, removed_without_controller, made_to_stay_as_it_is], ids=lambda ends: ends.__name__
)
def test_throttle_whose_configs_another_client_changed_ends_with_a_row(
    ends: Callable[[Rig], None], tmp_path: Path
) -> None:
    sinks: list[FolderSink] = []

    def journal(_: int) -> Journal:
        sinks.append(FolderSink(tmp_path))
        return Journal(sinks[-1])

    brokers = dict.fromkeys(range(1, 5))
    rig = Rig(5, brokers=brokers, session_timeout_s=1.0, copy_rate_bytes_s=200_000, journal=journal)
    rig.create_topic("orders", replicas=[[1, 2]], records=100)
    rig.result(rig.admin.reassign_partitions({TP: [3, 4]}, ReassignPartitionsOptions(throttle=100_000)).all())
    ends(rig)
    rig.wait.until_replicas({TP: (3, 4)})
    rig.run(120_000)
    rig.create_topic("later", replicas=[[1, 2]])
    for sink in sinks:
        sink.close()
    found = audit(journal_files([tmp_path]))
    assert (found.violations, found.gaps) == ((), ())
