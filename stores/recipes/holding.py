"""Deposing the leader and holding leadership permanently, which ends the use of a cluster in this store.

Rules
* While `/controller` is a persistent key, no controller can be elected.
* One commit cannot both delete and put a key, so there are two. The first deletes the leader's key and raises the
  epoch, so that the former leader can commit nothing, whether or not it knows. The second puts the persistent key
  without reading in between. If another controller is elected in between, it is deposed too; that is a failover like
  any other, and it is attempted only a few times.
* Both raise the epoch: once `hold` has returned, no commit of a former leader is applied, in flight or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ..base import (
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
    as_read,
)
from .election import EPOCH_MAX, decode_epoch
from .token import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, Token

_DEPOSED_MAX: Final = 3  # leaders, each elected in between


def hold(
    store: MetadataStore,
    leader_value: bytes,
    guard: Check,
    with_it: Callable[[int], Sequence[Op]],
    timeout_s: float,
) -> int:
    """Make LEADER_KEY a persistent key with `leader_value`; return the controller epoch under which it was put.

    `guard` must hold when the leader is deposed. The ops of `with_it(epoch)` are applied together with the persistent
    key. `timeout_s` is for each call to the store.

    Raises Invalid if another program holds LEADER_KEY permanently, Corrupt if EPOCH_KEY or TOKEN_KEY has invalid
    content, Conflict if `guard` or an op of `with_it` fails, Contested if three leaders were deposed and another was
    elected each time, and the other errors of the store. After OutcomeUnknown, read the key to see whether it was done;
    if it was not, call again.
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
    raise Contested(f"{LEADER_KEY}: another controller was elected {_DEPOSED_MAX} times before the key could be held")


class Contested(StoreError):
    """Other controllers won the election each time. The key is not held permanently."""


class _Epoch(NamedTuple):
    """The next epoch, and the version of the present one."""

    number: int
    at: Expect


def _depose(store: MetadataStore, guard: Check, timeout_s: float) -> _Epoch | None:
    """Depose the leader, which can commit nothing afterwards. None: there was none, or another one leads by now."""
    leader = _read(store, LEADER_KEY, timeout_s)
    if leader is None:
        return None
    if leader.owner is None:
        raise Invalid(f"{LEADER_KEY} is held permanently by another program: {leader.value!r:.200}", key=LEADER_KEY)
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
    return _Epoch(number, as_read(epoch))


def _next_epoch(epoch: Entry | None, token: Entry | None) -> int:
    known = 0 if epoch is None else decode_epoch(epoch.value)
    number = max(known, 0 if token is None else Token.decode(token.value).controller_epoch) + 1
    if number > EPOCH_MAX:
        raise Corrupt(f"{EPOCH_KEY}: no controller epoch is left above {number - 1}", key=EPOCH_KEY)
    return number


def _read(store: MetadataStore, key: str, timeout_s: float) -> Entry | None:
    return store.get(key, sync=True, timeout_s=timeout_s)
