"""A seeded run: requests and failures first, then everything is healed, and the host must converge."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Final

import attrs

from ...model.values import Settings
from ..hosted.rig import HostRig
from ..hosted.under_test import HostUnderTest, made
from .work import TROUBLE, WORK, Scene, replace_if_gone, start_if_down

STEPS: Final = 200
HEALED_MS_MAX: Final = 60_000  # a controller retries after up to 10 s, and a host may do so too


@attrs.frozen
class Run:
    """How a seeded run ended. `error` None: the host kept every rule. `rule`: the name of the one that it broke; None
    where something else was raised. `trace`: the hash of all events. `raised`: exceptions of the host's callbacks."""

    seed: int
    error: str | None
    rule: str | None
    trace: str
    steps: int
    timeline: tuple[str, ...]
    raised: tuple[str, ...]


def run_seed(make: Callable[[], HostUnderTest], seed: int, steps: int = STEPS) -> Run:
    """Run one seed with a host from `make`. Raises TypeError and ValueError for an invalid host."""
    host = made(make)
    size = random.Random(f"{seed}/host")  # noqa: S311 - seeded randomness is the aim
    brokers = tuple(range(1, size.randint(3, 4) + 1))
    settings = Settings(leader_imbalance_check_interval_seconds=size.choice((1, 300)))
    store = {"versioning": size.choice(("global", "per_key")), "queue_events_max": size.choice((4, 1_024))}
    rig = HostRig(host, seed, brokers=brokers, settings=settings, **store)
    scene = Scene(rig, size.choice((0.03, 0.08, 0.15)), size.choice((0.1, 0.2, 0.4)))
    error: str | None = None
    try:
        _break_things(scene, steps)
        _heal(scene)
    except AssertionError as failed:
        error = str(failed)
    except Exception:  # noqa: BLE001 - whatever the host raises outside of a callback is a finding of this seed
        error = traceback.format_exc()
    finally:
        rig.close()
        host.close()
    broken = rig.judge.broken
    return Run(
        seed,
        error,
        None if broken is None else broken.rule.name,
        rig.timeline.trace,
        rig.clock.elapsed_ms // rig.tick_ms,
        tuple(rig.timeline.lines()),
        tuple(line for broker in rig.brokers.values() for line in broker.raised),
    )


def _break_things(scene: Scene, steps: int) -> None:
    rig = scene.rig
    for step in range(steps):
        scene.due()
        if step < 5 or scene.happens(scene.work):
            rig.timeline.say("work", scene.choose(WORK)(scene))
        if step > 10 and scene.happens(scene.trouble):
            rig.timeline.say("trouble", scene.choose(TROUBLE)(scene))
        rig.step()


def _heal(scene: Scene) -> None:
    rig = scene.rig
    scene.agenda.clear()
    rig.timeline.say("run", "heals everything")
    rig.mishaps.heal_controllers()
    rig.isr_link.holds_answers = rig.isr_link.loses_answers = False
    for broker in rig.brokers:
        replace_if_gone(scene, broker)
        start_if_down(scene, broker)
    rig.converge("not reached once all was healed:", HEALED_MS_MAX)
    for _ in range(0, rig.host.quiet_ms, rig.tick_ms):
        rig.step()
    rig.converge("not any more, once all was quiet:", HEALED_MS_MAX)
