"""Seeded runs with requests and mishaps, healed in the end: every invariant held at every step, and all converged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

from kedge.controller.model.errors import ApiError, InvalidUpdateVersion
from kedge.controller.rules import isr
from tests.verify.explore import build, run_seed

FAST = range(1, 7)
FOUND = (
    217,  # a broker that bounced before it was admitted stayed known under its former epoch
    282,  # the same, with commits of few keys
    69,  # a key read twice and written back in between: its partition epoch went back
    143,  # an isr that a leader wrote into the key of a topic that is being deleted was overwritten
    265,  # the same, in a larger cluster
    1317,  # a broker returned while the key of a deleted topic was mended: without an order to delete its log
    1527,  # a target that was away held a log of a partition whose state key was unreadable: not asked to delete it
    2824,  # a broken state key was written again, and no leader heard of its partition epoch
    3474,  # the same, in a larger cluster
    440,  # the state of a partition that was stopped, broken and mended by hand, was sent as it was never written
    98,  # the retention of all topics, set meanwhile, took a read-only partition offline
    324,  # what an operator set between the mark of a throttle and the throttle did not come back
    1312,  # a move began in the commit that took the mark of the throttles of the last one away
    2056,  # what a leader wrote itself was read behind a request that was decided again, and overwritten
    20_521,  # the deletion of a topic never ended that began with a purge of its partitions
    21_004,  # a topic whose key could not be read was taken for one that moves
    21_432,  # a partition that was never led and is to go was missed by the check of the tree
    1677,  # a cancel in the commit in which a target joined left just what the target was
    1855,  # the key of a reduction was broken by hand while its partitions were being purged
    1905,  # the same, and the state of such a partition, too
    310,  # a takeover that could not read a topic's key took its mark away, and left its lists of throttled replicas
    22_985,  # what was marked of a topic whose key could not be read was cut down to what was known of its lists
    23_197,  # such a topic was dropped from the mark by a request for the throttles of others
    23_396,  # a topic that was deleted took its mark along while another one moved: taken for a removal
    22_094,  # what an operator asked for in the commit of a throttle was not known as the operator's
    24_281,  # a partition began in the commit in which its leader died, and so under a later leader epoch
    22_187,  # a deletion that began with the purge of a reduction never ended
    44_251,  # the last of a removal, and a plan that began in the same commit: taken for a removal while it moves
    40_529,  # a broken state key of a topic that is being deleted counted for the partition epoch that was sent
    42_873,  # the same bytes, written behind the lost reply of the commit that made the key, were taken for ours
    50_074,  # a key came while a removal was under way, and was taken by its last commit: taken for a removal under it
    31_239,  # the key of a reduction went while a state that was mended was not read yet: it says it again later
    2_002_579,  # an empty plan, written behind the lost reply of the commit that removed the key, was taken for known
    2_003_300,  # a request made throttles permanent while a move had begun: taken for a removal while it moves
    2_004_657,  # the same while a plan had come by the legacy key
    750,  # a plan came behind the commit that removed the last throttle, and was taken for there before it
    1257,  # a move was requested before its topic was deleted and made again: taken for a target without a request
    32,  # a takeover decided a death before ISR members that are no replicas had joined
    20_007_124,  # a partition of a reduction was offline, and a higher one, which could not be read, was not
    20_006_149,  # a request to forget a broker that was forgotten before was refused: its log counted again
    2_008_169,  # a slow broker heard of a purged partition when the next one of its id was offline: taken for a lie
)
"""Seeds that failed once. What a seed does changes with the tables of work and trouble: each has a test of its own
beside it, by the same words."""
COUNTED = range(6, 31)
BLOCKS = [range(first, first + 25) for first in range(31, 131, 25)]
FOUND_LONG = (
    4_019,  # more deletions acknowledged at once than a commit takes: never forgotten
    5_004,  # an order to delete was dropped by a takeover that could not read the state, so it did not know it offline
    5_051,  # as many partitions went as one commit takes: the key of their reduction stayed
    3_000_464,  # configs were altered by others, and a request that changed nothing of what was known was answered
)
LONG = [range(first, first + 10) for first in range(5_101, 5_121, 10)]
DEEDS = {
    "create": r"asks \d+: create t\d+$",
    "create again": r"asks \d+: create t\d+ again",
    "delete": r"asks \d+: delete t",
    "delete, by the key": "somebody else asks for the deletion of t",
    "expand": r"asks \d+: expand",
    "reduce, delayed": r"asks \d+: reduce .*immediate_delete=False",
    "reduce, at once": r"asks \d+: reduce .*immediate_delete=True",
    "reduce, by the key": "somebody else puts /admin/delete_topic_partitions/",
    "reassign": r"asks \d+: alter \S+ to \[",
    "reassign, by the key": "legacy key: t",
    "cancel": r"asks \d+: alter \S+ to None",
    "cancel all": r"asks \d+: cancel all",
    "roll back": r"asks \d+: roll back",
    "throttled reassign": r"asks \d+: throttled: ",
    "change of rates": r"asks \d+: (replication|reassignment) rates of \[\d",
    "change of lists": r"asks \d+: throttled replicas of",
    "an operator's setting, by hand": "an operator sets ",
    "an operator's setting, by the admin API": r"asks \d+: an operator: ",
    "elect preferred": r"asks \d+: elect preferred",
    "elect unclean": r"asks \d+: elect unclean",
    "forget a broker": r"asks \d+: forget broker",
}
_STATE = re.compile(r"(t\d+-\d+) R (\[.*?\]) I (\[.*?\])(?: T (\[.*?\]))? leader \S+(?: status (\S+))?")


def _hold(seeds: range, steps: int) -> None:
    for seed in seeds:
        run = run_seed(seed, steps)
        replay = f"python -m tests.verify explore --seeds {seed} --steps {steps} --timeline"
        assert run.error is None, f"{run.error}\nreplay: {replay}"


@pytest.mark.slow
@pytest.mark.checklist(112, 113, 232)
@pytest.mark.parametrize("seed", [*FAST, *FOUND])
def test_a_broken_cluster_heals(seed: int) -> None:
    _hold(range(seed, seed + 1), 300)


@pytest.mark.slow
def test_late_request_of_a_leader_that_counts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of an ISR that arrives again, behind later ones."""
    right = isr._check_epochs  # noqa: SLF001

    def check(*args: Any) -> ApiError | None:
        error = right(*args)
        return None if isinstance(error, InvalidUpdateVersion) else error

    monkeypatch.setattr(isr, "_check_epochs", check)
    error = run_seed(8_000_001).error
    assert error is not None
    assert "the isr gains brokers that no leader named" in error


def _seen(timeline: Iterable[str]) -> Counter[str]:
    """What was asked, by kind of deed, and what came of it."""
    seen: Counter[str] = Counter()
    before: dict[str, tuple[str, ...]] = {}
    for line in timeline:
        if " ms  workload " in line:
            seen.update(name for name, pattern in DEEDS.items() if re.search(pattern, line))
        elif " commits " in line:
            for tp, *now in _STATE.findall(line):
                replicas, isr, target, status = before.get(tp, now)
                seen["the isr changes"] += now[0] == replicas and now[1] != isr
                seen["a move begins"] += bool(now[2]) and not target
                seen["a move ends"] += bool(target) and not now[2]
                seen["a move is overridden"] += bool(now[2] and target) and now[2] != target
                seen["read-only"] += now[3] == "-1" != status
                seen["offline"] += now[3] == "1" != status
                before[tp] = tuple(now)
            seen["a throttle is marked or removed"] += "/admin/throttled_" in line
    return seen


@pytest.mark.full
def test_each_kind_of_deed_happens_in_a_block_of_seeds() -> None:
    """Asked for, not only drawn; and moves, reductions, throttles and changes of an isr come of it."""
    seen: Counter[str] = Counter()
    sizes = set[str]()
    for seed in COUNTED:
        run = run_seed(seed)
        assert run.error is None, run.error
        seen += _seen(run.timeline)
        rig = build(seed).rig
        sizes |= {f"{len(rig.nodes)} controllers", f"{len(rig.brokers)} brokers"}
    assert [name for name in DEEDS if seen[name] < 3] == [], seen
    results = {"the isr changes", "a move begins", "a move ends", "a throttle is marked or removed"}
    assert [name for name in results if seen[name] < 24] == [], seen
    assert [name for name in ("a move is overridden", "read-only", "offline") if seen[name] < 3] == [], seen
    assert sizes == {"2 controllers", "3 controllers", *(f"{count} brokers" for count in range(3, 8))}


@pytest.mark.full
@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_many_broken_clusters_heal(seeds: range) -> None:
    _hold(seeds, 300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", FOUND_LONG)
def test_a_seed_that_found_something_holds(seed: int) -> None:
    _hold(range(seed, seed + 1), 1_000)


@pytest.mark.full
@pytest.mark.parametrize("seeds", LONG, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_clusters_that_were_broken_for_long_heal(seeds: range) -> None:
    _hold(seeds, 1_000)
