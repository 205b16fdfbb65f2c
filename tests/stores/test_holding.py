"""Holding leadership permanently: the leader is deposed, and no other is elected any more."""

from __future__ import annotations

import pytest

from kedge.stores import (
    ABSENT,
    Check,
    Conflict,
    Corrupt,
    FaultStore,
    Invalid,
    MemoryStore,
    MetadataStore,
    Op,
    Put,
    Version,
)
from kedge.stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, Contested, Fence, Token, hold
from kedge.stores.recipes.election import EPOCH_MAX
from kedge.stores.suite.backend import found, get
from tests.stores.kit import CALL_S, RECIPE_S, before_commits, faulty, stand, won, write

NONE = Check("/none", ABSENT)


def held(store: MetadataStore, *ops: Op, guard: Check = NONE, value: bytes = b"held") -> int:
    return hold(store, value, guard, lambda epoch: [*ops, Put("/mark", b"%d" % epoch, ABSENT)], RECIPE_S)


def contested(times: int) -> tuple[FaultStore, MemoryStore, list[MemoryStore]]:
    """A store, an observer, and the rivals that are elected just before each of the first `times` puts of the key."""
    rivals: list[MemoryStore] = []
    store, observer = faulty()

    def elected(call: object) -> None:
        if isinstance(call.ops[0], Put) and len(rivals) < times:  # type: ignore[attr-defined]
            rivals.append(MemoryStore(observer.server))
            assert stand(rivals[-1]) is not None

    store.play(before_commits(elected))
    return store, observer, rivals


def test_permanent_holder_deposes_the_leader_and_prevents_elections() -> None:
    store, observer = faulty()
    leader = store.another_session()
    fence = Fence(won(leader))
    claim = fence.attempt((), "first")
    fence.done(claim, leader.commit(claim.ops, timeout_s=RECIPE_S))
    epoch = held(store)
    assert epoch > fence.term.controller_epoch
    assert found(observer, "/mark").value == b"%d" % epoch
    with pytest.raises(Conflict):
        leader.commit(fence.attempt((), "second").ops, timeout_s=RECIPE_S)
    store.close()  # no session's end takes the key away
    assert stand(leader) is None
    assert (found(observer, LEADER_KEY).value, found(observer, LEADER_KEY).owner) == (b"held", None)


@pytest.mark.parametrize(
    "epoch, token, expected",
    [(0, None, 1), (EPOCH_MAX - 1, None, EPOCH_MAX), (0, Token(7, 3, "n"), 8)],
    ids=["the first", "the last", "above that of the token"],
)
def test_holder_takes_the_next_epoch(epoch: int, token: Token | None, expected: int) -> None:
    store, observer = faulty()
    if epoch:
        write(observer, EPOCH_KEY, b"%d" % epoch)
    if token is not None:
        write(observer, TOKEN_KEY, token.encode())
    assert held(store) == expected


@pytest.mark.parametrize(
    "value, message",
    [(b"x", f"{EPOCH_KEY}: not a controller"), (b"%d" % EPOCH_MAX, f"no controller epoch is left above {EPOCH_MAX}$")],
)
def test_epoch_that_cannot_be_raised_is_corrupt(value: bytes, message: str) -> None:
    """An operator has to look at it."""
    store, observer = faulty()
    write(observer, EPOCH_KEY, value)
    with pytest.raises(Corrupt, match=message) as caught:
        held(store)
    assert caught.value.key == EPOCH_KEY
    assert get(observer, LEADER_KEY) is None


def test_controller_elected_in_between_is_deposed_in_turn() -> None:
    store, observer, rivals = contested(2)
    assert held(store) == 5  # two elections, two that were deposed, and the one that stays
    assert (len(rivals), found(observer, LEADER_KEY).owner) == (2, None)


def test_three_at_most_are_deposed() -> None:
    """A cluster whose leader is deposed again and again does nothing else."""
    store, observer, rivals = contested(9)
    assert stand(observer) is not None
    with pytest.raises(Contested, match="elected 3 times"):
        held(store)
    assert len(rivals) == 3
    assert found(observer, LEADER_KEY).owner == rivals[-1].session.session_id


def test_nothing_is_read_between_deposing_and_holding() -> None:
    """A stand-by that hears that there is no leader and reads comes too late."""
    store, observer = faulty()
    assert stand(observer) is not None
    assert held(store) == 3
    assert [call.name for call in store.calls[-2:]] == ["commit", "commit"]


@pytest.mark.parametrize("is_led", [True, False])
def test_guard_or_op_that_fails_is_raised(is_led: bool) -> None:
    """A guard that does not hold deposes no controller."""
    store, observer = faulty()
    if is_led:
        assert stand(observer) is not None
    with pytest.raises(Conflict):
        held(store, *([] if is_led else [Put("/ids", b"", Version(999))]), guard=Check("/none", Version(999)))
    entry = get(observer, LEADER_KEY)
    assert (entry and entry.owner) == (observer.session.session_id if is_led else None)


def test_permanent_holder_of_another_program_is_left_alone() -> None:
    store, observer = faulty()
    observer.commit([Put(LEADER_KEY, b"theirs", ABSENT)], timeout_s=CALL_S)
    with pytest.raises(Invalid, match="held permanently by another program") as caught:
        held(store)
    assert caught.value.key == LEADER_KEY
    assert found(observer, LEADER_KEY).value == b"theirs"
