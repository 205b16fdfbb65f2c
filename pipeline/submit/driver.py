"""Submits a plan wave after wave, rolls it back, or cancels it.

* A wave is recorded as begun before its first request, and as done once its last reassignment is complete. After a
  crash, the next call continues from the state of the cluster.
* A rollback undoes the begun waves, the last one first. Until it is done, the plan does not go forward.
* If the caller's thread ends for any reason, the running wave continues in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

import attrs

from ...controller.model.plural import counted
from ...stores import MetadataStore
from ..amounts import duration
from ..brokers.endpoint import Brokers, opened
from ..errors import BadInput, Refused, Stopped
from ..windows import Window, closed_s
from .checking import check
from .cluster import Name
from .exported import Exported, Wave, read_export
from .following import Follower
from .kept import Progress, State, locked, read_progress
from .looking import POLL_S, Event, Job, Tell
from .route import Route, Time, Unsure
from .routes import Admin, AdminRoute
from .throttle import throttle_of

CANCEL_S: Final = 60.0
_CLOSED_S: Final = 60.0  # a pause before the clock is read again: it may be set, and the machine may sleep
WAIT_S: Final = 10.0  # between two looks for under-replicated partitions, which take a request for all partitions

Reach: TypeAlias = Brokers | MetadataStore | Callable[[Progress], Route]
"""Where a plan is submitted: to a cluster over Kafka's protocol, to the controller of a store, or by another way, which
is created for one plan and keeps in its progress what must survive a crash."""


def _quiet(event: Event) -> None:
    """Ignore the event."""


@attrs.frozen(kw_only=True)
class Options:
    """How a plan is submitted. `admin`: returns the admin API of the controller that leads now, required with a store.
    `throttles`: whether to set the waves' rates, or that of `set_throttle`. `timeout_s`: of each wave. `poll_s`:
    between two looks at a wave. `pause_between_waves_s`: after a wave, before the next one. `ignore_under_replicated`:
    begin a wave also while partitions are under-replicated that no reassignment moves; otherwise it waits for them.
    `windows`: in which waves may start; None: those of the export. `tell`: is called with each event."""

    admin: Callable[[], Admin] | None = None
    throttles: bool = True
    timeout_s: float | None = None
    poll_s: float = POLL_S
    pause_between_waves_s: float = 0.0
    ignore_under_replicated: bool = False
    time: Time = attrs.field(factory=Time)
    tell: Tell = _quiet
    windows: Sequence[Window] | None = None


@attrs.frozen
class Outcome:
    """The result. `waves`: those that are complete now (of a rollback: undone); `sent`: the number of moves submitted
    by this call; `told`: notes for the user."""

    end: Literal["done", "cancelled", "dry run"]
    waves: tuple[int, ...] = ()
    sent: int = 0
    told: tuple[str, ...] = ()


def submit(
    folder: Path | str,
    to: Reach,
    options: Options = Options(),
    *,
    first: int | None = None,
    last: int | None = None,
    dry_run: bool = False,
) -> Outcome:
    """Every wave of the exported plan (from `first` to `last`) is complete and its throttles are removed, in the order
    of their numbers. It may be called again at any time and continues from the state of the cluster. No wave begins
    outside a maintenance window: an event of the kind "waiting" has the time of the next one. `dry_run`: the first
    unfinished wave is checked, and the moves to submit are reported; nothing is written.

    Raises BadInput for a folder without an export, one that differs from its manifest, or one with none of the waves,
    for a store without an admin API, and for brokers that do not answer. Raises Refused if the cluster differs from the
    plan, other reassignments run, a target is down, the plan was changed, or another process submits it. Raises Stopped
    if a wave is not complete within `timeout_s`, or cannot be completed. Raises ImportError for Brokers without the
    extras `cli` and `wire`. Also raises the errors of the store or the way.
    """
    plan = read_export(Path(folder))
    waves = [_as_asked(wave, options) for wave in plan.waves if _is_in(wave, first, last)]
    if plan.waves and not waves:
        asked = f"{'the first' if first is None else first} to {'the last' if last is None else last}"
        raise BadInput(f"{folder}: expected waves within 1 to {plan.waves[-1].number}, got {asked}")
    with _begun(plan, to, options, dry_run=dry_run) as (progress, follower):
        if progress.is_undoing:
            raise Refused(f"{folder}: a rollback is not complete; --rollback continues it")
        jobs = [Job(wave, len(plan.waves), wave.number in progress.waves) for wave in waves]
        jobs = [job for job in jobs if progress.waves.get(job.wave.number) != "done"]
        windows = plan.windows if options.windows is None else options.windows
        if dry_run:
            return _dry(follower, progress, jobs, windows)
        return _run(follower, progress, jobs, options.pause_between_waves_s, windows)


def roll_back(folder: Path | str, to: Reach, options: Options = Options(), *, dry_run: bool = False) -> Outcome:
    """The begun waves are undone, the last one first: their partitions are where they were before. A running wave is
    cancelled first. It waits neither for maintenance windows nor for under-replicated partitions. Raises as
    `submit`."""
    plan = read_export(Path(folder))
    with _begun(plan, to, options, dry_run=dry_run) as (progress, follower):
        begun = [_as_asked(wave, options) for wave in reversed(plan.waves) if wave.number in progress.waves]
        jobs = [Job(wave.reversed(), len(plan.waves), is_begun=True, undoes=True) for wave in begun]
        if dry_run:
            done = _dry(follower, progress, jobs)
        else:
            done = _run(follower, progress, jobs, options.pause_between_waves_s)
        return done if jobs else Outcome("done", told=("no wave of the plan was submitted from this folder",))


def cancel(folder: Path | str, to: Reach, options: Options = Options()) -> Outcome:
    """No reassignment of the plan runs any more, and its throttles are removed; complete ones stay. Raises Stopped if a
    reassignment cannot be cancelled."""
    plan = read_export(Path(folder))
    with _begun(plan, to, options, dry_run=False) as (progress, follower):
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


@contextmanager
def _route(to: Reach, options: Options, progress: Progress) -> Iterator[Route]:
    """The chosen way, connected in the block. Raises BadInput for a store without an admin API."""
    if isinstance(to, Brokers):
        with opened(to) as cluster:
            from ..brokers.submitting import by_brokers  # noqa: PLC0415 - kafka-python is there

            yield by_brokers(cluster)(progress)
    elif callable(to):
        yield to(progress)
    elif options.admin is None:
        raise BadInput("expected Options(admin=...), since a plan reaches the controller of a store by its admin API")
    else:
        yield AdminRoute(to, options.admin, options.time)


def _follower(way: Route, options: Options, plan: Exported) -> Follower:
    rate = (lambda: throttle_of(plan)) if options.throttles else lambda: None
    waiting = (_leaving(plan), options.ignore_under_replicated)
    return Follower(way, options.time, options.tell, options.timeout_s, options.poll_s, rate, *waiting)


def _leaving(plan: Exported) -> dict[Name, frozenset[int]]:
    """By partition, the brokers that the plan takes it off."""
    found: dict[Name, frozenset[int]] = {}
    for move in (move for wave in plan.waves for move in wave.moves):
        found[move.name] = found.get(move.name, frozenset()) | (set(move.before) - set(move.after))
    return found


def _is_in(wave: Wave, first: int | None, last: int | None) -> bool:
    return (first is None or wave.number >= first) and (last is None or wave.number <= last)


def _as_asked(wave: Wave, options: Options) -> Wave:
    return wave if options.throttles else attrs.evolve(wave, rates={})


@contextmanager
def _begun(plan: Exported, to: Reach, options: Options, *, dry_run: bool) -> Iterator[tuple[Progress, Follower]]:
    """The plan's progress and what follows its waves, while no other process submits it."""
    with nullcontext() if dry_run else locked(plan.folder):
        progress = read_progress(plan, is_kept=not dry_run)
        with _route(to, options, progress) as way:
            yield progress, _follower(way, options, plan)


def _closed_s(windows: Sequence[Window], follower: Follower, progress: Progress, job: Job) -> float:
    """The seconds until the wave may start. One that was submitted is followed at any time."""
    is_sent = progress.waves.get(job.wave.number) == "sent"
    return 0 if is_sent else closed_s(windows, follower.time.utc_now(), partial(follower.told, "waiting", job))


def _dry(follower: Follower, progress: Progress, jobs: list[Job], windows: Sequence[Window] = ()) -> Outcome:
    """Check the first wave; the state of the cluster before the others is not known."""
    missing = 0
    for place, job in enumerate(jobs):
        count = len(job.wave.moves)
        if place == 0:
            _closed_s(windows, follower, progress, job)
            if waits_for := check(follower, job):
                follower.told("note", job, f"{job.words} would wait for {waits_for}")
            count = sum(s.kind == "missing" for s in follower.standings(job, follower.look(job.wave.moves)))
        follower.tell(Event("sent", job.wave.number, job.waves, count, bytes=job.wave.bytes))
        missing += count
    return Outcome("dry run", tuple(job.wave.number for job in jobs), missing)


def _await(follower: Follower, progress: Progress, job: Job, windows: Sequence[Window]) -> None:
    """Wait until the wave may be submitted, in a window that may close while the cluster is not ready. Raises as
    `check`, and Stopped at the end of its time, which begins when the window opens."""
    is_open = False
    while True:
        if (seconds := _closed_s(windows, follower, progress, job)) > 0:
            is_open = False
            follower.time.pause(min(seconds, _CLOSED_S))
            continue
        if not is_open:
            follower.begin()
            is_open = True
        if not (waits_for := check(follower, job)):
            return
        follower.pause(job, [], WAIT_S, waits_for)


def _run(
    follower: Follower, progress: Progress, jobs: list[Job], pause_s: float, windows: Sequence[Window] = ()
) -> Outcome:
    sent, told = 0, []
    for place, planned in enumerate(jobs):
        if place and pause_s:
            follower.told("waiting", planned, f"{duration(pause_s)} before {planned.words}")
            follower.time.pause(pause_s)
        _await(follower, progress, planned, windows)
        follower.time.checkpoint()
        state: State = "undoing" if planned.undoes else "sent"
        began_s = progress.begin(planned.wave.number, state, follower.time.epoch_s())
        job = attrs.evolve(planned, is_begun=True, began_s=began_s)
        sent += follower.follow(job)
        if why := follower.settle(job):
            told.append(why)
            follower.tell(Event("note", job.wave.number, job.waves, text=why))
        progress.set(job.wave.number, None if job.undoes else "done")
        count = len(job.wave.moves)
        follower.tell(Event("wave", job.wave.number, job.waves, count, count, job.wave.bytes, follower.since(job)))
    if not jobs and (why := follower.settle(None)):
        raise Stopped(why)
    return Outcome("done", tuple(job.wave.number for job in jobs), sent, tuple(told))


def _cancel(follower: Follower, job: Job) -> int:
    """Cancel all reassignments of the wave, and return their number."""
    cancelled, began_s = 0, follower.time.now_s()
    while True:
        seen = follower.look(job.wave.moves)
        running = [s.move for s in follower.standings(job, seen) if s.kind == "running"]
        if not running:
            return cancelled
        if follower.time.now_s() - began_s > CANCEL_S:
            raise Stopped(
                f"{job.words}: {counted(len(running), 'move')} still running {CANCEL_S:.0f} s after the cancellation"
            )
        follower.time.checkpoint()
        try:
            refused = follower.way.cancel(running) if running else {}
            cancelled += len(running) - len(refused)
            if refused:
                ((topic, number), why), *_ = refused.items()
                raise Stopped(f"{job.words}: {topic}-{number} cannot be cancelled: {why}")
        except Unsure:
            pass
        follower.time.pause(min(0.1, follower.poll_s))
