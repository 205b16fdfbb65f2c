"""A seeded run: requests and mishaps first, then everything is healed and must converge.

The seed decides how many controllers and brokers there are, what is asked, and what goes wrong when. Nothing else does.
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Any, Final

import attrs

from kedge.controller.model.values import Settings
from kedge.controller.rig.outside import is_key_there, is_marked
from kedge.controller.rig.rig import Rig
from tests.verify.bounds import drawn
from tests.verify.kafka import KafkaBroker
from tests.verify.late_requests import LateChanges
from tests.verify.memory import check_memory
from tests.verify.throttle_work import do_some
from tests.verify.trouble import TROUBLE
from tests.verify.workload import WORKLOAD
from tests.verify.world import World

STEPS: Final = 300
OBJECTS_STEPS: Final = 3  # to look at rows that are kept as objects changes which of them are, so not after every step
HEALED_S_MAX: Final = 60.0  # a retry waits up to 10 s, a deadline of a request up to 5 s


@attrs.frozen
class Run:
    """How a seeded run ended. `error` None: all that must hold held. `trace`: its hash. `foreign_terms`: how often a
    Kafka broker was controller."""

    seed: int
    error: str | None
    trace: str
    steps: int
    commits: int
    acknowledged: int
    timeline: tuple[str, ...]
    foreign_terms: int = 0


def build(seed: int, journal: Callable[[int], Any] | None = None, *, beside_kafka: bool = False) -> World:
    """The cluster of a seed. `journal`: makes the journal of a node, by its id; it changes nothing of the run.
    `beside_kafka`: controllers expect Kafka brokers, so `/controller` stays while one follows another."""
    size = random.Random(f"{seed}/size")
    factor = random.Random(f"{seed}/factor")
    is_wide, count = factor.random() < 0.5, size.randint(3, 6)
    count = factor.randint(count, 7) if is_wide else count
    brokers = {broker_id: size.choice("abc") for broker_id in range(1, count + 1)}
    leaders = random.Random(f"{seed}/leaders")
    unclean = random.Random(f"{seed}/unclean")
    reduction = random.Random(f"{seed}/reduction")
    rig = Rig(
        seed,
        brokers=brokers,
        controllers=size.randint(2, 3),
        session_timeout_s=1.0,
        lag_max_ms=300,
        copy_rate_bytes_s=size.choice((20_000, 100_000, 1_000_000)),
        record_bytes=100,
        store=_store(size, 16 if is_wide else 10),
        settings=Settings(
            commit_decisions_max=size.choice((1, 3, 1_000)),
            topic_rewrite_interval_ms=size.choice((50, 1_000)),
            leader_imbalance_check_interval_seconds=leaders.choice((1, 2, 300)),
            leader_imbalance_per_broker_percentage=leaders.choice((0, 10)),
            delete_topic_partition_interval_delay_ms=reduction.choice((100, 1_000, 300_000)),
            kafka_brokers=beside_kafka,
            resume_foreign_targets=beside_kafka,
        ),
        journal=journal,
    )
    rig.polls_in_order = False
    trouble, work = size.choice((0.02, 0.06, 0.15)), size.choice((0.05, 0.15, 0.4))
    throttles = random.Random(f"{seed}/throttles")
    chance = throttles if throttles.random() < 0.5 else None
    world = World(rig, trouble, work, allows_unclean=unclean.random() < 0.2, throttles=chance)
    if is_wide:
        world.factor_max = 7  # rows of more replicas than a column has are kept in another way
    strays = random.Random(f"{seed}/strays")
    if strays.random() < 0.3:
        world.strays = strays
    late = random.Random(f"{seed}/late")
    if late.random() < 0.5:
        world.late = LateChanges(rig, late)
    return world


def _store(size: random.Random, ops_least: int) -> dict[str, Any]:
    """Versions counted in either way; sometimes commits of few keys only, and streams that overflow. `ops_least`: the
    end of a move may need as many, for the fence, both keys of the partition, the legacy key, marks, and an intent for
    each broker."""
    return {
        "versioning": size.choice(("global", "per_key")),
        "commit_ops_max": size.choice((ops_least, 10_000)),
        "queue_events_max": size.choice((4, 1_024)),
    }


def run_seed(
    seed: int, steps: int = STEPS, journal: Callable[[int], Any] | None = None, *, beside_kafka: bool = False
) -> Run:
    """Run a seed to its end, with `journal` as for `build`. `beside_kafka`: a Kafka broker takes `/controller` whenever
    it finds none."""
    with drawn(seed):
        return _run(seed, steps, journal, beside_kafka=beside_kafka)


def _run(seed: int, steps: int, journal: Callable[[int], Any] | None, *, beside_kafka: bool) -> Run:
    world = build(seed, journal, beside_kafka=beside_kafka)
    rig = world.rig
    kafka = KafkaBroker(rig, seed) if beside_kafka else None
    error: str | None = None
    try:
        break_things(world, steps, kafka)
        if kafka is not None:
            kafka.end()
        heal(world)
    except AssertionError as failed:
        error = f"{type(failed).__name__}: {failed}"
    except Exception:  # noqa: BLE001 - whatever escapes from a controller is a finding of this seed
        error = traceback.format_exc()
    return Run(
        seed,
        error,
        rig.timeline.trace,
        rig.clock.elapsed_ms // rig.tick_ms,
        rig.server.revision,
        rig.producers.acknowledged(),
        tuple(rig.timeline.lines()),
        0 if kafka is None else kafka.wins,
    )


def break_things(world: World, steps: int, kafka: KafkaBroker | None = None) -> None:
    """Phase 1: `steps` steps with requests and mishaps."""
    rig = world.rig
    for step in range(steps):
        world.due()
        if step < 5 or world.happens(world.work):
            rig.timeline.say("workload", world.choose(WORKLOAD)(world))
        if world.throttles is not None and world.throttles.random() < world.work / 4:
            rig.timeline.say("workload", do_some(world, world.throttles))
        if step > 10 and world.happens(world.trouble):
            rig.timeline.say("trouble", world.choose(TROUBLE)(world))
        for late in () if world.late is None else world.late.arrive(world.trouble):
            rig.timeline.say("trouble", str(late))
        if kafka is not None:
            kafka.step()
        rig.step()
        check_memory(rig, and_objects=step % OBJECTS_STEPS == 0)


def heal(world: World) -> None:
    """Phase 2: all is mended, nothing more is asked; moves end, everyone agrees, every request was answered."""
    rig = world.rig
    world.agenda.clear()
    rig.timeline.say("rig", "heals everything")
    rig.mishaps.heal()
    rig.until(lambda: not world.partitions(moving=True), timeout_s=HEALED_S_MAX, what="no move is left")
    rig.until(lambda: not is_key_there(rig), timeout_s=HEALED_S_MAX, what="the legacy key is gone")
    rig.wait.until_converged(timeout_s=HEALED_S_MAX)
    if is_marked(rig):
        _take_over_marks(rig)
    rig.check_end()
    rig.until(lambda: not world.unanswered(), timeout_s=HEALED_S_MAX, what=f"answers to {world.unanswered()}")


def _take_over_marks(rig: Rig) -> None:
    """A throttle that was set while nothing moved goes with the next takeover."""
    node = rig.active
    if node is not None:
        rig.timeline.say("rig", "lets another controller find the marks of throttles")
        rig.mishaps.kill_controller(node.node_id)
        rig.until(lambda: rig.active is not None, timeout_s=HEALED_S_MAX, what="another controller is active")
        rig.mishaps.heal()
    rig.until(lambda: not is_marked(rig), timeout_s=HEALED_S_MAX, what="no throttle is marked")
    rig.wait.until_converged(timeout_s=HEALED_S_MAX)
