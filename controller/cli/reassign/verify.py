"""--verify: how each move of a plan stands; and throttles are taken away once nothing moves any more."""

from __future__ import annotations

import click

from controller.cli.kafka.answers import dumped
from controller.cli.kafka.cluster import Cluster
from controller.cli.reassign import throttling
from controller.cli.reassign.directories import dir_states
from controller.cli.reassign.plan import Plan
from controller.cli.reassign.texts import described, states, text
from controller.cli.reassign.throttled import cleared_text
from controller.cli.reassign.view import replicas_of


def verify(cluster: Cluster, plan: Plan, *, preserve_throttles: bool, as_json: bool) -> None:
    """Prints it. Throttles are cleared if no reassignment runs in the whole cluster, and no move between
    directories."""
    running = cluster.reassignments()
    present = replicas_of(cluster.topics(plan.topics).values())
    found = states(plan, running.keys(), present)
    lines, dirs_move = dir_states(cluster, plan.dirs) if plan.dirs else ([], False)
    clears = not running and not dirs_move and not preserve_throttles
    if not as_json:
        click.echo(text(plan, found, present))
        click.echo("\n".join(lines))
    brokers, topics = sorted(cluster.brokers()), sorted({tp.topic for tp in present})
    if clears:
        if not as_json:
            click.echo(cleared_text(brokers, plan.topics))
        throttling.clear(cluster, brokers, topics)
    if as_json:
        answer = {"partitions": described(plan, found, present), "log_dirs": lines, "throttles_cleared": clears}
        click.echo(dumped(answer))
