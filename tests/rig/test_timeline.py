"""The events of a cluster in words, as `rig.timeline` shows them to people.

`KEDGE_RECORD=1 pytest tests/rig/test_timeline.py` writes what is shown now; what `git diff` then shows is the change.
"""

from __future__ import annotations

import os
from pathlib import Path

from kedge.controller.rig import Rig

RECORDED = Path(__file__).with_name("timeline.txt")


def played() -> Rig:
    """A move, an order that is lost and one that comes twice, a leader that is cut off from the controller and asks for
    an isr, records that are cut off, a disk that fails, and a shutdown in order."""
    rig = Rig(seed=1, brokers=dict.fromkeys((1, 2, 3)), controllers=3, lag_max_ms=500)
    tp, other = rig.create_topic("t", replicas=[[1, 2], [2, 3]], records=5)
    rig.wait.until_quiet()
    rig.network.fates.extend(["lost", "doubled"])
    rig.reassign({tp: (3, 1)})
    rig.until(lambda: rig.partition(tp).replicas == (3, 1), what="it moved")
    assert rig.active is not None
    rig.network.cut(rig.active.node_id, 1)
    rig.mishaps.pause_broker(3)
    rig.produce(tp, 3)
    rig.run(800)
    rig.network.mend()
    rig.until(lambda: rig.partition(tp).isr == (1,), what="3 is out")
    rig.mishaps.resume_broker(3)
    rig.until(lambda: len(rig.partition(tp).isr) == 2, what="3 is in")
    rig.mishaps.lose_disk(3, other)
    rig.network.cut(rig.active.node_id, 1)
    rig.mishaps.shut_down_broker(1, patience_ms=10_000)
    rig.run(300)
    rig.network.mend()
    rig.wait.until_quiet()
    return rig


def test_timeline_shows_in_words_what_happened() -> None:
    timeline = played().timeline
    assert timeline.lines(2) == timeline.lines()[-2:]
    told = "\n".join(timeline.lines()) + "\n"
    if os.environ.get("KEDGE_RECORD"):
        RECORDED.write_text(told, encoding="utf-8")
    assert told == RECORDED.read_text(encoding="utf-8")
