"""The throttles of a wave, set and removed by what brokers support.

* Kedge has rates for reassignments alone (KIP-542). It marks them, and removes them when the last move ends.
* Kafka has rates on brokers and lists on topics (KIP-73), and does not record who set them. So each change is written
  beside the plan first (`Mark`). Afterwards the operator's rate is set again, lists lose what was added, and a rate
  that an operator changed meanwhile stays. A value that any wave has set counts as the plan's, because a broker may
  show a config for a while after it was changed.

Methods raise Failed and Refused, of `kedge.controller.cli.kafka`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs

from ...controller.cli.kafka.errors import Refused
from ...controller.cli.kafka.throttled import (
    FOLLOWER_REPLICAS,
    LEADER_REPLICAS,
    RATE_KEYS,
    REPLICA_KEYS,
    Lists,
    lists,
    removes_by_itself,
)
from ...controller.cli.kafka.values import UNKNOWN_TOPIC, Change, Op, Resource, ResourceType, Source
from ...controller.model import numerals
from ...controller.model.throttle_configs import ALL_REPLICAS, LIST_SEPARATOR, UNLIMITED, list_elements
from ...controller.model.values import TopicPartition
from ..errors import Refused as NotGivenBack
from ..submit.exported import Wave
from ..submit.kept import Mark, Progress, Setting
from ..submit.route import OTHERS_MOVE, rates_of

if TYPE_CHECKING:
    from ...controller.cli.kafka.cluster import Cluster

AGAIN: Final = frozenset({6, 7, 8, 13, 41, 60, 89})
"""Kafka's numbers of what may be answered otherwise a moment later: timeouts, no controller, too many changes."""
_AT_ONCE: Final = 500  # resources of a request: a controller of KRaft takes 10,000 changes at most
_HIDDEN: Final = "hidden"  # a rate that is set, of which Kafka 2.4 tells no more
_REMOVE: Final = "it could not be set again afterwards; remove it, or give --no-throttle"
_OWN: Final = {Source.DYNAMIC_BROKER_CONFIG, Source.DYNAMIC_TOPIC_CONFIG}


def rates_for(cluster: Cluster, progress: Progress) -> KedgeRates | KafkaRates:
    return KedgeRates(cluster) if removes_by_itself(cluster) else KafkaRates(cluster, progress)


@attrs.define
class KedgeRates:
    """`stay_set`: whether the rates stay when the moves end, until they are removed."""

    cluster: Cluster
    stay_set: bool = attrs.field(default=False, init=False)  # a takeover before the first move takes them back
    _are_back: bool = attrs.field(default=False, init=False)

    def check(self, wave: Wave) -> None:
        """Whether `set` would be accepted: a user who may start moves may set rates."""

    def set(self, wave: Wave) -> None:
        """Both sides of each broker; one without a rate is unlimited."""
        if not wave.rates:
            return
        there = self.cluster.brokers()
        self._are_back = False
        rates = {
            broker: (
                UNLIMITED if rate.leader is None else rate.leader,
                UNLIMITED if rate.follower is None else rate.follower,
            )
            for broker, rate in rates_of(wave).items()
            if broker in there
        }
        self.cluster.throttle_moves(rates, _lists(wave).replicas)

    def stand(self, wave: Wave | None) -> bool:
        """Whether those of this wave are still set, or (None) any of the plan: until they were given back. After a
        crash the controller sees to it."""
        return wave is not None and bool(wave.rates) and not self._are_back

    def give_back(self) -> str:
        """Make all as it was before, or return why not. By the controller, which knows what was marked."""
        if self.cluster.reassignments():
            return OTHERS_MOVE
        self.cluster.end_throttle()
        self._are_back = True
        return ""


@attrs.frozen
class KafkaRates:
    """As `KedgeRates`."""

    cluster: Cluster
    progress: Progress
    stay_set: bool = attrs.field(default=True, init=False)

    def check(self, wave: Wave) -> None:
        _, changes = self._wanted(wave)
        self._alter(changes, validate_only=True)

    def set(self, wave: Wave) -> None:
        marks, changes = self._wanted(wave)
        self.progress.mark(marks)
        self._alter(changes)

    def stand(self, wave: Wave | None) -> bool:  # noqa: ARG002 - those of any wave go
        return any(mark.stands for mark in self.progress.marks.values())

    def give_back(self) -> str:
        """Of brokers that live; the others keep theirs, and the marks."""
        alive = self.cluster.brokers()
        marks = {setting: mark for setting, mark in self.progress.marks.items() if mark.stands}
        down = {name for kind, name, _ in marks if kind == "broker" and numerals.whole(name) not in alive}
        marks = {at: mark for at, mark in marks.items() if at[0] == "topic" or at[1] not in down}
        present = self._present({_resource(setting) for setting in marks}, is_gone_allowed=True)
        changes: dict[Resource, list[Change]] = {}
        for setting, mark in marks.items():
            resource = _resource(setting)
            if resource in present and (change := _back(setting, mark, present[resource].get(setting[2]))) is not None:
                changes.setdefault(resource, []).append(change)
        self._alter(changes, is_gone_allowed=True)
        self.progress.mark({setting: attrs.evolve(mark, stands=False) for setting, mark in marks.items()})
        names = ", ".join(sorted(down, key=lambda name: (len(name), name)))
        return f"brokers that are down keep their throttles until this command runs again: {names}" if down else ""

    def _wanted(self, wave: Wave) -> tuple[dict[Setting, Mark], dict[Resource, list[Change]]]:
        """Every setting of the wave, marked; and the changes that set them."""
        if not wave.rates:
            return {}, {}
        wanted = _settings(wave, self.cluster.brokers())
        present = self._present({_resource(setting) for setting in wanted})
        marks: dict[Setting, Mark] = {}
        changes: dict[Resource, list[Change]] = {}
        for setting, value in wanted.items():
            found = present[_resource(setting)].get(setting[2])
            if setting[0] == "topic" and found == ALL_REPLICAS:
                continue
            marks[setting] = _marked(setting, self.progress.marks.get(setting), found, value)
            op = Op.APPEND if setting[0] == "topic" and found else Op.SET  # Kafka 2.4 fails to append to nothing
            changes.setdefault(_resource(setting), []).append(Change(setting[2], op, value))
        return marks, changes

    def _alter(
        self,
        changes: Mapping[Resource, Sequence[Change]],
        *,
        validate_only: bool = False,
        is_gone_allowed: bool = False,
    ) -> None:
        for some in _some(sorted(changes)):
            refused = self.cluster.alter_configs({at: changes[at] for at in some}, validate_only=validate_only)
            for at, error in sorted(refused.items()):
                if not (is_gone_allowed and _is_gone(at, error)):
                    raise _named(at, error)

    def _present(
        self, resources: Iterable[Resource], *, is_gone_allowed: bool = False
    ) -> dict[Resource, dict[str, str | None]]:
        found: dict[Resource, dict[str, str | None]] = {}
        for some in _some(sorted(resources)):
            for resource, answer in self.cluster.describe_configs(some, names=(*RATE_KEYS, *REPLICA_KEYS)).items():
                if not isinstance(answer, Refused):
                    own = (each for each in answer.values() if each.source in _OWN)
                    found[resource] = {each.name: _HIDDEN if each.is_sensitive else each.value for each in own}
                elif not (is_gone_allowed and _is_gone(resource, answer)):
                    raise _named(resource, answer)
        return found


def _settings(wave: Wave, there: Container[int]) -> dict[Setting, str]:
    wanted: dict[Setting, str] = {}
    for broker, rate in rates_of(wave).items():
        sides = zip(RATE_KEYS, (rate.leader, rate.follower), strict=True)
        if broker in there:
            wanted |= {("broker", str(broker), key): str(side) for key, side in sides if side is not None}
    held = _lists(wave)
    for key, lists_ in ((LEADER_REPLICAS, held.leaders), (FOLLOWER_REPLICAS, held.followers)):
        wanted |= {("topic", topic, key): replicas for topic, replicas in lists_.items() if replicas}
    return wanted


def _lists(wave: Wave) -> Lists:
    tps = {TopicPartition(*move.name): move for move in wave.moves}
    return lists({}, {tp: move.after for tp, move in tps.items()}, {tp: move.before for tp, move in tps.items()})


def _marked(setting: Setting, mark: Mark | None, present: str | None, wanted: str) -> Mark:
    """What is present and not ours is an operator's. Raises NotGivenBack."""
    if mark is None and present == _HIDDEN:
        raise NotGivenBack(f"broker {setting[1]} has {setting[2]}, and does not tell its value: {_REMOVE}")
    before = Mark() if mark is None else mark
    if setting[0] == "topic":
        return Mark(None, before.ours | (_elements(wanted) - _elements(present)))
    return Mark(before.was if present == _HIDDEN or present in before.ours else present, before.ours | {wanted})


def _back(setting: Setting, mark: Mark, present: str | None) -> Change | None:
    """What gives the operator's own back; None: it is there."""
    key = setting[2]
    if setting[0] == "topic":
        left = _elements(present) - mark.ours
        ours = LIST_SEPARATOR.join(sorted(mark.ours))
        return Change(key, Op.SUBTRACT, ours) if left else Change(key, Op.DELETE)
    if present not in {*mark.ours, mark.was, _HIDDEN}:
        return None
    return Change(key, Op.DELETE) if mark.was is None else Change(key, Op.SET, mark.was)


def _elements(value: str | None) -> frozenset[str]:
    return frozenset(list_elements(value or ""))


def _resource(setting: Setting) -> Resource:
    return Resource(ResourceType[setting[0].upper()], setting[1])


def _is_gone(resource: Resource, error: Refused) -> bool:
    return resource.type is ResourceType.TOPIC and error.code == UNKNOWN_TOPIC


def _named(resource: Resource, error: Refused) -> Refused:
    return Refused(error.code, f"{resource.type.name.lower()} {resource.name}: {error}")


def _some(resources: Sequence[Resource]) -> Iterator[Sequence[Resource]]:
    yield from (resources[first : first + _AT_ONCE] for first in range(0, len(resources), _AT_ONCE))
