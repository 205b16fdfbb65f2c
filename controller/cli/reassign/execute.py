"""--execute: what is there now is printed, to be kept; throttles are set, then the moves of the plan begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import click

from controller.cli.kafka.answers import dumped, named, refused_json
from controller.cli.kafka.cluster import DEFAULT_TIMEOUT_MS, Cluster
from controller.cli.kafka.errors import Failed, Refused
from controller.cli.kafka.values import TopicPartition
from controller.cli.reassign import throttling
from controller.cli.reassign.directories import DIRS_MS, move_dirs
from controller.cli.reassign.plan import Plan, document
from controller.cli.reassign.texts import LOW_WARNING, VERIFY_WARNING, rollback_text
from controller.cli.reassign.throttled import LOW_RATE, Lists, lists
from controller.cli.reassign.view import current_replicas


@attrs.frozen
class Options:
    """Rates in bytes/s. `throttle_stays`: also when the last move ended, of a server that takes it back by itself."""

    throttle: int | None = None
    dirs_throttle: int | None = None
    timeout_ms: int | None = None
    throttle_stays: bool = False


def execute(cluster: Cluster, plan: Plan, options: Options, *, as_json: bool) -> None:
    """The moves of the plan run; others that ran go on. Raises Failed, also where some were refused."""
    running = cluster.reassignments()
    current = current_replicas(cluster, plan)
    say = (lambda text: None) if as_json else click.echo  # noqa: ARG005 - with --json all is said at the end
    say(rollback_text(current))
    held = lists(running, plan.targets, current)
    _throttle(cluster, plan, held, options, say)
    try:
        refused = cluster.alter_reassignments(plan.targets, options.timeout_ms or DEFAULT_TIMEOUT_MS)
    except Refused:  # all of it
        if options.throttle is not None and _is_idle(cluster, options, began=bool(running)):
            throttling.give_back(cluster, held)
        raise
    started = [tp for tp in plan.entries if tp not in refused]
    if options.throttle is not None and _is_idle(cluster, options, began=bool(started or running)):
        throttling.give_back(cluster, held)
    if as_json:
        click.echo(dumped(_answer(current, started, refused, options)))
    if refused:
        raise Failed("Error reassigning partition(s):\n" + refusals(refused), terse=True, answered=as_json)
    say(f"Successfully started {_reassignments(started)} for {','.join(map(str, started))}")
    if plan.dirs:
        move_dirs(cluster, plan.dirs, DIRS_MS if options.timeout_ms is None else options.timeout_ms, say)


def _is_idle(cluster: Cluster, options: Options, *, began: bool) -> bool:
    """Whether a throttle was set for nothing: no end of a move will take it back. Asked of the cluster, since a request
    that ended by its time may have begun moves."""
    stays = options.throttle_stays if throttling.removes_by_itself(cluster) else began
    return not stays and not cluster.reassignments()


def refusals(refused: Mapping[TopicPartition, Refused]) -> str:
    """A line for each partition, with the server's words."""
    return "\n".join(f"{tp}: {error}" for tp, error in sorted(refused.items()))


def _throttle(cluster: Cluster, plan: Plan, held: Lists, options: Options, say: Any) -> None:
    given = [rate for rate in (options.throttle, options.dirs_throttle) if rate is not None]
    if not given:
        return
    if min(given) < LOW_RATE:
        click.echo(LOW_WARNING, err=True)
    if options.dirs_throttle is not None or not throttling.removes_by_itself(cluster):
        say(VERIFY_WARNING)
    if options.throttle is not None:
        throttling.throttle(cluster, held, options.throttle, stays=options.throttle_stays)
        say(f"The inter-broker throttle limit was set to {options.throttle} B/s")
    if options.dirs_throttle is not None:
        throttling.throttle_dirs(cluster, {broker for _, broker in plan.dirs}, options.dirs_throttle)
        say(f"The replica-alter-dir throttle limit was set to {options.dirs_throttle} B/s")


def _answer(
    current: Mapping[TopicPartition, tuple[int, ...]],
    started: Iterable[TopicPartition],
    refused: Mapping[TopicPartition, Refused],
    options: Options,
) -> dict[str, Any]:
    return {
        "current": document(current),
        "started": named(started),
        "refused": refused_json(refused),
        "throttle": options.throttle,
    }


def _reassignments(partitions: list[TopicPartition]) -> str:
    return "partition reassignment" if len(partitions) == 1 else "partition reassignments"
