"""`kedge kafka topics`: the options of kafka-topics.sh, and those of KIP-36 and KIP-694.

`describing` prints, `changing` creates, alters and deletes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import click

from ..kafka import Endpoint, action, connected, ending, endpoint_options
from ..options import Whole, command, group, json_option, option, quiet_option
from .changing import Request, alter, create, delete, parse_assignment, pattern
from .describing import describe, list_topics

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster


ACTIONS: Final[Mapping[str, Callable[[Cluster, Request], None]]] = {
    "create": create,
    "alter": alter,
    "delete": delete,
    "list": list_topics,
    "describe": describe,
}


_COUNT: Final = Whole(max=2**31 - 1)  # an INT32 of the protocol; that it is positive is checked in Kafka's words
_SHOWS: Final = (
    "under_replicated_partitions",
    "unavailable_partitions",
    "under_min_isr_partitions",
    "at_min_isr_partitions",
    "topics_with_overrides",
)
_FITTING: Final = {
    "create": (
        *("topic", "partitions", "replication_factor", "replica_assignment", "config"),
        *("if_not_exists", "ignore_racks"),
    ),
    "alter": (
        *("topic", "partitions", "replica_assignment", "if_exists", "ignore_racks"),
        *("delete_partitions_delay", "yes"),
    ),
    "delete": ("topic", "if_exists"),
    "list": ("topic", "exclude_internal"),
    "describe": ("topic", "topic_id", "if_exists", "exclude_internal", *_SHOWS),
}
_ALWAYS: Final = ("action", "bootstrap_server", "command_config", "partition_size_limit_per_response", "as_json")
_EITHER: Final = (
    ("replica_assignment", "partitions", "create"),
    ("replica_assignment", "replication_factor", "create"),
    ("replica_assignment", "ignore_racks", "create"),
    ("replica_assignment", "ignore_racks", "alter"),
)


@command("topics", example="kedge kafka topics --bootstrap-server localhost:9092 --create --topic orders")
@action("--create", "Create a topic.")
@action("--alter", "Change the number of partitions of topics. Fewer only on Kedge.")
@action("--delete", "Delete topics.")
@action("--list", "Print the names of topics.")
@action("--describe", "Print topics and their partitions.")
@group(
    "Choose topics",
    option("--topic", metavar="NAME", none="all", help="Name, or (not with --create) a regular expression."),
    option("--topic-id", metavar="ID", none="all", help="Describe the topic with this id."),
    option("--exclude-internal", is_flag=True, help="List and describe no internal topics."),
    option("--if-exists", is_flag=True, help="Succeed if no such topic exists."),
    option("--if-not-exists", is_flag=True, help="Succeed if the topic to create exists."),
)
@group(
    "Create and alter",
    option("--partitions", type=_COUNT, metavar="N", none="the broker's", help="Count of partitions."),
    option("--replication-factor", type=int, metavar="N", none="the broker's", help="Count of replicas of partitions."),
    option("--replica-assignment", metavar="1:2,2:3,...", help="Brokers of each partition, preferred leader first."),
    option("--config", multiple=True, metavar="NAME=VALUE", help="Config of a new topic."),
    option("--ignore-racks", "--disable-rack-aware", is_flag=True, help="Place replicas without racks."),
    option("--delete-partitions-delay", is_flag=True, help="Keep removed partitions readable until their retention."),
    option("--yes", is_flag=True, help="Delete partitions at once, without a question."),
)
@group(
    "Describe only",
    option("--under-replicated-partitions", is_flag=True, help="Partitions with replicas out of sync."),
    option("--unavailable-partitions", is_flag=True, help="Partitions without a live leader."),
    option("--under-min-isr-partitions", is_flag=True, help="ISR smaller than min.insync.replicas."),
    option("--at-min-isr-partitions", is_flag=True, help="ISR as large as min.insync.replicas."),
    option("--topics-with-overrides", is_flag=True, help="Topics with configs of their own."),
    option("--partition-size-limit-per-response", type=_COUNT, metavar="N", help="Ignored count: Kafka's tool has it."),
)
@endpoint_options
@json_option()
@quiet_option
def topics(**given: Any) -> None:
    """Manage topics as kafka-topics.sh does.

    Creates, alters, deletes, lists and describes topics, and prints what Kafka's tool prints. On Kedge it also removes
    partitions (KIP-694), at once after a question, or delayed until their retention.

    Exit code: 0 done; 1 not done, or not for all topics; 2 the options cannot be used.
    """
    chosen = _checked(given)
    request = _request_of(given)
    config: Path | None = given["command_config"]
    with ending(as_json=request.as_json), connected(Endpoint(given["bootstrap_server"], config)) as cluster:
        ACTIONS[chosen](cluster, request)


def _checked(given: dict[str, Any]) -> str:
    actions = set(given["action"])
    if len(actions) != 1:
        raise click.UsageError(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    if given["bootstrap_server"] is None:
        raise click.UsageError("--bootstrap-server must be specified")
    (action,) = actions
    for name, value in given.items():
        if name not in _FITTING[action] and name not in _ALWAYS and value not in (None, False, ()):
            raise click.UsageError(f'Option "[{_option(name)}]" can\'t be used with option "[{action}]"')
    for one, other, where in _EITHER:
        if action == where and given[one] is not None and given[other]:
            raise click.UsageError(f'Option "[{_option(one)}]" can\'t be used with option "[{_option(other)}]"')
    _check_needs(action, given)
    return str(action)


def _check_needs(action: str, given: dict[str, Any]) -> None:
    if action in {"create", "alter", "delete"} and given["topic"] is None:
        raise click.UsageError('Missing required argument "[topic]"')
    if action == "alter" and given["partitions"] is None and given["replica_assignment"] is None:
        raise click.UsageError('Missing required argument "[partitions]"')
    if action == "create" and given["ignore_racks"] and None in (given["partitions"], given["replication_factor"]):
        raise click.UsageError("--ignore-racks needs --partitions and --replication-factor")
    if given["partitions"] is not None and given["partitions"] < 1:
        raise click.UsageError("The partitions must be greater than 0")
    if given["replication_factor"] is not None and not 1 <= given["replication_factor"] <= 32767:
        raise click.UsageError("The replication factor must be between 1 and 32767 inclusive")
    if sum(given[name] for name in _SHOWS) > 1:
        raise click.UsageError(f"Only one of {', '.join('--' + _option(name) for name in _SHOWS)} can be given")
    if action != "create" and given["topic"] is not None:
        try:
            pattern(given["topic"])
        except re.error as error:
            raise click.UsageError(f"--topic: {given['topic']} is an invalid regular expression: {error}") from None


def _request_of(given: dict[str, Any]) -> Request:
    try:
        assignment = None if given["replica_assignment"] is None else parse_assignment(given["replica_assignment"])
    except ValueError as error:
        raise click.UsageError(f"--replica-assignment: {error}") from None
    shows = next((_option(name) for name in _SHOWS if given[name]), None)
    same = {field.name: given[field.name] for field in attrs.fields(Request) if field.name in given}
    configs, delayed = _configs(given["config"]), given["delete_partitions_delay"]
    return Request(**same, assignment=assignment, configs=configs, delayed=delayed, shows=shows)


def _configs(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [re.split(r"\s*=\s*", text, maxsplit=1) for text in given]
    if any(len(pair) != 2 or not pair[0] for pair in pairs):
        raise click.UsageError('Invalid topic config: all configs to be added must be in the format "key=val".')
    return {name: value for name, value in pairs}  # noqa: C416 - lists of two


def _option(name: str) -> str:
    return name.replace("_", "-")
