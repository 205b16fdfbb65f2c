"""Session: ephemeral keys live as long as the session that put them."""

from __future__ import annotations

from ..base import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Depth,
    Invalid,
    MetadataStore,
    Op,
    Put,
    SessionState,
    StoreError,
)
from ..recipes import reap_own_leftover
from .backend import (
    CALL_S,
    Backend,
    Hook,
    await_contact,
    await_hint,
    await_state,
    case,
    delete,
    eventually,
    found,
    get,
    put,
    raises,
    watch,
)

KEY = "/suite/ephemeral"


@case("session")
def ephemeral_is_visible_and_owned(backend: Backend) -> None:
    """All clients see an ephemeral key, with the session that put it as its owner."""
    store, other = backend.open(), backend.open()
    assert store.session.connected
    assert store.session.session_id != other.session.session_id
    put(store, KEY, b"mine", ephemeral=True)
    entry = found(other, KEY)
    assert (entry.value, entry.owner) == (b"mine", store.session.session_id)


@case("session")
def ephemeral_goes_on_close(backend: Backend) -> None:
    """When its session is closed, the key is deleted promptly, and watchers get a hint."""
    store, other = backend.open(), backend.open()
    put(store, KEY, ephemeral=True)
    stream = watch(backend, other, KEY, Depth.SELF)
    store.close()
    await_hint(backend, stream, KEY)
    eventually(backend, "the ephemeral key is gone", lambda: get(other, KEY) is None)


@case("session")
def closing_one_session_leaves_the_others(backend: Backend) -> None:
    """Closing a client deletes neither keys of another client nor ordinary keys."""
    store = backend.open()
    other = store.another_session()
    put(store, "/suite/plain")
    put(other, KEY, ephemeral=True)
    put(store, "/suite/second", ephemeral=True)
    other.close()
    eventually(backend, "the ephemeral key is gone", lambda: get(store, KEY) is None)
    assert get(store, "/suite/second") is not None
    assert get(store, "/suite/plain") is not None


@case("session")
def update_keeps_it_ephemeral(backend: Backend) -> None:
    """An ephemeral key that its session rewrites stays ephemeral."""
    store, other = backend.open(), backend.open()
    version = put(store, KEY, b"1", ephemeral=True)
    put(store, KEY, b"2", version, ephemeral=True)
    put(store, KEY, b"3", PRESENT, ephemeral=True)
    entry = found(other, KEY)
    assert (entry.value, entry.generation, entry.owner) == (b"3", 2, store.session.session_id)
    store.close()
    eventually(backend, "the ephemeral key is gone", lambda: get(other, KEY) is None)


@case("session")
def ephemeral_and_ordinary_are_not_exchanged(backend: Backend) -> None:
    """Rewriting an own ephemeral key as an ordinary one is Invalid, and so is the reverse."""
    store = backend.open()
    put(store, KEY, b"1", ephemeral=True)
    put(store, "/suite/plain", b"1")
    _invalid(store, Put(KEY, b"2", PRESENT))
    _invalid(store, Put("/suite/plain", b"2", PRESENT, ephemeral=True))
    assert (found(store, KEY).value, found(store, "/suite/plain").value) == (b"1", b"1")
    assert found(store, "/suite/plain").owner is None


@case("session")
def not_owned_by_another(backend: Backend) -> None:
    """No session takes over another's ephemeral key by putting it; it may delete it."""
    store, other = backend.open(), backend.open()
    put(store, KEY, b"1", ephemeral=True)
    _invalid(other, Put(KEY, b"2", PRESENT, ephemeral=True))
    assert found(store, KEY).owner == store.session.session_id
    other.close()
    assert found(store, KEY).value == b"1"
    third = backend.open()
    delete(third, KEY, found(third, KEY).version)
    assert get(store, KEY) is None


@case("session", Hook.EXPIRE)
def expiry_takes_the_keys_and_tells(backend: Backend) -> None:
    """After the server ended the session, its keys are deleted, and the client gets Lost, then Started with a new
    id."""
    store, other = backend.open(), backend.open()
    put(store, KEY, ephemeral=True)
    put(store, "/suite/plain")
    stream = watch(backend, store, "/suite", Depth.VALUES)
    old = store.session.session_id
    backend.expire(store)
    assert await_state(backend, stream, SessionState.LOST).session_id == old
    started = await_state(backend, stream, SessionState.STARTED).session_id
    assert started != old
    await_contact(backend, store)
    assert store.session.session_id == started
    assert get(other, KEY) is None
    assert get(store, "/suite/plain") is not None
    put(store, KEY, ephemeral=True)
    assert found(other, KEY).owner == started


@case("session", Hook.DISCONNECT)
def short_disconnect_keeps_the_session(backend: Backend) -> None:
    """A client that was disconnected for less than the session time keeps its id and its keys, and gets both events."""
    store, other = backend.open(), backend.open()
    put(store, KEY, ephemeral=True)
    stream = watch(backend, store, "/suite", Depth.VALUES)
    session = store.session
    backend.disconnect(store)
    await_state(backend, stream, SessionState.SUSPENDED)
    assert not store.session.connected
    assert get(other, KEY) is not None
    backend.reconnect(store)
    await_state(backend, stream, SessionState.RESUMED)
    await_contact(backend, store)
    assert store.session == session
    assert found(store, KEY).owner == session.session_id


@case("session", Hook.DISCONNECT)
def a_zombies_commit_fails(backend: Backend) -> None:
    """Commits of a disconnected client do not arrive, and once it lost its session, its fence is refused."""
    zombie, other = backend.open(), backend.open()
    put(zombie, KEY, ephemeral=True)
    fence = put(zombie, "/suite/fence", b"1")
    backend.disconnect(zombie)
    _fails(zombie, Put("/suite/data", b"zombie", ABSENT))
    backend.outlive(zombie)
    assert get(other, KEY) is None
    put(other, "/suite/fence", b"2", PRESENT)
    _fails(zombie, Put("/suite/data", b"zombie", ABSENT))
    backend.reconnect(zombie)
    await_contact(backend, zombie)
    with raises(Conflict) as caught:
        zombie.commit([Check("/suite/fence", fence), Put("/suite/data", b"zombie", ABSENT)], timeout_s=CALL_S)
    assert caught.error.index == 0
    assert get(other, "/suite/data") is None


@case("session", Hook.DISCONNECT)
def leftover_of_my_former_self_is_recognised(backend: Backend) -> None:
    """A key of an older session of the same node is deleted by its value; a key of another one stays."""
    former, stranger = backend.open(), backend.open()
    put(former, "/suite/me", b"node 1", ephemeral=True)
    put(stranger, "/suite/you", b"node 2", ephemeral=True)
    backend.disconnect(former)
    me = backend.open()
    assert not reap_own_leftover(me, "/suite/you", b"node 1", CALL_S)
    assert reap_own_leftover(me, "/suite/me", b"node 1", CALL_S)
    assert get(me, "/suite/me") is None
    assert get(me, "/suite/you") is not None
    put(me, "/suite/me", b"node 1", ephemeral=True)
    assert not reap_own_leftover(me, "/suite/me", b"node 1", CALL_S)


def _invalid(store: MetadataStore, *ops: Op) -> None:
    try:
        store.commit(ops, timeout_s=CALL_S)
    except Invalid:
        return
    raise AssertionError(f"{ops} should be Invalid")


def _fails(store: MetadataStore, op: Op) -> None:
    with raises(StoreError) as caught:
        store.commit([op], timeout_s=1.0)
    assert not isinstance(caught.error, Conflict)
