"""--cancel and --cancel-all: moves stop where they are; replicas that caught up already stay.

Kafka's tool takes throttles away with any cancel, also from moves of others that run on. Here they stay until nothing
moves any more.
"""

from __future__ import annotations

from collections.abc import Mapping

import click

from controller.cli.kafka.answers import dumped, named, refused_json
from controller.cli.kafka.cluster import DEFAULT_TIMEOUT_MS, Cluster
from controller.cli.kafka.errors import Failed, Refused
from controller.cli.kafka.values import TopicPartition
from controller.cli.reassign import throttling
from controller.cli.reassign.execute import refusals
from controller.cli.reassign.plan import Plan

_NOTHING_RUNS = 85  # it ended by itself meanwhile


def cancel(
    cluster: Cluster, plan: Plan | None, *, preserve_throttles: bool, timeout_ms: int | None, as_json: bool
) -> None:
    """The moves of the plan, or all of them, run no more. None running: done as well. Raises Failed."""
    running = cluster.reassignments()
    wanted = [tp for tp in (running if plan is None else plan.entries) if tp in running]
    refused: Mapping[TopicPartition, Refused] = {}
    if wanted:
        answers = cluster.alter_reassignments(dict.fromkeys(wanted), timeout_ms or DEFAULT_TIMEOUT_MS)
        refused = {tp: error for tp, error in answers.items() if error.code != _NOTHING_RUNS}
    cancelled = [tp for tp in wanted if tp not in refused]
    say = (lambda text: None) if as_json else click.echo  # noqa: ARG005 - with --json all is said at the end
    if not refused:
        say(_text(cancelled, plan))
    topics = sorted({tp.topic for tp in wanted} if plan is None else set(plan.topics))
    clears = not refused and not preserve_throttles and not cluster.reassignments()
    if clears:
        throttling.clear(cluster, topics, {broker for _, broker in plan.dirs} if plan is not None else (), say)
    if as_json:
        answer = {"cancelled": named(cancelled), "refused": refused_json(refused), "throttles_cleared": clears}
        click.echo(dumped(answer))
    if refused:
        several = "" if len(refused) == 1 else "s"
        message = f"Error cancelling partition reassignment{several} for:\n{refusals(refused)}"
        raise Failed(message, terse=True, answered=as_json)


def _text(cancelled: list[TopicPartition], plan: Plan | None) -> str:
    if cancelled:
        several = "" if len(cancelled) == 1 else "s"
        return f"Successfully cancelled partition reassignment{several} for: {','.join(map(str, cancelled))}"
    return (
        "No partition reassignments found."
        if plan is None
        else "None of the specified partition reassignments are active."
    )
