"""--verify: how each move of a plan stands; and throttles of moves are taken away once nothing moves any more."""

from __future__ import annotations

import click

from controller.cli.kafka.answers import dumped
from controller.cli.kafka.cluster import Cluster
from controller.cli.reassign import throttling
from controller.cli.reassign.directories import dir_states
from controller.cli.reassign.plan import Plan
from controller.cli.reassign.texts import described, states, text
from controller.cli.reassign.view import replicas_of


def verify(cluster: Cluster, plan: Plan, *, preserve_throttles: bool, as_json: bool) -> None:
    """Prints it. Throttles are cleared if no reassignment runs in the whole cluster, and no move between
    directories."""
    running = cluster.reassignments()
    present = replicas_of(cluster.topics(plan.topics).values())
    found = states(plan, running.keys(), present)
    lines, dirs_move = dir_states(cluster, plan.dirs) if plan.dirs else ([], False)
    clears = not running and not dirs_move and not preserve_throttles
    say = (lambda text: None) if as_json else click.echo  # noqa: ARG005 - with --json all is said at the end
    say(text(plan, found, present))
    say("\n".join(lines))
    if clears:
        throttling.clear(cluster, plan.topics, {broker for _, broker in plan.dirs}, say)
    if as_json:
        answer = {"partitions": described(plan, found, present), "log_dirs": lines, "throttles_cleared": clears}
        click.echo(dumped(answer))
