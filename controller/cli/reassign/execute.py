"""The actions of `kedge kafka reassign-partitions` that change something: --execute, --cancel and --cancel-all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from ...model.values import TopicPartition
from ..kafka.errors import Failed, Refused, dumped, named, refused_json
from ..kafka.throttled import Lists, lists
from ..kafka.values import DEFAULT_TIMEOUT_MS
from ..printing import confirming, ids
from . import throttling
from .plan import Plan, current_replicas, document, reassignments
from .throttling import LOW_RATE
from .verify import LOW_WARNING, VERIFY_WARNING, Dirs, Request, rollback_text

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster


DIRS_MS: Final = 10_000
_NOT_AVAILABLE: Final = 9  # the broker does not have that replica yet
_PAUSE_S: Final = 0.1


def move_dirs(cluster: Cluster, wanted: Dirs, timeout_ms: int, say: Callable[[str], object]) -> None:
    """Has every broker start to move its replicas to these directories. Raises Failed."""
    deadline = time.monotonic() + timeout_ms / 1000
    left = dict(wanted)
    while True:
        waiting = {}
        for broker in sorted({broker for _, broker in left}):
            paths = {tp: path for (tp, at), path in left.items() if at == broker}
            refused = cluster.alter_log_dirs(broker, paths)
            for tp, path in paths.items():
                if tp not in refused:
                    say(f"Successfully started moving log directory to {path} for replica {tp} with broker {broker} ")
                elif refused[tp].code == _NOT_AVAILABLE:
                    waiting[tp, broker] = path
                else:
                    raise Failed(f"Failed to alter dir for {tp}-{broker}: {refused[tp]}")
        if not waiting:
            return
        if time.monotonic() >= deadline:
            replicas = ",".join(sorted(f"{tp}-{broker}" for tp, broker in waiting))
            several = "" if len(waiting) == 1 else "s"
            raise Failed(f"Timed out before log directory move{several} could be started for: {replicas}")
        left = waiting
        cluster.pause(_PAUSE_S)


def execute(cluster: Cluster, request: Request) -> None:
    """Starts the reassignments of the plan; others continue. Raises Failed, also where some were refused."""
    plan, as_json = request.the_plan, request.as_json
    if request.throttle is not None:
        throttling.require_kedge(cluster)
    running = cluster.reassignments()
    current = current_replicas(cluster, plan)
    say = confirming(as_json=as_json)
    if not as_json:
        click.echo(rollback_text(current))
    _throttle(cluster, lists(running, plan.targets, current), request)
    try:
        refused = cluster.alter_reassignments(plan.targets, request.timeout_ms or DEFAULT_TIMEOUT_MS)
    except Refused:  # all of it
        if request.throttle is not None and _is_idle(cluster, request):
            cluster.end_throttle()
        raise
    started = [tp for tp in plan.entries if tp not in refused]
    if request.throttle is not None and _is_idle(cluster, request):
        cluster.end_throttle()
    if as_json:
        click.echo(dumped(_answer(current, started, refused, request.throttle)))
    if refused:
        raise Failed("Error reassigning partition(s):\n" + refusals(refused), terse=True, answered=as_json)
    say(f"Successfully started {reassignments(started)} for {ids(started)}")
    if plan.dirs:
        move_dirs(cluster, plan.dirs, DIRS_MS if request.timeout_ms is None else request.timeout_ms, say)


def _is_idle(cluster: Cluster, request: Request) -> bool:
    """Whether a throttle was set although nothing moves, so that no end of a reassignment removes it. The cluster is
    request, because a request that timed out may have started reassignments."""
    return not request.preserve_throttles and not cluster.reassignments()


def refusals(refused: Mapping[TopicPartition, Refused]) -> str:
    return "\n".join(f"{tp}: {error}" for tp, error in sorted(refused.items()))


def _throttle(cluster: Cluster, held: Lists, request: Request) -> None:
    say = confirming(as_json=request.as_json)
    given = [rate for rate in (request.throttle, request.dirs_throttle) if rate is not None]
    if not given:
        return
    if min(given) < LOW_RATE:
        click.echo(LOW_WARNING, err=True)
    if not request.as_json and request.dirs_throttle is not None:
        click.echo(VERIFY_WARNING)
    if request.throttle is not None:
        throttling.throttle(cluster, held, request.throttle, stays=request.preserve_throttles)
        say(f"The inter-broker throttle limit was set to {request.throttle} B/s")
    if request.dirs_throttle is not None:
        throttling.throttle_dirs(cluster, {broker for _, broker in request.the_plan.dirs}, request.dirs_throttle)
        say(f"The replica-alter-dir throttle limit was set to {request.dirs_throttle} B/s")


def _answer(
    current: Mapping[TopicPartition, tuple[int, ...]],
    started: Iterable[TopicPartition],
    refused: Mapping[TopicPartition, Refused],
    throttle: int | None,
) -> dict[str, Any]:
    return {
        "current": document(current),
        "started": named(started),
        "refused": refused_json(refused),
        "throttle": throttle,
    }


_NOTHING_RUNS = 85  # it ended by itself meanwhile


def cancel(cluster: Cluster, request: Request) -> None:
    """Cancels the reassignments of the plan, or all of them without one; there may be none. Raises Failed."""
    plan, as_json = request.plan, request.as_json
    running = cluster.reassignments()
    wanted = [tp for tp in (running if plan is None else plan.entries) if tp in running]
    refused: Mapping[TopicPartition, Refused] = {}
    if wanted:
        answers = cluster.alter_reassignments(dict.fromkeys(wanted), request.timeout_ms or DEFAULT_TIMEOUT_MS)
        refused = {tp: error for tp, error in answers.items() if error.code != _NOTHING_RUNS}
    cancelled = [tp for tp in wanted if tp not in refused]
    say = confirming(as_json=as_json)
    if not refused:
        say(_text(cancelled, plan))
    clears = not refused and not request.preserve_throttles and not cluster.reassignments()
    if clears:
        throttling.clear(cluster, {broker for _, broker in plan.dirs} if plan is not None else (), say)
    if as_json:
        answer = {"cancelled": named(cancelled), "refused": refused_json(refused), "throttles_cleared": clears}
        click.echo(dumped(answer))
    if refused:
        message = f"Error cancelling {reassignments(refused)} for:\n{refusals(refused)}"
        raise Failed(message, terse=True, answered=as_json)


def _text(cancelled: list[TopicPartition], plan: Plan | None) -> str:
    if cancelled:
        return f"Successfully cancelled {reassignments(cancelled)} for: {ids(cancelled)}"
    return (
        "No partition reassignments found."
        if plan is None
        else "None of the specified partition reassignments are active."
    )
