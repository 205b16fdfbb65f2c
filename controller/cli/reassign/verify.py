"""--verify of `kedge kafka reassign-partitions`, and the texts that --execute prints too, as Kafka's tool does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from ...codec.printed import CURRENT
from ...model.values import TopicPartition
from ..kafka.errors import dumped
from ..kafka.values import Description
from ..printing import confirming, ids
from . import throttling
from .plan import Plan, Wanted, document, replicas_of

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster

Dirs = Mapping[tuple[TopicPartition, int], str]
VERIFY_WARNING: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)
LOW_WARNING: Final = "Warning: a throttle below 1024 B/s may not let a move catch up with what is produced."
COMPLETED: Final = "completed"
IN_PROGRESS: Final = "in progress"
OTHER: Final = "other replicas"


@attrs.frozen
class Request:
    """`wanted` of --generate, `plan` of what takes a plan; rates in bytes/s."""

    wanted: Wanted | None = None
    plan: Plan | None = None
    throttle: int | None = None
    dirs_throttle: int | None = None
    timeout_ms: int | None = None
    preserve_throttles: bool = False
    watch: bool = False
    as_text: bool = False
    as_json: bool = False

    @property
    def the_plan(self) -> Plan:
        assert self.plan is not None
        return self.plan

    @property
    def the_wanted(self) -> Wanted:
        assert self.wanted is not None
        return self.wanted


def verify(cluster: Cluster, request: Request) -> None:
    """Prints the state of the plan. Throttles are removed if nothing moves in the whole cluster, between brokers or
    directories."""
    plan, as_json = request.the_plan, request.as_json
    running = cluster.reassignments()
    present = replicas_of(cluster.topics(plan.topics).values())
    found = states(plan, running.keys(), present)
    lines, dirs_move = dir_states(cluster, plan.dirs) if plan.dirs else ([], False)
    clears = not running and not dirs_move and not request.preserve_throttles
    if not as_json:
        click.echo(text(plan, found, present))
        click.echo("\n".join(lines))
    if clears:
        throttling.clear(cluster, {broker for _, broker in plan.dirs}, confirming(as_json=as_json))
    if as_json:
        answer = {"partitions": described(plan, found, present), "log_dirs": lines, "throttles_cleared": clears}
        click.echo(dumped(answer))


def dir_states(cluster: Cluster, wanted: Dirs) -> tuple[list[str], bool]:
    """A line for each directory that a plan names, and whether a move between directories still runs."""
    described: dict[int, Description] = {}
    live = cluster.brokers()
    for broker in {broker for _, broker in wanted} & live.keys():
        described[broker] = cluster.log_dirs(broker, {tp for tp, at in wanted if at == broker})
    lines, runs = [], False
    for (tp, broker), path in sorted(wanted.items()):
        line, moving = _state(tp, broker, path, described.get(broker))
        lines.append(line)
        runs = runs or moving
    return lines, runs


def _state(tp: TopicPartition, broker: int, path: str, found: Description | None) -> tuple[str, bool]:
    if found is None:
        return (
            f"Partition {tp} is not found in any live log dir on broker {broker}. "
            "There is likely an offline log directory on the broker."
        ), False
    replicas = found.replicas.get(tp, ())
    present = next((replica.path for replica in replicas if not replica.is_future), None)
    future = next((replica.path for replica in replicas if replica.is_future), None)
    if present is None:
        return f"Partition {tp} cannot be found in any live log directory on broker {broker}.", False
    if future == path:
        return f"Reassignment of replica {tp}-{broker} is still in progress.", True
    if future is not None:
        return f"Partition {tp} on broker {broker} is being moved to log dir {future} instead of {path}.", True
    if present == path:
        return f"Reassignment of replica {tp}-{broker} completed successfully.", False
    return f"Partition {tp} on broker {broker} is not being moved from log dir {present} to {path}.", False


def rollback_text(current: Mapping[TopicPartition, tuple[int, ...]]) -> str:
    """What can be given to --execute to undo it all."""
    kept = dumped(document(current))
    return f"{CURRENT}\n\n{kept}\n\nSave this to use as the --reassignment-json-file option during rollback"


def states(
    plan: Plan, running: Collection[TopicPartition], present: Mapping[TopicPartition, Sequence[int]]
) -> dict[TopicPartition, str]:
    return {
        tp: IN_PROGRESS if tp in running else COMPLETED if tuple(present.get(tp, ())) == target else OTHER
        for tp, target in plan.targets.items()
    }


def text(plan: Plan, found: Mapping[TopicPartition, str], present: Mapping[TopicPartition, Sequence[int]]) -> str:
    lines = ["Status of partition reassignment:"]
    for tp, state in found.items():
        if state == COMPLETED:
            lines.append(f"Reassignment of partition {tp} is completed.")
        elif state == IN_PROGRESS:
            lines.append(f"Reassignment of partition {tp} is still in progress.")
        else:
            there, wanted = ids(present.get(tp, ())), ids(plan.targets[tp])
            lines.append(
                f"There is no active reassignment of partition {tp}, but replica set is {there} rather than {wanted}."
            )
    return "\n".join(lines)


def described(
    plan: Plan, found: Mapping[TopicPartition, str], present: Mapping[TopicPartition, Sequence[int]]
) -> list[dict[str, Any]]:
    return [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "state": state,
            "replicas": None if (there := present.get(tp)) is None else [*there],
            "target": [*plan.targets[tp]],
        }
        for tp, state in found.items()
    ]
