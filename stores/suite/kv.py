"""KV: single keys, their versions and expectations."""

from __future__ import annotations

from typing import Final

from ..base import ABSENT, PRESENT, Check, Conflict, Expect, InvalidKey, MetadataStore, Put, TooLarge, Version
from ..recipes import next_in_sequence, sequence_key
from .backend import CALL_S, Backend, case, delete, fill, found, get, put, raises

KEY: Final = "/suite/key"


def conflicts(store: MetadataStore, key: str, value: bytes, expect: Expect) -> bool:
    """Whether a put, which must be refused by its expectation, left the key unchanged."""
    before = get(store, key)
    with raises(Conflict) as caught:
        put(store, key, value, expect)
    assert (caught.error.key, caught.error.index, caught.error.applied) == (key, 0, "no")
    return get(store, key) == before


@case("kv")
def absent_key_reads_as_none(backend: Backend) -> None:
    """A key that was never put reads as None."""
    assert get(backend.open(), KEY) is None


@case("kv")
def create_then_read(backend: Backend) -> None:
    """A created key reads back with its value, its version, generation 0 and no owner."""
    store = backend.open()
    version = put(store, KEY, b"one")
    entry = found(store, KEY)
    assert (entry.key, entry.value, entry.version) == (KEY, b"one", version)
    assert (entry.generation, entry.owner) == (0, None)
    assert entry.version >= 1


@case("kv")
def create_twice_conflicts(backend: Backend) -> None:
    """A Put that expects ABSENT is refused if the key exists, and the value stays."""
    store = backend.open()
    put(store, KEY, b"one")
    assert conflicts(store, KEY, b"two", ABSENT)
    assert found(store, KEY).value == b"one"


@case("kv")
def compare_and_set_on_the_very_first_version(backend: Backend) -> None:
    """Compare-and-set works on the version of the creation, which is neither 0 nor false."""
    store = backend.open()
    first = put(store, KEY, b"one")
    second = put(store, KEY, b"two", first)
    assert first >= 1
    assert second != first
    assert found(store, KEY).value == b"two"


@case("kv")
def compare_and_set_with_a_stale_version_conflicts(backend: Backend) -> None:
    """An overwritten version is refused, however often it is tried."""
    store = backend.open()
    first = put(store, KEY, b"one")
    put(store, KEY, b"two", first)
    assert conflicts(store, KEY, b"three", first)
    assert conflicts(store, KEY, b"three", first)
    assert found(store, KEY).value == b"two"


@case("kv")
def compare_and_set_on_an_absent_key_conflicts(backend: Backend) -> None:
    """A version is refused if the key does not exist, and nothing is created."""
    store = backend.open()
    assert conflicts(store, KEY, b"one", Version(1))
    assert get(store, KEY) is None


@case("kv")
def present_accepts_any_version(backend: Backend) -> None:
    """A Put that expects PRESENT writes an existing key whatever its version."""
    store = backend.open()
    put(store, KEY, b"one")
    put(store, KEY, b"two", PRESENT)
    put(store, KEY, b"three", PRESENT)
    assert found(store, KEY).value == b"three"


@case("kv")
def present_on_an_absent_key_conflicts(backend: Backend) -> None:
    """A Put that expects PRESENT does not create a key."""
    store = backend.open()
    assert conflicts(store, KEY, b"one", PRESENT)
    assert get(store, KEY) is None


@case("kv")
def delete_at_the_right_version(backend: Backend) -> None:
    """A Delete at the present version removes the key."""
    store = backend.open()
    delete(store, KEY, put(store, KEY, b"one"))
    assert get(store, KEY) is None


@case("kv")
def delete_stale_or_absent_conflicts(backend: Backend) -> None:
    """A Delete at an old version, or of an absent key, is refused."""
    store = backend.open()
    first = put(store, KEY, b"one")
    second = put(store, KEY, b"two", first)
    _delete_conflicts(store, first)
    assert found(store, KEY).version == second
    delete(store, KEY, PRESENT)
    _delete_conflicts(store, second)
    _delete_conflicts(store, PRESENT)


def _delete_conflicts(store: MetadataStore, expect: Expect) -> None:
    with raises(Conflict) as caught:
        delete(store, KEY, expect)
    assert caught.error.index == 0


@case("kv")
def generation_counts_the_writes(backend: Backend) -> None:
    """The generation is the number of writes since the creation, and a new creation after a delete has 0 again."""
    store = backend.open()
    version = put(store, KEY)
    for expected in range(1, 6):
        version = put(store, KEY, b"%d" % expected, version)
        assert found(store, KEY).generation == expected
    delete(store, KEY, version)
    put(store, KEY)
    assert found(store, KEY).generation == 0


@case("kv")
def created_is_stable_and_rises_when_created_again(backend: Backend) -> None:
    """`created` does not change during the life of a key, and is higher for keys created later."""
    store = backend.open()
    version = put(store, KEY)
    created = found(store, KEY).created
    version = put(store, KEY, b"two", version)
    assert found(store, KEY).created == created
    put(store, "/suite/later")
    assert found(store, "/suite/later").created > created
    delete(store, KEY, version)
    put(store, KEY)
    assert found(store, KEY).created > found(store, "/suite/later").created


@case("kv")
def empty_and_binary_values(backend: Backend) -> None:
    """b"" is a value, on creation and as an update, and all 256 bytes are stored unchanged."""
    store = backend.open()
    every = bytes(range(256))
    put(store, KEY, b"")
    assert found(store, KEY).value == b""
    put(store, KEY, every, PRESENT)
    assert found(store, KEY).value == every
    put(store, KEY, b"", PRESENT)
    assert found(store, KEY).value == b""
    assert store.get_columns([KEY], timeout_s=CALL_S).values == [b""]


@case("kv")
def value_at_the_limit_and_one_byte_over(backend: Backend) -> None:
    """The largest value is stored; one byte more is TooLarge, writes nothing, and the session lives on."""
    store = backend.open()
    session = store.session
    limit = store.capabilities.value_bytes_max
    put(store, KEY, b"v" * limit)
    assert len(found(store, KEY).value) == limit
    with raises(TooLarge) as caught:
        put(store, KEY, b"v" * (limit + 1), PRESENT)
    assert (caught.error.applied, caught.error.key) == ("no", KEY)
    assert found(store, KEY).generation == 0
    assert store.session == session


@case("kv")
def bad_keys_are_refused(backend: Backend) -> None:
    """An invalid key is InvalidKey, on reading and on writing, and nothing is sent."""
    store = backend.open()
    for bad in ("", "/", "no-slash", "/a//b", "/a/", "/a b", "/a/..", "/./a", "/ä", "/a\n", "/a\x00", "/" + "k" * 2000):
        for call in (
            lambda bad=bad: store.get(bad, timeout_s=CALL_S),
            lambda bad=bad: store.get_many([bad], timeout_s=CALL_S),
            lambda bad=bad: store.get_columns([bad], timeout_s=CALL_S),
            lambda bad=bad: store.commit([Put(bad, b"", ABSENT)], timeout_s=CALL_S),
            lambda bad=bad: store.commit([Check(bad, PRESENT)], timeout_s=CALL_S),
        ):
            try:
                call()
            except InvalidKey:
                continue
            raise AssertionError(f"{bad!r} was accepted as a key")
    assert store.snapshot("/", timeout_s=CALL_S).entries == ()


@case("kv")
def odd_but_good_keys(backend: Backend) -> None:
    """A key may have every character that the contract allows."""
    store = backend.open()
    for key in ("/config/brokers/<default>", "/a.b/..c/d_e", "/A-Z/09", "/..."):
        put(store, key, key.encode())
        assert found(store, key).value == key.encode()


@case("kv")
def recreated_key_and_the_old_version(backend: Backend) -> None:
    """If versions are declared unique, a version from before a deletion is refused."""
    store = backend.open()
    old = put(store, KEY, b"first life")
    delete(store, KEY, old)
    new = put(store, KEY, b"second life")
    if store.capabilities.versions_unique:
        assert old != new
        assert conflicts(store, KEY, b"stale", old)
    put(store, KEY, b"fresh", new)
    assert found(store, KEY).value == b"fresh"


@case("kv")
def deep_path_without_parents(backend: Backend) -> None:
    """A key needs no parents, those that a backend makes are invisible, and do not prevent a later put."""
    store = backend.open()
    put(store, "/one/two/three/four", b"deep")
    assert found(store, "/one/two/three/four").value == b"deep"
    assert get(store, "/one/two") is None
    assert store.get_many(["/one", "/one/two/three"], timeout_s=CALL_S) == [None, None]
    assert list(store.get_columns(["/one/two"], timeout_s=CALL_S).values) == [None]
    assert [entry.key for entry in store.snapshot("/one", timeout_s=CALL_S).entries] == ["/one/two/three/four"]
    assert conflicts(store, "/one/two", b"x", Version(17))
    put(store, "/one/two", b"no parent any more")
    assert found(store, "/one/two").value == b"no parent any more"


@case("kv")
def key_that_is_both_value_and_prefix(backend: Backend) -> None:
    """A key with keys below it keeps its own value; each can be deleted without the other."""
    store = backend.open()
    put(store, "/both", b"value")
    put(store, "/both/below", b"child")
    assert found(store, "/both").value == b"value"
    delete(store, "/both", PRESENT)
    assert get(store, "/both") is None
    assert found(store, "/both/below").value == b"child"
    assert store.children("/", timeout_s=CALL_S) == ["both"]
    put(store, "/both", b"")
    delete(store, "/both/below", PRESENT)
    assert found(store, "/both").value == b""
    assert store.children("/both", timeout_s=CALL_S) == []


@case("kv")
def a_version_from_every_source_is_accepted(backend: Backend) -> None:
    """commit, get, get_many, get_columns and snapshot give the same version, good for compare-and-set."""
    store = backend.open()
    fill(store, ["/suite/other"])
    version = put(store, KEY, b"0")
    for step in range(5):
        many = store.get_many(["/suite/other", KEY], timeout_s=CALL_S)[1]
        assert many is not None
        columns = store.get_columns([KEY, "/suite/none"], timeout_s=CALL_S)
        shot = store.snapshot("/suite", timeout_s=CALL_S).entries[0]
        assert (columns.versions[1], columns.generations[1], columns.values[1]) == (0, 0, None)
        assert columns.generations[0] == step
        assert many == shot == found(store, KEY)
        sources = (version, found(store, KEY).version, many.version, Version(columns.versions[0]), shot.version)
        assert len(set(sources)) == 1
        version = put(store, KEY, b"%d" % step, sources[step])


@case("kv")
def ten_thousand_updates_of_a_key(backend: Backend) -> None:
    """A key that was written 10,000 times has generation 10,000, and every compare-and-set succeeded."""
    store = backend.open()
    version = put(store, KEY)
    for step in range(10_000):
        version = put(store, KEY, b"%d" % step, version)
    entry = found(store, KEY)
    assert (entry.value, entry.generation, entry.version) == (b"9999", 10_000, version)


@case("kv")
def own_commits_are_read_at_once(backend: Backend) -> None:
    """A plain read never lags behind a commit of this session."""
    store = backend.open()
    version = put(store, KEY, b"0")
    for step in range(50):
        version = put(store, KEY, b"%d" % step, version)
        entry = store.get(KEY, timeout_s=CALL_S)
        assert entry is not None
        assert entry.value == b"%d" % step


@case("kv")
def sync_reads_see_what_others_were_told(backend: Backend) -> None:
    """A read with sync sees every commit that any client saw acknowledged before."""
    writer, reader = backend.open(), backend.open()
    version = put(writer, KEY, b"0")
    for step in range(50):
        version = put(writer, KEY, b"%d" % step, version)
        assert found(reader, KEY).value == b"%d" % step


@case("kv")
def children_are_names(backend: Backend) -> None:
    """`children` returns single segments of keys and of parents of keys, sorted, each once."""
    store = backend.open()
    for key in ("/c/b", "/c/a/x", "/c/a/y", "/c/a", "/c2/z", "/c/d/e/f"):
        put(store, key)
    assert store.children("/c", timeout_s=CALL_S) == ["a", "b", "d"]
    assert store.children("/c/a", timeout_s=CALL_S) == ["x", "y"]
    assert store.children("/", timeout_s=CALL_S) == ["c", "c2"]
    assert store.children("/none", timeout_s=CALL_S) == []
    assert store.children("/c/b", timeout_s=CALL_S) == []


@case("kv")
def children_go_with_their_keys(backend: Backend) -> None:
    """A name without keys is not among the children, unless the store declares that parents stay."""
    store = backend.open()
    for key in ("/c/a/x/deep", "/c/b"):
        put(store, key)
    delete(store, "/c/a/x/deep", PRESENT)
    assert store.children("/c", timeout_s=CALL_S) == (["a", "b"] if store.capabilities.parents_stay else ["b"])
    delete(store, "/c/b", PRESENT)
    assert store.children("/", timeout_s=CALL_S) == (["c"] if store.capabilities.parents_stay else [])
    assert store.snapshot("/", timeout_s=CALL_S).entries == ()


@case("kv")
def sequence_numbers_rise_whatever_goes(backend: Backend) -> None:
    """Numbers of a sequence rise from 0 with each child that is put, also after all but the newest were deleted, and
    two clients get the same number until it is used."""
    store, other = backend.open(), backend.open()
    assert next_in_sequence(store, "/s", "n_", CALL_S) == 0
    for number in range(3):
        assert next_in_sequence(store, "/s", "n_", CALL_S) == next_in_sequence(other, "/s", "n_", CALL_S) == number
        put(store, sequence_key("/s", "n_", number))
    delete(store, "/s/n_0000000000", PRESENT)
    delete(other, "/s/n_0000000001", PRESENT)
    assert next_in_sequence(store, "/s", "n_", CALL_S) == next_in_sequence(other, "/s", "n_", CALL_S) == 3
    assert conflicts(other, sequence_key("/s", "n_", 2), b"", ABSENT)
    assert store.created_below("/s", timeout_s=CALL_S) in {0, 3}
    assert store.created_below("/none", timeout_s=CALL_S) == 0
