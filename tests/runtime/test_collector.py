"""The collector of a process that has several controllers."""

from __future__ import annotations

import gc
import subprocess
import sys
from contextlib import ExitStack

import pytest

from kedge.controller.runtime import gc_tuning
from kedge.controller.runtime.gc_tuning import YOUNG, collector_off, give_back, many_stay, tuned


class Cycle:
    """Refers to itself. `ended`: how many are freed."""

    ended = 0

    def __init__(self) -> None:
        self.me = self

    def __del__(self) -> None:
        Cycle.ended += 1


def test_it_rests_until_the_last_is_through() -> None:
    assert gc.isenabled()
    first, second = ExitStack(), ExitStack()
    with tuned():
        first.enter_context(collector_off())
        second.enter_context(collector_off())
    first.close()
    assert not gc.isenabled()
    second.close()
    assert gc.isenabled()


def test_blocks_that_overlap_for_long_let_it_collect(monkeypatch: pytest.MonkeyPatch) -> None:
    with tuned(), collector_off():
        before = Cycle.ended
        Cycle()
        with collector_off():
            assert Cycle.ended == before
        monkeypatch.setattr(gc_tuning, "OFF_S", 0.0)
        with collector_off():
            assert Cycle.ended == before + 1


def test_what_is_given_back_includes_cycles_where_tuning_is_allowed() -> None:
    before = Cycle.ended
    with tuned(), collector_off():
        Cycle()
        give_back()
        assert Cycle.ended == before + 1


def test_nothing_is_done_to_it_without_a_request() -> None:
    before = gc.get_freeze_count(), gc.get_threshold()
    with collector_off():
        assert gc.isenabled()
    many_stay()
    assert (gc.get_freeze_count(), gc.get_threshold()) == before
    gc.disable()
    try:
        ended = Cycle.ended
        Cycle()
        give_back()
        assert Cycle.ended == ended
    finally:
        gc.enable()


def test_who_has_switched_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with tuned(), collector_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


_LOADS = """
import gc
from benchmarks.cluster import QuietHost, plant
from kedge import Controller
from kedge.stores import MemoryServer, MemoryStore

{before}
frozen = gc.get_freeze_count()  # Python 3.12 begins with some
server = MemoryServer()
plant(MemoryStore(server), {topics}, 10, 3)
with Controller(MemoryStore(server), 1, QuietHost(){more}) as controller:
    while not controller.describe().is_active:
        controller.poll_once()
    print(gc.get_freeze_count() > frozen, gc.get_threshold()[0], gc.isenabled())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "topics,before,more,told",
    [
        (1_001, "", ", tune_gc=True", f"True {YOUNG} True"),
        (1_001, "gc.set_threshold(3_000)", ", tune_gc=True", "True 3000 True"),
        (1_001, "gc.set_threshold(0)", ", tune_gc=True", "True 0 True"),
        (10, "", ", tune_gc=True", f"False {gc.get_threshold()[0]} True"),
        (1_001, "", "", f"False {gc.get_threshold()[0]} True"),
    ],
    ids=["many", "its own", "never", "few", "not asked"],
)
def test_many_partitions_are_left_alone_and_new_objects_looked_at_less_often(
    topics: int, before: str, more: str, told: str
) -> None:
    """Unless the process has a threshold of its own; in one of its own, since all of it is changed for good."""
    command = [sys.executable, "-c", _LOADS.format(topics=topics, before=before, more=more)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert said.stdout.strip() == told
