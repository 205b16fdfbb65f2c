"""What a plan may change, and where replicas may go: names and globs of a request -> masks over the kernel's arrays.

* Topics and sizes: partitions that are left out are not changed. Where the goal is about brokers (drain, demote, fill,
  rebalance) and a left-out partition is in its way, the plan has a reason for it; elsewhere the request is about the
  others alone.
* Brokers: an excluded one gives and takes nothing, and only those of `to_brokers` take. What is therefore impossible
  has a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final

import attrs
import numpy as np

from ..arguments import checked, each, whole_of
from ..errors import BadInput
from ..kernel.cluster import NO_LIMIT, SIZE_LEFT_OUT, TOPIC_LEFT_OUT, Bools, Cluster, Ints

RACK: Final = "rack:"
_SHOWN_MAX: Final = 20


def _topics(globs: Any) -> tuple[str, ...]:
    return each("topics", "names of topics", _name, globs)


def _excluded_topics(globs: Any) -> tuple[str, ...]:
    return each("exclude-topics", "names of topics", _name, globs)


def _excluded_brokers(brokers: Any) -> tuple[int, ...]:
    return each("exclude-brokers", "ids of brokers", _id, brokers)


def _targets(brokers: Any) -> tuple[int | str, ...]:
    return each("to-brokers", f"ids and {RACK}NAME", _id_or_rack, brokers)


def _name(one: Any) -> str:
    if not isinstance(one, str) or not one:
        raise TypeError
    return one


def _id(one: Any) -> int:
    number = whole_of(one)
    if number < 0:
        raise ValueError
    return number


def _id_or_rack(one: Any) -> int | str:
    return one if isinstance(one, str) and one.startswith(RACK) and one != RACK else _id(one)


@attrs.frozen(field_transformer=checked)
class Choice:
    """The options that every plan takes, under their names.

    `topics`, `exclude_topics`: names and globs (`*`, `?`, `[ab]`); without the first, all. `exclude_brokers`: neither
    source nor target. `to_brokers`: ids and `rack:NAME`; only these get replicas, or leaders where nothing is copied.
    `min_size`, `max_size`: bytes of a replica. `min_racks`: the racks that a partition needs; None: as many as there
    are. Raises BadInput."""

    topics: tuple[str, ...] = attrs.field(default=(), converter=_topics)
    exclude_topics: tuple[str, ...] = attrs.field(default=(), converter=_excluded_topics)
    exclude_brokers: tuple[int, ...] = attrs.field(default=(), converter=_excluded_brokers)
    to_brokers: tuple[int | str, ...] = attrs.field(default=(), converter=_targets)
    min_size: int | None = None
    max_size: int | None = None
    min_racks: int | None = None
    prefer_rack_local: bool = False

    def __attrs_post_init__(self) -> None:
        low, high = self.min_size or 0, NO_LIMIT if self.max_size is None else self.max_size
        if not 0 <= low <= high:
            raise BadInput(f"min-size, max-size: expected 0 or more, the first at most the second; got {low}, {high}")
        if self.min_racks is not None and self.min_racks < 1:
            raise BadInput(f"min-racks: expected at least 1, got {self.min_racks}")

    def has_topic(self, topic: str) -> bool:
        """Whether the plan may change this topic, also one that is not among the cluster's."""
        included = not self.topics or any(topic == glob or fnmatchcase(topic, glob) for glob in self.topics)
        return included and not any(topic == glob or fnmatchcase(topic, glob) for glob in self.exclude_topics)


def applied(choice: Choice, cluster: Cluster, racks: Mapping[int, str | None], usable: Bools) -> Cluster:
    """The cluster with the choice in it. `racks`: by broker; `usable`: those that the plan may give replicas.

    Raises BadInput if a name or glob matches nothing, or no usable broker is left."""
    keeps = named_brokers(cluster, choice.exclude_brokers)
    takes = _takers(cluster, choice.to_brokers, racks, usable & ~keeps)
    if choice.exclude_brokers and not takes.any():
        raise BadInput("--exclude-brokers leaves out every broker that could take replicas")
    racks_min = NO_LIMIT if choice.min_racks is None else choice.min_racks
    return attrs.evolve(
        cluster,
        held=_held(cluster, choice),
        keeps=keeps,
        takes=takes,
        min_racks=racks_min,
        is_rack_local=choice.prefer_rack_local,
    )


def named_brokers(cluster: Cluster, brokers: tuple[int, ...]) -> Bools:
    """A mask of these brokers. Raises BadInput if one is not in the snapshot."""
    unknown = sorted(set(brokers) - set(cluster.brokers.tolist()))
    if unknown:
        raise BadInput(f"unknown brokers: {unknown}; the snapshot has {cluster.brokers.tolist()[:50]}")
    return np.isin(cluster.brokers, brokers)


def _takers(cluster: Cluster, to_brokers: Sequence[int | str], racks: Mapping[int, str | None], usable: Bools) -> Bools:
    if not to_brokers:
        return usable
    rack_of = [racks[broker] or "" for broker in cluster.brokers.tolist()]
    named_racks = [one.removeprefix(RACK) for one in to_brokers if isinstance(one, str)]
    unknown = sorted(set(named_racks) - set(rack_of))
    if unknown:
        raise BadInput(f"unknown racks: {unknown}; the snapshot has {sorted(set(rack_of) - {''})[:_SHOWN_MAX]}")
    named = named_brokers(cluster, tuple(one for one in to_brokers if isinstance(one, int)))
    if (named & ~usable).any():
        raise BadInput(f"--to-brokers: {cluster.brokers[named & ~usable].tolist()} are dead, draining or excluded")
    takers = np.asarray((named | np.isin(rack_of, named_racks)) & usable, np.bool_)
    if not takers.any():
        raise BadInput(f"--to-brokers: every broker of racks {sorted(set(named_racks))} is dead, draining or excluded")
    return takers


def _held(cluster: Cluster, choice: Choice) -> Ints:
    chosen = _matching(cluster.topics, choice.topics) if choice.topics else np.ones(len(cluster.topics), np.bool_)
    chosen &= ~_matching(cluster.topics, choice.exclude_topics)
    if (choice.topics or choice.exclude_topics) and not chosen.any():
        raise BadInput("--topics and --exclude-topics leave out every topic")
    held = np.where(chosen[cluster.topic], cluster.held, TOPIC_LEFT_OUT)
    if choice.min_size is None and choice.max_size is None:
        return held
    low, high = choice.min_size or 0, NO_LIMIT if choice.max_size is None else choice.max_size
    fits = cluster.sized & (cluster.size >= low) & (cluster.size <= high)
    return np.where(fits | (held == TOPIC_LEFT_OUT), held, SIZE_LEFT_OUT)


def _matching(topics: Sequence[str], globs: Iterable[str]) -> Bools:
    """Which topics match one of the globs. Raises BadInput if a glob matches none."""
    matched, unknown, places = np.zeros(len(topics), np.bool_), [], {name: at for at, name in enumerate(topics)}
    for glob in globs:
        at = [places[glob]] if glob in places else [i for i, name in enumerate(topics) if fnmatchcase(name, glob)]
        matched[at] = True
        unknown += [] if at else [glob]
    if unknown:
        raise BadInput(f"unknown topics: {sorted(unknown)[:_SHOWN_MAX]}")
    return matched
