"""What a key that cannot be read means: one table by kind of key, for whoever reads, and for people.

Two ways of not being readable:
* broken: it was read, and is not what a key of its kind must be. Its version is known, so it can be written over.
* forbidden: the store does not give it to this controller. It is there, and no more is known: no value, no version, no
  `created`. The store of a term gives FORBIDDEN for it at UNREAD, which is no version, so nothing is written at that.
  Only keys of topics and of partitions may be so: whoever may not read another one does not lead (`NOBODY`).

The rule of all rows: a name that is there is believed, what was known stays in force, and nothing is done that would
need what the key may say. `where` says which code does so; docs/unreadable-keys.md has the same rows (tests/docs holds
them together).
"""

from __future__ import annotations

import re
from typing import Final

import attrs


class Forbidden(bytes):
    """Stands for the value of a key that may not be read. JSON it is not, so a decoder that knows nothing of it says
    that the key is broken."""


FORBIDDEN: Final = Forbidden(b"(forbidden: the store does not let this controller read it)")


@attrs.frozen
class Unreadable:
    """One kind of key. `pattern`: of its path. `broken`, `forbidden`: what is believed of such a key, and done.
    `where`: the code that does so."""

    kind: str
    pattern: re.Pattern[str]
    broken: str
    forbidden: str
    where: str


NOBODY: Final = "a controller that may not read it stands by"
"""What is done where another kind of key is forbidden."""


def _row(kind: str, pattern: str, broken: str, where: str, forbidden: str = NOBODY) -> Unreadable:
    return Unreadable(kind, re.compile(pattern), broken, forbidden, where)


TABLE: Final = (
    _row(
        "topic",
        "/brokers/topics/[^/]+",
        "at takeover the topic is left alone until it can be read; later what is known is written over it",
        "keys.topic_load, keys.topics, rules.foreign_writes.topic_key_read",
        "at takeover the topic is left alone until it can be read; later what is known stays in force",
    ),
    _row(
        "state",
        "/brokers/topics/[^/]+/partitions/[^/]+/state",
        "at takeover nobody is elected, moved or taken from the isr there; later what is known is written over it",
        "keys.topic_load, keys.states, rules.foreign_writes.state_key_read, rules.deletion",
        "at takeover nobody is elected, moved or taken from the isr there, and its topic is not deleted; later what "
        "is known stays in force",
    ),
    _row(
        "configs of a topic",
        "/config/topics/[^/]+",
        "what was known stays in force, but for unclean election, which is off there whatever the defaults say",
        "keys.topic_load, keys.topics, keys.configs, rules.leader_election.allows_unclean",
    ),
    _row(
        "defaults of all brokers",
        "/config/brokers/<default>",
        "what was known stays in force, but for unclean election, which is off where a topic itself does not allow it",
        "keys.configs, rules.leader_election.allows_unclean_by_default",
    ),
    _row(
        "configs of a broker",
        "/config/brokers/[^/<][^/]*",
        "what was known stays in force, and they are not altered here",
        "keys.configs, rules.config_changes",
    ),
    _row(
        "registration",
        "/brokers/ids/[^/]+",
        "its broker is not dead: what was known of it stays in force under the same epoch; where nothing is known it"
        " is not called or elected, and keeps its leads and its places in isrs; another epoch is a death, as ever",
        "keys.brokers, rules.registrations, rules.leader_election",
    ),
    _row(
        "admission",
        "/kedge/brokers/[^/]+",
        "a death, then a birth, which writes the key again",
        "keys.brokers",
    ),
    _row(
        "request to delete a topic",
        "/admin/delete_topics/[^/]+",
        "it holds nothing that is read: its name is all it says",
        "keys.deletions, rules.deletion, rules.topics",
    ),
    _row(
        "request to delete partitions",
        "/admin/delete_topic_partitions/[^/]+",
        "it is removed, or, where partitions of its topic are not online, written again: their time begins anew",
        "keys.reductions, rules.reduction.keys, rules.topics",
    ),
    _row(
        "intents",
        "/admin/replica_deletions/[^/]+/[^/]+",
        "the replicas that it names are not deleted before a controller takes over that can read it",
        "keys.intents",
    ),
    _row(
        "legacy plan",
        "/admin/reassign_partitions",
        "nothing of it is begun; it is removed, or written again, once nothing moves",
        "keys.legacy, rules.legacy",
    ),
    _row(
        "throttles to be removed",
        "/admin/(throttled_(replicas|rates)_removal|remove_throttled_(replicas|rates))",
        "nothing that it names is taken back; the next mark is written over it, and it is removed once nothing moves",
        "keys.throttles, rules.throttling",
    ),
    _row(
        "notification",
        "(/admin/preferred_replica_election|/isr_change_notification/[^/]+|/log_dir_event_notification/[^/]+)",
        "it is removed, since nobody else would",
        "keys.notifications",
    ),
    _row(
        "change of configs",
        "/config/changes/[^/]+",
        "it is passed over: the key of the configs is watched by itself",
        "keys.changes",
    ),
    _row(
        "key of the election",
        "(/controller|/controller_epoch|/kedge/commit|/kedge/format|/kedge/migration)",
        "nobody leads who cannot tell by it that he may",
        "candidacy, committer, readable",
    ),
)


def row_of(key: str) -> Unreadable | None:
    """The kind of `key`; None for one of which nothing is decided."""
    return next((row for row in TABLE if row.pattern.fullmatch(key)), None)


def forbidden(key: str) -> str:
    """What is said of a key that this controller may not read."""
    row = row_of(key)
    said = "the store does not let this controller read it"
    return said if row is None else f"{said}: {row.forbidden}"


def broken(key: str, error: object) -> str:
    """What is said of a key that was read and is not of its kind."""
    row = row_of(key)
    return str(error) if row is None else f"{error}; {row.broken}"
