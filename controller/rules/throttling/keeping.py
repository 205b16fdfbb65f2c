"""Who set a value: the algebra of `was` and `set`, for one config of one owner.

* A present value that is in `set` is ours. Any other is an operator's: it stays until we set another value over it, and
  becomes `was` then.
* A value joins `set` in a commit not later than its config's, so that a crash in between leaves no value of ours that
  is not recorded. It is removed from `set` only once the config has another value.
* A list of replicas is not one value: elements of an operator and ours are in it together, and `set` holds ours. An
  element that both want is the operator's. `*` names every replica, so nothing is added to it.
* Restoring is idempotent: a restored value is not in `set`, or equals the value to restore.

A list has an element for each replica of a topic, so a set is used for repeated lookups.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ...model.throttle_configs import ALL_REPLICAS, LISTS, list_elements
from ...model.throttles import Kept


def is_list(config: str) -> bool:
    """Whether the config is a list of replicas."""
    return config in LISTS


def elements(value: str | None) -> tuple[str, ...]:
    """The elements of a list of replicas, each once."""
    return () if value is None else tuple(dict.fromkeys(list_elements(value)))


def values_in(config: str, value: str | None) -> tuple[str, ...]:
    """The parts of a present value that may be ours: the value itself, or its elements."""
    if is_list(config):
        return elements(value)
    return () if value is None else (value,)


def joined(config: str, kept: Kept | None, present: str | None, wanted: Sequence[str]) -> Kept:
    """What is kept from the commit on that may be followed by one that sets `wanted`."""
    kept = Kept() if kept is None else kept
    if not is_list(config):
        (value,) = wanted
        ours = present in kept.set
        return attrs.evolve(
            kept,
            was=kept.was if ours else present,
            set=tuple(dict.fromkeys((*kept.set, value) if ours else (value,))),
        )
    there, ours_before = elements(present), frozenset(kept.set)
    still_ours = [one for one in there if one in ours_before]
    known = frozenset(there)
    fresh = [] if ALL_REPLICAS in known else [one for one in wanted if one not in known]
    return attrs.evolve(kept, was=kept.was if still_ours else present, set=(*still_ours, *fresh))


def _as_text(parts: Sequence[str], present: str | None) -> str | None:
    """The elements as text; `present` itself if it has the same elements."""
    if tuple(parts) == elements(present):
        return present
    return ",".join(parts) if parts else None


def written(
    config: str, kept: Kept | None, present: str | None, wanted: Sequence[str], *, replaces: bool
) -> str | None:
    """The new value of the config. A list keeps the operator's elements, and those of ours (`kept`) not being
    replaced."""
    if not is_list(config):
        return wanted[0]
    ours, asked = frozenset(() if kept is None else kept.set), frozenset(wanted)
    there = elements(present)
    stay = [one for one in there if not replaces or one not in ours or one in asked]
    if ALL_REPLICAS in there:
        return _as_text(stay, present)
    return _as_text(tuple(dict.fromkeys((*stay, *wanted))), present)


def trimmed(config: str, kept: Kept, present: str | None) -> Kept:
    """What is kept once the config holds `present`: `set` without the values that are gone."""
    there = frozenset(values_in(config, present))
    return attrs.evolve(kept, set=tuple(value for value in kept.set if value in there))


def released(config: str, kept: Kept, wanted: Sequence[str]) -> Kept | None:
    """What is kept once `wanted` is to stay: these values are no longer ours to remove. None: nothing is kept."""
    if not is_list(config):
        return None
    left = tuple(value for value in kept.set if value not in wanted)
    return attrs.evolve(kept, set=left) if left else None


def given_back(config: str, kept: Kept, present: str | None) -> str | None:
    """The value of the config after the removal of our throttle; None: no value."""
    if not is_list(config):
        return kept.was if present in kept.set else present
    there, ours = elements(present), frozenset(kept.set)
    theirs = [one for one in there if one not in ours]
    if len(theirs) == len(there):
        return present
    if tuple(theirs) == elements(kept.was):
        return kept.was
    return ",".join(theirs) if theirs else None
