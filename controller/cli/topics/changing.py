"""--create, --alter and --delete of `kedge kafka topics`, with fewer partitions as well (KIP-694)."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs
import click

from ...codec.names import is_topic
from ...model import numerals
from ...model.plural import counted
from ...model.values import TopicPartition
from ...rules.placement import assign_replicas, continue_rotation
from ..kafka.errors import Failed, Refused, dumped
from ..kafka.options import repeated
from ..kafka.values import DELETE_PARTITIONS, TopicState
from ..printing import confirm, ids

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster


@attrs.frozen
class Request:
    """`topic`: a name to create, else a regular expression; None: all. `assignment`: replicas of each partition.
    `shows`: which partitions are described, see `describing`."""

    topic: str | None = None
    topic_id: str | None = None
    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Sequence[Sequence[int]] | None = None
    configs: Mapping[str, str] = attrs.field(factory=dict)
    if_exists: bool = False
    if_not_exists: bool = False
    ignore_racks: bool = False
    exclude_internal: bool = False
    delayed: bool = False
    yes: bool = False
    shows: str | None = None
    as_json: bool = False


def chosen(cluster: Cluster, request: Request) -> dict[str, TopicState]:
    """Those that exist, by name. Raises Failed where none does, unless --if-exists."""
    found = {
        name: topic
        for name, topic in cluster.topics().items()
        if _is_meant(topic, request) and not (request.exclude_internal and topic.is_internal)
    }
    if not found and not request.if_exists:
        if request.topic_id is not None:
            raise failure(f"TopicId '{request.topic_id}' does not exist as expected")
        if request.topic is not None:
            raise failure(f"Topic '{request.topic}' does not exist as expected")
    return found


def failure(problem: object, *, answered: bool = False) -> Failed:
    """As Kafka's tool says it. `answered`: see Failed."""
    return Failed(f"Error while executing topic command : {problem}", terse=True, answered=answered)


def pattern(given: str) -> re.Pattern[str]:
    """The expression for --topic. A valid topic name matches only itself. In Kafka's tool the dot of test.a matches any
    character, so --delete deletes test-a as well. Raises re.error."""
    parts = given.strip().replace(" ", "").strip("\"'").split(",")
    return re.compile("|".join(re.escape(part) if is_topic(part) else part for part in parts))


def _is_meant(topic: TopicState, request: Request) -> bool:
    if request.topic_id is not None:
        return topic.topic_id == request.topic_id
    return request.topic is None or pattern(request.topic).fullmatch(topic.name) is not None


_PLACED_MAX: Final = 100_000  # servers take 10,000 of a request, and a topic's key holds some 17,000


def parse_assignment(text: str) -> list[list[int]]:
    """`1:2,2:3`: the replicas of partition 0, of partition 1 and so on. ValueError says what is wrong, in Kafka's
    words."""
    found: list[list[int]] = []
    for part in numerals.items(text):
        replicas = numerals.ids(part, ":")
        if replicas is None:
            raise ValueError(f"{part!r:.80} is not a list of broker ids such as 1:2:3")
        if twice := repeated(sorted(replicas)):
            raise ValueError(f"Partition replica lists may not contain duplicate entries: {ids(twice)}")
        if found and len(replicas) != len(found[0]):
            raise ValueError(f"Partition {len(found)} has different replication factor: {replicas}")
        found.append(replicas)
    return found


def check_racks(cluster: Cluster) -> None:
    """Raises Failed where only some brokers have racks: a server would then place replicas without regard to racks."""
    racks = [broker.rack for broker in cluster.brokers().values()]
    if any(racks) and not all(racks):
        raise failure(
            "Not all brokers have rack information. Add --ignore-racks in command line to make replica assignment "
            "without rack information."
        )


def without_racks(
    cluster: Cluster, partitions: int, replication_factor: int, *, first: int = 0, beside: int | None = None
) -> list[list[int]] | None:
    """Replicas of `partitions` new ones from id `first` on, spread as if no broker had a rack. `beside`: the first
    replica of partition 0, whose rotation goes on. None: there are too few brokers, which the server says better.
    Failed for more partitions than a topic can have."""
    if partitions > _PLACED_MAX:
        raise failure(f"--ignore-racks places at most {_PLACED_MAX} partitions at once, got {partitions}.")
    brokers: dict[int, str | None] = dict.fromkeys(cluster.brokers())
    if not 1 <= replication_factor <= len(brokers):
        return None
    if beside is None:
        start, shift = secrets.randbelow(len(brokers)), secrets.randbelow(len(brokers))
    else:
        start = shift = continue_rotation(brokers, beside)
    placed = assign_replicas(brokers, partitions, replication_factor, start=start, shift=shift, first_partition=first)
    return [list(replicas) for replicas in placed]


_EXISTS = 36
_COLLIDE = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
    "To avoid issues it is best to use either, but not both."
)


def create(cluster: Cluster, request: Request) -> None:
    assert request.topic is not None
    assignment, partitions, factor = request.assignment, request.partitions, request.replication_factor
    if assignment is None and request.ignore_racks:
        assert partitions is not None
        assert factor is not None
        assignment = without_racks(cluster, partitions, factor)
    elif assignment is None:
        check_racks(cluster)
    if ("." in request.topic or "_" in request.topic) and not request.as_json:
        click.echo(_COLLIDE)
    by_hand = None if assignment is None else dict(enumerate(assignment))
    is_new = True
    try:
        cluster.create_topic(
            request.topic, None if by_hand else partitions, None if by_hand else factor, by_hand, request.configs
        )
    except Refused as error:
        if error.code != _EXISTS or not request.if_not_exists:
            raise failure(error) from None
        is_new = False
    if request.as_json:
        click.echo(dumped({"topic": request.topic, "created": is_new}))
    elif is_new:
        confirm(f"Created topic {request.topic}.")


def delete(cluster: Cluster, request: Request) -> None:
    found = chosen(cluster, request)
    refused = cluster.delete_topics(found) if found else {}
    deleted = [name for name in found if name not in refused]
    if deleted and not request.as_json:
        confirm(f"Deleted {'topic' if len(deleted) == 1 else 'topics'} {', '.join(deleted)}.")
    if request.as_json:
        answer = {
            "deleted": deleted,
            "refused": [{"topic": name, "code": e.code, "message": str(e)} for name, e in sorted(refused.items())],
        }
        click.echo(dumped(answer))
    if refused:
        raise failure(
            "; ".join(f"{name}: {error}" if len(found) > 1 else str(error) for name, error in sorted(refused.items())),
            answered=request.as_json,
        )


_SWITCHED_OFF: Final = 73
_KEYED: Final = (
    "WARNING: If partitions are removed from a topic that has a key, the partition of a key will change, and for a "
    "while its messages may be in two partitions."
)


def shrink(cluster: Cluster, topic: TopicState, count: int, request: Request) -> None:
    """The partitions from id `count` on are read-only, or being deleted. Raises Failed."""
    tail = [p.index for p in topic.partitions if p.index >= count]
    changing = [p.index for p in topic.partitions if p.status]
    moving = cluster.reassignments(TopicPartition(topic.name, index) for index in tail)
    if moving or (changing and (request.delayed or changing[0] != count)):
        what = "reassigned" if moving else "reduced"
        raise failure(f"topic {topic.name} is being {what} now; nothing was changed; try again when that has ended")
    click.echo(_KEYED, err=True)
    if not request.delayed and not request.yes:
        _confirm(topic.name, tail)
    try:
        cluster.delete_partitions(topic.name, tail, immediate=not request.delayed)
    except Refused as error:
        if error.code == _SWITCHED_OFF:
            raise failure(f"the cluster does not allow partitions to be deleted: {error}") from None
        raise failure(error) from None
    if not request.as_json:
        which = f"partition(s) {', '.join(map(str, tail))} of topic {topic.name}"
        confirm(
            f"Read-only now, and deleted when the retention ends: {which}." if request.delayed else f"Deleted {which}."
        )


def _confirm(topic: str, tail: list[int]) -> None:
    they = "it holds" if len(tail) == 1 else "they hold"
    what = f"{counted(len(tail), 'partition')} of {topic} at once, with all that {they}"
    if not sys.stdin.isatty():
        raise failure(
            f"nothing was changed: --yes deletes {what}; --delete-partitions-delay deletes when the retention ends"
        )
    if not click.confirm(f"Delete {what}?", err=True):
        raise failure("nothing was changed")


def alter(cluster: Cluster, request: Request) -> None:
    """Each topic has so many partitions. Raises Failed at the first that cannot."""
    found = chosen(cluster, request)
    count = (
        len(request.assignment) if request.partitions is None and request.assignment is not None else request.partitions
    )
    assert count is not None
    if (
        request.assignment is None
        and not request.ignore_racks
        and any(count > len(t.partitions) for t in found.values())
    ):
        check_racks(cluster)
    for topic in found.values():
        if count < len(topic.partitions) and cluster.offers(DELETE_PARTITIONS):
            shrink(cluster, topic, count, request)
            continue
        try:
            cluster.create_partitions(topic.name, count, _new(cluster, topic, count, request))
        except Refused as error:
            raise failure(error) from None
    if request.as_json:
        click.echo(dumped({"topics": sorted(found), "partitions": count}))


def _new(cluster: Cluster, topic: TopicState, count: int, request: Request) -> Sequence[Sequence[int]] | None:
    """Replicas of those that are added; None: the server says."""
    there = len(topic.partitions)
    if count <= there:
        return None
    if request.assignment is not None:
        return request.assignment[there:count]
    if not request.ignore_racks:
        return None
    first = topic.partitions[0].replicas
    return without_racks(cluster, count - there, len(first), first=there, beside=first[0])
