"""The table of rules, and the one pass over it.

A rule is a function from the tree to any number of findings; it changes nothing, and no rule depends on another. A new
rule needs a function, a row here, a row in KINDS, and a planted tree in `tests/check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from ...stores.base import Entry
from . import cluster, orders, topics
from .findings import SEVERITIES, Counts, Finding, Report
from .reading import read
from .tree import Tree

Rule: TypeAlias = Callable[[Tree], Iterator[Finding]]

RULES: Final[tuple[Rule, ...]] = (
    topics.topic_id_missing,
    topics.topic_id_twice,
    topics.kafka_move,
    topics.state_missing,
    topics.orphan_state,
    topics.isr_outside,
    topics.leader_outside_isr,
    topics.who_is_gone,
    topics.unfinished_completion,
    topics.orphan_reassignment,
    topics.recovering_isr,
    topics.retired_epoch,
    topics.state_epoch,
    topics.status_without_order,
    orders.empty_keys,
    orders.intents,
    orders.intent_seq,
    orders.legacy_moves,
    orders.elections,
    orders.deletions,
    orders.reductions,
    orders.throttles,
    cluster.leadership,
    cluster.migration,
    cluster.epochs,
    cluster.token,
    cluster.tree_format,
    cluster.registrations,
    cluster.admissions,
    cluster.never_brokers,
    cluster.configs,
    cluster.notices,
    cluster.sizes,
    cluster.unknown_keys,
)


def inspect(entries: Iterable[Entry], rules: Sequence[Rule] = RULES) -> Report:
    """What is broken, inconsistent or left over among `entries`: all keys of one cluster, in any order, as from
    `MetadataStore.snapshot("/")`. Pure; raises nothing, whatever the keys hold. With no `rules` it returns only what
    cannot be read.

    An entry's `owner` says whether it is ephemeral; `created` of a registration is its broker's epoch.
    """
    tree, findings = read(entries)
    for rule in rules:
        findings += rule(tree)
    findings.sort(key=lambda finding: (SEVERITIES.index(finding.severity), finding.key, finding.kind, finding.what))
    return Report(tuple(findings), _counts(tree))


def _counts(tree: Tree) -> Counts:
    state = tree.state
    return Counts(
        tree.keys,
        len(state.topics),
        state.partition_total(),
        len(tree.registered),
        len(tree.moving()),
        len(state.intents),
    )
