"""Keys that the store does not let a controller read."""

from __future__ import annotations

import pytest

from kedge.controller.codec import keys
from kedge.controller.model.records import UNREAD
from kedge.controller.runtime.deposed import Deposed
from kedge.controller.runtime.readable import FORBIDDEN, FORBIDDEN_MAX, LOOKS_MAX, ReadableStore
from kedge.stores import ABSENT, Put
from kedge.stores.recipes import EPOCH_KEY
from tests.runtime.guarded import Guarded

KEYS = [keys.topic(str(number)) for number in range(100)]
CALL_S = 1.0


@pytest.fixture
def guarded() -> Guarded:
    store = Guarded(None, KEYS[3], KEYS[40], KEYS[41], EPOCH_KEY)
    store.commit([Put(key, key.encode(), ABSENT) for key in KEYS if key != KEYS[7]], timeout_s=CALL_S)
    return store


def expected(key: str) -> bytes | None:
    if key == KEYS[7]:
        return None
    return FORBIDDEN if key in {KEYS[3], KEYS[40], KEYS[41]} else key.encode()


def test_what_is_forbidden_stands_where_it_was_asked_for_and_the_rest_is_read(guarded: Guarded) -> None:
    """In every kind of read, by as many of them as halving takes."""
    store = ReadableStore(guarded)
    wanted = [expected(key) for key in KEYS]
    assert store.get_columns(KEYS, timeout_s=CALL_S).values == wanted
    assert guarded.reads < 50
    entries = store.get_many(KEYS, timeout_s=CALL_S)
    assert [None if entry is None else entry.value for entry in entries] == wanted
    found = store.get(KEYS[3], sync=True, timeout_s=CALL_S)
    assert found is not None
    assert (found.key, found.value, found.version) == (KEYS[3], FORBIDDEN, UNREAD)
    assert set(store.findings()) == {KEYS[3], KEYS[40], KEYS[41]}


def test_who_may_not_read_another_key_is_deposed_until_it_may(guarded: Guarded) -> None:
    """Nothing stands in for what every decision may need."""
    store = ReadableStore(guarded)
    store.ask_again(CALL_S)
    with pytest.raises(Deposed, match=EPOCH_KEY):
        store.get(EPOCH_KEY, timeout_s=CALL_S)
    with pytest.raises(Deposed, match=EPOCH_KEY):
        store.get_many([KEYS[0], EPOCH_KEY], timeout_s=CALL_S)
    with pytest.raises(Deposed, match=EPOCH_KEY):
        store.get_columns([KEYS[3], EPOCH_KEY], timeout_s=CALL_S)
    with pytest.raises(Deposed, match=EPOCH_KEY):
        store.ask_again(CALL_S)
    assert store.is_refused
    guarded.forbidden.discard(EPOCH_KEY)
    store.ask_again(CALL_S)
    assert not store.is_refused


def test_what_can_be_read_again_or_is_gone_is_found_out(guarded: Guarded) -> None:
    """Its finding goes with that, and with any read that succeeds."""
    store = ReadableStore(guarded)
    store.get_many(KEYS, timeout_s=CALL_S)
    assert store.look_again(CALL_S) == []
    guarded.forbidden = {KEYS[40]}
    assert sorted(store.look_again(CALL_S)) == [KEYS[3], KEYS[41]]
    assert set(store.findings()) == {KEYS[40]}
    guarded.forbidden = set()
    store.get(KEYS[40], timeout_s=CALL_S)
    assert store.findings() == {}


@pytest.mark.slow
def test_the_reads_for_forbidden_keys_are_bounded_however_many_there_are() -> None:
    """From a thousand on, what was asked for together is taken as forbidden, and a finding says so."""
    many = [keys.topic(str(number)) for number in range(50_000)]
    guarded = Guarded(None, *many[::2])
    store = ReadableStore(guarded)
    found = store.get_columns(many, timeout_s=CALL_S)
    assert found.values[0] is FORBIDDEN
    assert found.values[1] is None  # it was asked for by itself, and is absent
    assert found.values[-1] is FORBIDDEN  # it was not
    assert guarded.reads < 5 * FORBIDDEN_MAX
    assert "not checked one by one" in store.findings()["forbidden keys"]
    assert len(store.findings()) <= FORBIDDEN_MAX + 1
    guarded.reads = 0
    store.look_again(CALL_S)
    assert guarded.reads == LOOKS_MAX
    guarded.forbidden = set()
    assert len(store.look_again(CALL_S)) > len(many) / 2
    assert store.findings() == {}


def test_a_value_that_says_what_stands_for_a_forbidden_one_is_not_forbidden(guarded: Guarded) -> None:
    """What is forbidden is known by its type, not by its content, and by no version that a store could give."""
    guarded.commit([Put(keys.topic("same"), bytes(FORBIDDEN), ABSENT)], timeout_s=CALL_S)
    store = ReadableStore(guarded)
    entry = store.get(keys.topic("same"), timeout_s=CALL_S)
    assert entry is not None
    assert entry.value is not FORBIDDEN
    assert store.findings() == {}
