"""Which part of one config of one owner is ours and which is an operator's: the only place that computes it.

* A present value that is ours is ours. Any other is an operator's: it stays until we set another value over it, and is
  `previous` then. It is restored once we want nothing any more.
* A list of replicas is not one value: elements of an operator and ours are in it together. An element that both want is
  the operator's. `*` names every replica, so nothing is added to it.
* The mark and the config change in one commit, so no value of ours is ever unknown.

A list has an element for each replica of a topic, so a set is used for repeated lookups.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ...model.throttle_configs import ALL_REPLICAS, LIST_SEPARATOR, LISTS, list_elements
from ...model.throttles import ConfigMark


def is_list(config: str) -> bool:
    return config in LISTS


def elements(value: str | None) -> tuple[str, ...]:
    """The elements of a list of replicas, each once."""
    return () if value is None else tuple(dict.fromkeys(list_elements(value)))


def values_in(config: str, value: str | None) -> tuple[str, ...]:
    """The parts of a present value that may be ours: the value itself, or its elements."""
    if is_list(config):
        return elements(value)
    return () if value is None else (value,)


def wanting(
    config: str, mark: ConfigMark, present: str | None, values: Sequence[str], *, replaces: bool, stays: bool
) -> ConfigMark:
    """The mark from the request for `values` on. `replaces`: a list loses the other elements that are ours."""
    others: Sequence[str] = ()
    if is_list(config) and not replaces:
        there, requested = frozenset(elements(present)), frozenset(values)
        others = [one for one in mark.ours if one in there] if mark.wanted is None else mark.wanted
        others = [one for one in others if one not in requested]
    if stays:
        return attrs.evolve(mark, wanted=tuple(others), stays=tuple(values))
    return attrs.evolve(mark, wanted=(*others, *values), stays=())


def brought(config: str, mark: ConfigMark, present: str | None) -> tuple[str | None, ConfigMark | None]:
    """The config as its mark wants it (None: without a value), and what is kept of it then: None where nothing of it is
    ours. Doing it again changes nothing."""
    operators, theirs = _operators(config, mark, present)
    wanted = mark.wanted or ()
    if not is_list(config):
        if wanted:
            return wanted[0], ConfigMark(operators, wanted, extra=mark.extra)
        return (mark.stays[0] if mark.stays else operators), None
    known = frozenset(theirs)
    ours = () if ALL_REPLICAS in known else tuple(one for one in wanted if one not in known)
    added = () if ALL_REPLICAS in known else (*ours, *(one for one in mark.stays if one not in known))
    parts = dict.fromkeys((*theirs, *added))
    kept = ConfigMark(operators, ours, extra=mark.extra) if ours else None
    if not added:
        return operators, kept
    return present if parts.keys() == set(elements(present)) else LIST_SEPARATOR.join(parts), kept


def given_back(config: str, mark: ConfigMark, present: str | None) -> str | None:
    """The value of the config after the removal of our throttle; None: no value."""
    return _operators(config, mark, present)[0]


def _operators(config: str, mark: ConfigMark, present: str | None) -> tuple[str | None, tuple[str, ...]]:
    """What an operator set: the value as it is spelled, and its elements."""
    there, ours = values_in(config, present), frozenset(mark.ours)
    theirs = tuple(one for one in there if one not in ours)
    if len(theirs) == len(there):
        return present, theirs
    if not is_list(config) or theirs == elements(mark.previous):
        return mark.previous, values_in(config, mark.previous)
    return LIST_SEPARATOR.join(theirs) or None, theirs
