"""A plan wave after wave: handed over, rolled back, cancelled.

* A wave is written down as begun before anything is asked for, and as done once its last move is complete. Who comes
  after a crash goes on where the cluster is.
* A rollback takes the waves that were begun, the last one first. Meanwhile, and until it is done, the plan does not go
  forward.
* Whatever ends the caller's thread leaves the running wave running.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from pipeline.errors import BadInput, Refused, Stopped
from pipeline.submit.checking import check
from pipeline.submit.exported import Exported, Wave, read_export
from pipeline.submit.following import Follower
from pipeline.submit.kept import Progress, locked, read_progress
from pipeline.submit.looking import POLL_S, Event, Job, Tell
from pipeline.submit.way import Time, Unsure, Way
from pipeline.submit.ways import Admin, AdminWay, LegacyWay
from stores import MetadataStore

CANCEL_S: Final = 60.0
NO_THROTTLES: Final = "its waves have throttles, and none pass through the legacy key"

Reach: TypeAlias = MetadataStore | Callable[[Progress], Way]
"""Where a plan is handed over: to the controller of a store, or by another way, which is made for one plan, in whose
progress it keeps what must outlive a crash."""


def _quiet(event: Event) -> None:
    """Nobody listens."""


@attrs.frozen(kw_only=True)
class Options:
    """How a plan is handed over. `admin`: gives the admin API of the controller of a store that leads; None: by the
    legacy key. `throttles`: whether the waves' rates are to be kept. `timeout_s`: of each wave."""

    admin: Callable[[], Admin] | None = None
    throttles: bool = True
    timeout_s: float | None = None
    poll_s: float = POLL_S
    time: Time = attrs.field(factory=Time)
    tell: Tell = _quiet


@attrs.frozen
class Outcome:
    """What came of it. `waves`: those that are complete now (of a rollback: undone), `sent`: how many moves were handed
    over by this call. `told`: what is to be said though all is done."""

    end: Literal["done", "cancelled", "dry run"]
    waves: tuple[int, ...] = ()
    sent: int = 0
    told: tuple[str, ...] = ()


def submit(
    folder: Path,
    to: Reach,
    options: Options = Options(),
    *,
    first: int | None = None,
    last: int | None = None,
    dry_run: bool = False,
) -> Outcome:
    """Every wave of the exported plan (from `first` to `last`) is complete, its throttles gone, in the order of their
    numbers. May be called again after anything: it goes on where the cluster is. `dry_run`: the first wave that is not
    done is checked, and what would be handed over told; nothing is written.

    BadInput: no export, one that differs from its manifest, one with none of the waves, or one that needs throttles
    and is handed over without an admin API and not with `throttles=False`. Refused: the cluster is not what the plan
    was made from, something else is being reassigned, a target is down, the plan was changed, somebody else submits it.
    Stopped: a wave is not complete within `timeout_s`, or cannot be. What the store or the way raises.
    """
    plan = read_export(folder)
    waves = [_as_asked(wave, options) for wave in plan.waves if _is_in(wave, first, last)]
    if plan.waves and not waves:
        asked = f"{'the first' if first is None else first} to {'the last' if last is None else last}"
        raise BadInput(f"{folder}: has waves 1 to {plan.waves[-1].number}, and none of those asked for: {asked}")
    with _begun(plan, dry_run=dry_run) as progress:
        follower = _follower(folder, to, options, progress, waves)
        if progress.is_undoing:
            raise Refused(f"{folder}: a rollback is under way; --rollback goes on with it")
        jobs = [Job(wave, len(plan.waves), wave.number in progress.waves) for wave in waves]
        jobs = [job for job in jobs if progress.waves.get(job.wave.number) != "done"]
        if dry_run:
            return _dry(follower, jobs)
        return _run(follower, progress, jobs)


def roll_back(
    folder: Path,
    to: Reach,
    options: Options = Options(),
    *,
    dry_run: bool = False,
) -> Outcome:
    """The waves that were begun are undone, the last one first: their partitions are where they were before. A wave
    that runs is cancelled first; without an admin API it is waited for. Errors as those of `submit`."""
    plan = read_export(folder)
    with _begun(plan, dry_run=dry_run) as progress:
        begun = [_as_asked(wave, options) for wave in reversed(plan.waves) if wave.number in progress.waves]
        follower = _follower(folder, to, options, progress, begun)
        jobs = [Job(wave.reversed(), len(plan.waves), is_begun=True, undoes=True) for wave in begun]
        done = _dry(follower, jobs) if dry_run else _run(follower, progress, jobs)
        return done if jobs else Outcome("done", told=("nothing of the plan was handed over from here",))


def cancel(folder: Path, to: Reach, options: Options) -> Outcome:
    """Nothing of the plan runs any more, and its throttles are gone; what is complete stays. Refused without an admin
    API: nothing can be cancelled through the legacy key. Stopped where a move cannot be cancelled."""
    plan = read_export(folder)
    with _begun(plan, dry_run=False) as progress:
        follower = _follower(folder, to, options, progress, [])
        if not follower.way.takes_throttles:
            raise Refused(f"{folder}: nothing can be cancelled through the legacy key; it needs an admin API")
        begun = [wave for wave in plan.waves if progress.waves.get(wave.number) in ("sent", "undoing")]
        jobs = [Job(_facing(wave, progress), len(plan.waves), is_begun=True) for wave in begun]
        cancelled = sum(_cancel(follower, job) for job in jobs)
        told = [why for job in (*jobs, None) if (why := follower.settle(job))]
        for wave in begun:
            if progress.waves[wave.number] == "sent":
                progress.set(wave.number, "cancelled")
        return Outcome("cancelled", tuple(wave.number for wave in begun), cancelled, tuple(told))


def _facing(wave: Wave, progress: Progress) -> Wave:
    return wave.reversed() if progress.waves[wave.number] == "undoing" else wave


def _follower(folder: Path, to: Reach, options: Options, progress: Progress, waves: list[Wave]) -> Follower:
    """By the way that was asked for, which takes these waves as they are. BadInput where it does not."""
    way: Way
    if callable(to):
        way = to(progress)
    else:
        way = LegacyWay(to) if options.admin is None else AdminWay(to, options.admin, options.time)
    if not way.takes_throttles and any(wave.rates for wave in waves):
        raise BadInput(f"{folder}: {NO_THROTTLES}; --no-throttle does without")
    return Follower(way, options.time, options.tell, options.timeout_s, options.poll_s)


def _is_in(wave: Wave, first: int | None, last: int | None) -> bool:
    return (first is None or wave.number >= first) and (last is None or wave.number <= last)


def _as_asked(wave: Wave, options: Options) -> Wave:
    return wave if options.throttles else attrs.evolve(wave, rates={})


@contextmanager
def _begun(plan: Exported, *, dry_run: bool) -> Iterator[Progress]:
    if dry_run:
        yield read_progress(plan, is_kept=False)
        return
    with locked(plan.folder):
        yield read_progress(plan)


def _dry(follower: Follower, jobs: list[Job]) -> Outcome:
    """The first wave is checked; of the others nobody knows what will be there."""
    missing = 0
    for place, job in enumerate(jobs):
        count = len(job.wave.moves)
        if place == 0:
            check(follower, job)
            count = sum(s.kind == "missing" for s in follower.standings(job, follower.look(job.wave.moves)))
        follower.tell(Event("sent", job.wave.number, job.waves, count, bytes=job.wave.bytes, eta_s=job.wave.eta_s))
        missing += count
    return Outcome("dry run", tuple(job.wave.number for job in jobs), missing)


def _run(follower: Follower, progress: Progress, jobs: list[Job]) -> Outcome:
    sent, told = 0, []
    for job in jobs:
        began_s = follower.time.now_s()
        check(follower, job)
        progress.set(job.wave.number, "undoing" if job.undoes else "sent")
        sent += follower.follow(attrs.evolve(job, is_begun=True))
        if why := follower.settle(job):
            told.append(why)
            follower.tell(Event("told", job.wave.number, job.waves, text=why))
        progress.set(job.wave.number, None if job.undoes else "done")
        size, count, seconds = job.wave.bytes, len(job.wave.moves), follower.time.now_s() - began_s
        follower.tell(Event("wave", job.wave.number, job.waves, count, count, size, size or 0, seconds))
    if not jobs and (why := follower.settle(None)):
        raise Stopped(why)
    return Outcome("done", tuple(job.wave.number for job in jobs), sent, tuple(told))


def _cancel(follower: Follower, job: Job) -> int:
    """Nothing of the wave runs; how many moves were cancelled."""
    cancelled, began_s = 0, follower.time.now_s()
    while True:
        seen = follower.look(job.wave.moves)
        running = [s.move for s in follower.standings(job, seen) if s.kind == "running"]
        if not running and not (seen.key.names & {move.name for move in job.wave.moves}):
            return cancelled
        if follower.time.now_s() - began_s > CANCEL_S:
            raise Stopped(f"{job.words}: {len(running)} moves run on, {CANCEL_S:.0f} s after they were cancelled")
        try:
            refused = follower.way.cancel(running) if running else {}
            cancelled += len(running) - len(refused)
            if refused:
                ((topic, number), why), *_ = refused.items()
                raise Stopped(f"{job.words}: {topic}-{number} cannot be cancelled: {why}")
        except Unsure:
            pass
        follower.time.pause(min(0.1, follower.poll_s))
