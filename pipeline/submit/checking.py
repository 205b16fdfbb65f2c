"""The conditions for submitting a wave. Raises Refused, with the partition or the broker, if one does not hold.

Partitions that are under-replicated and not moving do not refuse a wave: it waits until they are in sync, since its
copies would slow down the replicas that catch up. Replicas on brokers that the plan takes the partition off do not
count, or a plan that empties a dead broker would wait for that broker.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...controller.model.plural import counted
from ..errors import Refused
from .cluster import Name
from .looking import Job, Looking, listed, named
from .route import Unsure
from .standing import Standing, ids


def check(looking: Looking, job: Job) -> str:
    """Check that the wave may be submitted, and return what it has to wait for; empty: nothing. A wave whose moves are
    all running or done may be followed in any case."""
    standings = looking.looked(job, job.wave.moves, lambda found: bool(_foreign(found)))
    if foreign := _foreign(standings):
        raise Refused(f"{job.words}: {named(foreign, lambda s: s.words)}; make a new plan")
    missing = [s for s in standings if s.kind == "missing"]
    if not missing:
        return ""
    _check_others(looking, job)
    _check_targets(looking, job, missing)
    if any(s.kind in ("running", "against") for s in standings):
        return ""
    _ask(looking, job, missing)
    return "" if job.undoes or looking.ignores_under_replicated else _under_replicated(looking)


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
        refused = looking.way.check(looking.throttled(job.wave), [s.move for s in missing])
    except Unsure:
        return
    if refused:
        what = listed([f"{topic}-{number}: {why}" for (topic, number), why in refused.items()])
        raise Refused(f"{job.words}: the controller refuses {what}")


def _under_replicated(looking: Looking) -> str:
    """What a new wave waits for. As brokers hear late of a move that has ended, one look proves nothing."""
    found: list[tuple[Name, frozenset[int]]] = []
    for pause_s in (0.0, *looking.way.looks_again_s):
        looking.time.pause(pause_s)
        seen = looking.asked(looking.way.under_replicated)
        found = sorted((name, of) for name, of in seen.items() if not of <= looking.leaving.get(name, frozenset()))
        if not found:
            return ""
    what = listed([f"{topic}-{number} (not in sync: {ids(of)})" for (topic, number), of in found])
    return f"{counted(len(found), 'under-replicated partition')} that no reassignment moves: {what}"
