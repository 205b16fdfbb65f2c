"""The rules that a host must keep at every step of a seeded run, by name, and the abilities that each one needs.

A rule whose abilities a host does not declare is left out, and the report of a run names it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import attrs

from .under_test import Ability


@attrs.frozen
class Rule:
    name: str
    sentence: str
    needs: frozenset[Ability] = frozenset()

    def __str__(self) -> str:
        return f"{self.name}: {self.sentence}"


ANSWERS: Final = Rule("answers", "Every answer is one that a controller accepts.")
FENCES: Final = Rule(
    "fences", "Requests of deposed controllers and for former registrations are refused as a whole, and no others."
)
ROLES: Final = Rule(
    "roles", "A broker serves a partition only as a LeaderAndIsr to this process said, under that leader epoch."
)
EPOCHS: Final = Rule("epochs", "The leader epoch of a replica does not go back while the process runs.")
FULL: Final = Rule("full", "A broker stops serving what a full LeaderAndIsr does not name.")
LOGS: Final = Rule("logs", "Only a LeaderAndIsr creates a log, and only a deletion or a lost disk ends one.")
EMPTY: Final = Rule(
    "empty",
    "A replica that is not new and has no log is answered with KAFKA_STORAGE_ERROR.",
    frozenset({Ability.STRICT}),
)
DELETIONS: Final = Rule("deletions", "A deletion is done when it is acknowledged, and a late one deletes nothing.")
APPENDS: Final = Rule("appends", "Only a leader takes records.", frozenset({Ability.RECORDS}))
ENDS: Final = Rule(
    "ends", "The log of a leader does not get shorter under one leader epoch.", frozenset({Ability.RECORDS})
)
ISR: Final = Rule(
    "isr",
    "Only the leader calls alter_isr, under epochs that it was given, for itself and members, one call at a time.",
    frozenset({Ability.ISR}),
)
_RECORDS: Final = frozenset({Ability.RECORDS, Ability.COPIES, Ability.ISR, Ability.CONTENTS})
JOINS: Final = Rule("joins", "A leader adds to the ISR only replicas that have all acknowledged records.", _RECORDS)
ACKNOWLEDGED: Final = Rule(
    "acknowledged", "An acknowledged record is on every in-sync replica, and every later leader has it.", _RECORDS
)
ALIKE: Final = Rule("alike", "In the end the logs of all in-sync replicas have the same records.", _RECORDS)
CONVERGES: Final = Rule(
    "converges",
    "Once nothing fails any more, the brokers agree with the committed state, and all replicas are in sync.",
)

RULES: Final = (
    ANSWERS,
    FENCES,
    ROLES,
    EPOCHS,
    FULL,
    LOGS,
    EMPTY,
    DELETIONS,
    APPENDS,
    ENDS,
    ISR,
    JOINS,
    ACKNOWLEDGED,
    ALIKE,
    CONVERGES,
)

WORK: Final = {
    Ability.RESTART: "processes of brokers that end and start again",
    Ability.DISKS: "disks that fail",
    Ability.FAILURE: "callbacks that raise",
    Ability.TARGETS: "moves of partitions",
    Ability.METADATA: "comparison of what brokers know by UpdateMetadata",
}
"""What a run leaves out, beside rules, for a host without an ability."""


def left_out(abilities: Collection[Ability]) -> list[str]:
    """What a run cannot do or check with these abilities, one line each."""
    lines = [
        f"rule {rule.name}: needs {_names(rule.needs - set(abilities))}" for rule in RULES if not _can(rule, abilities)
    ]
    return [*lines, *(f"{what}: needs {one.value}" for one, what in WORK.items() if one not in abilities)]


def _can(rule: Rule, abilities: Collection[Ability]) -> bool:
    return rule.needs <= set(abilities)


def _names(needs: Collection[Ability]) -> str:
    return ", ".join(sorted(one.value for one in needs))


class RuleBroken(AssertionError):
    """A host broke a rule. `rule`: which one."""

    def __init__(self, rule: Rule, what: str) -> None:
        super().__init__(f"{rule}\n  {what}")
        self.rule = rule


class Judge:
    """Remembers the first rule that was broken: a callback must not raise it, since a controller would take that for a
    failure of the host. Rules that need more than these `abilities` are not judged."""

    def __init__(self, abilities: Collection[Ability]) -> None:
        self._abilities = frozenset(abilities)
        self.broken: RuleBroken | None = None

    def heeds(self, rule: Rule) -> bool:
        """Whether the host can show whether it keeps the rule."""
        return rule.needs <= self._abilities

    def require(self, holds: object, rule: Rule, what: str) -> None:
        """Note what is wrong unless `holds`, or the rule is left out."""
        if not holds and self.broken is None and self.heeds(rule):
            self.broken = RuleBroken(rule, what)

    def sentence(self) -> None:
        """Raise what was noted."""
        if self.broken is not None:
            raise self.broken
