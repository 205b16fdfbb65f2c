"""The conditions for submitting a wave. Raises Refused, with the partition or the broker, if one does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import Refused
from .looking import Job, Looking, listed, named
from .route import Unsure
from .standing import Standing


def check(looking: Looking, job: Job) -> None:
    """Check that the wave may be submitted. A wave whose moves are all running or done may be followed in any case."""
    looking.begin()
    standings = looking.looked(job, job.wave.moves, lambda found: bool(_foreign(found)))
    if foreign := _foreign(standings):
        raise Refused(f"{job.words}: {named(foreign, lambda s: s.words)}; make a new plan")
    missing = [s for s in standings if s.kind == "missing"]
    if not missing:
        return
    _check_others(looking, job)
    _check_targets(looking, job, missing)
    if not any(s.kind in ("running", "against") for s in standings):
        _ask(looking, job, missing)


def _foreign(standings: Sequence[Standing]) -> list[Standing]:
    return [s for s in standings if s.kind == "foreign"]


def _check_others(looking: Looking, job: Job) -> None:
    others = sorted(looking.asked(looking.way.moving) - {move.name for move in job.wave.moves})
    if others:
        what = listed([f"{topic}-{number}" for topic, number in others])
        raise Refused(f"{job.words}: other reassignments are running: {what}; wait for them, or cancel them")


def _check_targets(looking: Looking, job: Job, missing: Sequence[Standing]) -> None:
    there, _ = looking.asked(looking.way.alive)
    dead = {s.move.name: [b for b in s.move.after if b not in s.seen.replicas and b not in there] for s in missing}
    brokers = sorted({broker for down in dead.values() for broker in down})
    if brokers:
        what = named([s for s in missing if dead[s.move.name]], lambda s: f"to {list(s.move.after)}")
        raise Refused(f"{job.words}: targets are down: {brokers}: {what}")


def _ask(looking: Looking, job: Job, missing: Sequence[Standing]) -> None:
    """Check that the controller would accept them; if it cannot answer now, submitting will show it."""
    looking.time.checkpoint()
    try:
        refused = looking.way.check(job.wave, [s.move for s in missing])
    except Unsure:
        return
    if refused:
        what = listed([f"{topic}-{number}: {why}" for (topic, number), why in refused.items()])
        raise Refused(f"{job.words}: the controller refuses {what}")
