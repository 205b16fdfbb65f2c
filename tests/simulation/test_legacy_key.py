"""Moves that an outside client asks for by the legacy key, from the write to the last byte."""

from __future__ import annotations

import pytest

from kedge.controller.rig import Rig
from kedge.controller.rig.outside import is_key_there, submit_by_key
from tests.simulation.clusters import AFTER, BEFORE, ORDERS, orders, settle


def _gone(rig: Rig) -> None:
    rig.until(lambda: not is_key_there(rig), timeout_s=60, what="the key is gone")


@pytest.mark.slow
@pytest.mark.checklist(115, 117)
def test_a_client_that_writes_the_key_and_polls_it_finds_the_move_done_when_the_key_is_gone() -> None:
    rig = orders(records=2_000, copy_rate_bytes_s=1_000_000)
    writer = rig.write([ORDERS], records_per_s=300)
    submit_by_key(rig, {ORDERS: AFTER})
    _gone(rig)
    assert rig.partition(ORDERS).replicas == AFTER
    writer.stop()
    settle(rig)
    assert [rig.brokers[b].log(ORDERS) for b in BEFORE] == [None] * 3
