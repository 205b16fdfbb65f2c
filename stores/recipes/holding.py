"""Deposing whoever leads, and holding leadership for good: what ends the life of a cluster in a store.

Rules
* A persistent `/controller` is one that no session's end takes away: nobody is elected any more, whatever he is.
* One commit cannot both delete a key and put it, so there are two. The first deletes the leader's key and raises the
  epoch at once, so that the leader that was can commit nothing any more, whether it has heard of it or not. The second
  puts the key for good, at once, without reading anything first. Whoever is elected in between all the same is deposed
  in turn; that is nothing worse than a failover, and it is done a few times only.
* Each raises the epoch: no commit of anybody who led before, in flight or not, is applied after `hold` returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from stores.base import (
    ABSENT,
    Check,
    Conflict,
    Corrupt,
    Delete,
    Entry,
    Expect,
    Invalid,
    MetadataStore,
    Op,
    Put,
    StoreError,
)
from stores.recipes.election import EPOCH_MAX, decode_epoch
from stores.recipes.token import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, Token

_DEPOSED_MAX: Final = 3  # leaders; each was elected in between


def hold(
    store: MetadataStore,
    leader_value: bytes,
    guard: Check,
    with_it: Callable[[int], Sequence[Op]],
    timeout_s: float,
) -> int:
    """Afterwards LEADER_KEY is `leader_value` and belongs to no session; the controller epoch under which it was put.

    `guard` must hold when the leader is deposed; the ops of `with_it(epoch)` are applied together with the key that
    stays. `timeout_s` is for each call to the store.

    Raises Invalid where somebody else holds LEADER_KEY for good already, Corrupt where EPOCH_KEY or TOKEN_KEY holds
    something else, Conflict where an op of `guard` or `with_it` does not hold, Contested where three were deposed and
    somebody else was elected each time, and whatever else the store raises. After OutcomeUnknown the key tells whether
    it was done; calling again is right if it was not.
    """
    for _ in range(_DEPOSED_MAX):
        epoch = _depose(store, guard, timeout_s) or _seen(store, timeout_s)
        raised = Put(EPOCH_KEY, b"%d" % epoch.number, epoch.at)
        try:
            store.commit((Put(LEADER_KEY, leader_value, ABSENT), raised, *with_it(epoch.number)), timeout_s=timeout_s)
        except Conflict as conflict:
            if conflict.index > 1:
                raise
        else:
            return epoch.number
    raise Contested(f"{LEADER_KEY}: {_DEPOSED_MAX} times somebody else was elected before it could be held")


class Contested(StoreError):
    """Others won the election each time. Nobody holds it for good."""


class _Epoch(NamedTuple):
    """The next epoch, and where the one before it stands."""

    number: int
    at: Expect


def _depose(store: MetadataStore, guard: Check, timeout_s: float) -> _Epoch | None:
    """Nobody leads, and whoever did commits nothing any more. None: nobody did, or it is somebody else by now."""
    leader = _read(store, LEADER_KEY, timeout_s)
    if leader is None:
        return None
    if leader.owner is None:
        raise Invalid(f"{LEADER_KEY} is held for good by somebody else: {leader.value!r:.200}", key=LEADER_KEY)
    epoch = _seen(store, timeout_s)
    ops = (Delete(LEADER_KEY, leader.version), Put(EPOCH_KEY, b"%d" % epoch.number, epoch.at), guard)
    try:
        at = store.commit(ops, timeout_s=timeout_s).versions[1]
    except Conflict as conflict:
        if conflict.index > 1:
            raise
        return None
    assert at is not None, "a Put always has one"
    return _Epoch(epoch.number + 1, at)


def _seen(store: MetadataStore, timeout_s: float) -> _Epoch:
    epoch = _read(store, EPOCH_KEY, timeout_s)
    number = _next_epoch(epoch, _read(store, TOKEN_KEY, timeout_s))
    return _Epoch(number, ABSENT if epoch is None else epoch.version)


def _next_epoch(epoch: Entry | None, token: Entry | None) -> int:
    known = 0 if epoch is None else decode_epoch(epoch.value)
    number = max(known, 0 if token is None else Token.decode(token.value).controller_epoch) + 1
    if number > EPOCH_MAX:
        raise Corrupt(f"{EPOCH_KEY}: no controller epoch is left above {number - 1}", key=EPOCH_KEY)
    return number


def _read(store: MetadataStore, key: str, timeout_s: float) -> Entry | None:
    return store.get(key, sync=True, timeout_s=timeout_s)
