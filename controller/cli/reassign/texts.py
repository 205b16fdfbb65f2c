"""What --execute and --verify print, whichever way they go: as Kafka's tool does, and for machines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from controller.cli.kafka.errors import dumped
from controller.cli.reassign.plan import Plan, document
from controller.model.values import TopicPartition

VERIFY_WARNING: Final = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
)
LOW_WARNING: Final = "Warning: a throttle below 1024 B/s may not let a move catch up with what is produced."
COMPLETED: Final = "completed"
IN_PROGRESS: Final = "in progress"
OTHER: Final = "other replicas"


def rollback_text(current: Mapping[TopicPartition, tuple[int, ...]]) -> str:
    """What can be given to --execute to undo it all."""
    kept = dumped(document(current))
    return (
        f"Current partition replica assignment\n\n{kept}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )


def states(
    plan: Plan, running: Collection[TopicPartition], present: Mapping[TopicPartition, Sequence[int]]
) -> dict[TopicPartition, str]:
    """Of each partition of the plan one of COMPLETED, IN_PROGRESS, OTHER."""
    return {
        tp: IN_PROGRESS if tp in running else COMPLETED if tuple(present.get(tp, ())) == target else OTHER
        for tp, target in plan.targets.items()
    }


def text(plan: Plan, found: Mapping[TopicPartition, str], present: Mapping[TopicPartition, Sequence[int]]) -> str:
    """As Kafka's tool prints it."""
    lines = ["Status of partition reassignment:"]
    for tp, state in found.items():
        if state == COMPLETED:
            lines.append(f"Reassignment of partition {tp} is completed.")
        elif state == IN_PROGRESS:
            lines.append(f"Reassignment of partition {tp} is still in progress.")
        else:
            there, wanted = _ids(present.get(tp, ())), _ids(plan.targets[tp])
            lines.append(
                f"There is no active reassignment of partition {tp}, but replica set is {there} rather than {wanted}."
            )
    return "\n".join(lines)


def described(
    plan: Plan, found: Mapping[TopicPartition, str], present: Mapping[TopicPartition, Sequence[int]]
) -> list[dict[str, Any]]:
    """The same, for machines. `replicas` is null where the partition is unknown."""
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


def _ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))
