"""What stands on the server is what Kafka writes, and what Kafka wrote is read."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE

from kedge.controller.codec import keys
from kedge.stores import (
    ABSENT,
    PRESENT,
    Check,
    Conflict,
    Delete,
    Depth,
    Invalid,
    MetadataStore,
    Put,
    Resync,
    TooLarge,
    Version,
    open_store,
)
from kedge.stores.recipes import next_in_sequence, sequence_key
from kedge.stores.zookeeper import ZooKeeperStore
from servers import LocalZooKeeper
from tests.stores.zookeeper.interposed import make

pytestmark = [pytest.mark.server, pytest.mark.slow]
CALL_S = 10.0
STATE = "/brokers/topics/t/partitions/0/state"


def test_parents_are_nodes_without_data(store: MetadataStore, raw: KazooClient, chroot: str) -> None:
    """As Kafka makes them: null, not empty; the chroot, too."""
    store.commit([Put(STATE, b"{}", ABSENT)], timeout_s=CALL_S)
    segments = f"{chroot}{STATE}".split("/")
    parents = ["/".join(segments[:length]) for length in range(2, len(segments))]
    assert [raw.get(path)[0] for path in parents] == [None] * len(parents)
    assert raw.get(f"{chroot}{STATE}")[0] == b"{}"
    assert raw.get_acls(f"{chroot}{STATE}")[0] == OPEN_ACL_UNSAFE


def test_a_deleted_key_with_keys_below_stays_as_a_parent(store: MetadataStore, raw: KazooClient, chroot: str) -> None:
    store.commit([Put("/a", b"1", ABSENT), Put("/a/b", b"2", ABSENT), Put("/c", b"3", ABSENT)], timeout_s=CALL_S)
    store.commit([Delete("/a", PRESENT), Delete("/c", PRESENT)], timeout_s=CALL_S)
    assert raw.get(f"{chroot}/a")[0] is None
    assert raw.exists(f"{chroot}/c") is None
    assert [entry.key for entry in store.snapshot("/", timeout_s=CALL_S).entries] == ["/a/b"]


def test_many_deleted_keys_stay_as_parents_at_once(store: MetadataStore) -> None:
    """One look finds all of them, however many there are."""
    above = [f"/t{number}" for number in range(100)]
    store.commit([Put(key, b"1", ABSENT) for one in above for key in (one, f"{one}/x/y")], timeout_s=CALL_S)
    store.commit([Delete(key, PRESENT) for one in above for key in (one, f"{one}/x/y")], timeout_s=CALL_S)
    assert store.snapshot("/", timeout_s=CALL_S).entries == ()


def test_a_deleted_topic_keeps_what_others_put_below_it(store: MetadataStore, raw: KazooClient, chroot: str) -> None:
    """Its parents are deleted with it, but for those of what stays."""
    store.commit([Put(keys.topic("t"), b"{}", ABSENT), Put(keys.state("t", 0), b"{}", ABSENT)], timeout_s=CALL_S)
    raw.create(f"{chroot}{keys.state('t', 0)}/more", b"")
    going = [keys.state("t", 0), keys.partition("t", 0), keys.partitions("t"), keys.topic("t")]
    store.commit([Delete(key, PRESENT) for key in going], timeout_s=CALL_S)
    assert [entry.key for entry in store.snapshot("/", timeout_s=CALL_S).entries] == [f"{keys.state('t', 0)}/more"]
    assert raw.get(f"{chroot}{keys.topic('t')}")[0] is None


def test_a_node_of_kafkas_without_data_is_a_key_until_it_has_children(
    store: MetadataStore, raw: KazooClient, chroot: str
) -> None:
    """/admin/delete_topics/t holds nothing and means something; /brokers/topics holds nothing and leads to topics."""
    for path in ("", "/admin", "/admin/delete_topics", "/admin/delete_topics/t"):
        make(raw, chroot + path, None)
    assert store.get("/admin/delete_topics", timeout_s=CALL_S) is None
    entry = store.get("/admin/delete_topics/t", timeout_s=CALL_S)
    assert entry is not None
    assert (entry.value, entry.generation) == (b"", 0)
    assert store.get_columns(["/admin/delete_topics/t", "/admin"], timeout_s=CALL_S).values == [b"", None]
    store.commit([Delete("/admin/delete_topics/t", entry.version)], timeout_s=CALL_S)
    assert raw.exists(f"{chroot}/admin/delete_topics/t") is None


def test_a_key_over_a_parent_is_written_at_what_was_seen(store: MetadataStore, raw: KazooClient, chroot: str) -> None:
    """And a Check(ABSENT) of it holds as long as it has no data."""
    store.commit([Put("/a/b/c", b"1", ABSENT)], timeout_s=CALL_S)
    store.commit([Check("/a/b", ABSENT), Put("/a", b"over", ABSENT)], timeout_s=CALL_S)
    assert raw.get(f"{chroot}/a")[0] == b"over"
    raw.set(f"{chroot}/a/b", b"somebody's")
    with pytest.raises(Conflict) as caught:
        store.commit([Check("/a/b", ABSENT)], timeout_s=CALL_S)
    assert caught.value.index == 0


def test_an_ephemeral_key_over_what_led_to_keys_once(store: MetadataStore) -> None:
    store.commit([Put("/a/b", b"1", ABSENT)], timeout_s=CALL_S)
    with pytest.raises(Invalid, match="below"):
        store.commit([Put("/a", b"", ABSENT, ephemeral=True)], timeout_s=CALL_S)
    store.commit([Delete("/a/b", PRESENT)], timeout_s=CALL_S)
    store.commit([Put("/a", b"mine", ABSENT, ephemeral=True)], timeout_s=CALL_S)
    entry = store.get("/a", timeout_s=CALL_S)
    assert entry is not None
    assert entry.owner == store.session.session_id


def test_checks_and_puts_of_one_commit_below_each_other(store: MetadataStore) -> None:
    """Absence of a parent that the same commit makes holds in either order; a deleted parent of a new key stays."""
    store.commit([Check("/p", ABSENT), Put("/p/x", b"", ABSENT)], timeout_s=CALL_S)
    store.commit([Put("/q/r/x", b"", ABSENT), Check("/q/r", ABSENT), Check("/q", ABSENT)], timeout_s=CALL_S)
    store.commit([Check("/n/o/p", ABSENT), Check("/n/o", ABSENT)], timeout_s=CALL_S)
    assert store.children("/", timeout_s=CALL_S) == ["p", "q"]
    store.commit([Put("/k", b"", ABSENT)], timeout_s=CALL_S)
    store.commit([Delete("/k", PRESENT), Put("/k/below", b"1", ABSENT)], timeout_s=CALL_S)
    assert store.get("/k", timeout_s=CALL_S) is None
    assert store.get("/k/below", timeout_s=CALL_S) is not None


def test_many_parents_that_leave_no_room_in_the_request(store: MetadataStore) -> None:
    """A commit that fits is taken though the parents that it needs would carry it over 1 MB."""
    long = "x" * 300
    ops = [Put(f"/deep/{index:04}-{long}/x", b"v", ABSENT) for index in range(1700)]
    versions = store.commit(ops, timeout_s=30).versions
    assert set(versions) == {1}
    assert len(store.snapshot("/deep", timeout_s=30).entries) == 1700


def test_absences_that_would_not_fit_are_too_large(store: MetadataStore) -> None:
    """Refused before it is sent, and the session lives: a longer request would cost the connection."""
    session = store.session
    long = "x" * 400
    with pytest.raises(TooLarge, match="1 MB"):
        store.commit([Check(f"/{index:04}-{long}", ABSENT) for index in range(2000)], timeout_s=CALL_S)
    assert store.session == session


def test_a_version_that_no_node_reaches_conflicts(store: MetadataStore) -> None:
    store.commit([Put("/a", b"", ABSENT)], timeout_s=CALL_S)
    with pytest.raises(Conflict):
        store.commit([Put("/a", b"", Version(2**60))], timeout_s=CALL_S)


def test_what_is_zookeepers_own_or_no_key_is_not_ours_to_see(own_server: LocalZooKeeper) -> None:
    """Without a chroot /zookeeper is passed over, and so are names that others gave that make no keys."""
    raw = KazooClient(hosts=own_server.address)
    raw.start(timeout=10)
    raw.ensure_path("/a name with spaces/x")
    store = open_store(f"zookeeper://{own_server.address}")
    try:
        assert raw.exists("/zookeeper/quota") is not None
        assert store.children("/", timeout_s=CALL_S) == []
        assert store.snapshot("/", timeout_s=CALL_S).entries == ()
        stream = store.subscribe("/", Depth.VALUES)
        assert stream.poll(CALL_S) == Resync("/", "initial")
    finally:
        store.close()
        raw.stop()
        raw.close()


def test_snapshot_without_concurrent_writes_is_consistent(own_server: LocalZooKeeper) -> None:
    """It is proved, not hoped: a write to any key between the first and the last answer takes it away."""
    store = open_store(f"zookeeper://{own_server.address}")
    store.commit([Put("/a/b", b"", ABSENT)], timeout_s=CALL_S)
    shot = store.snapshot("/", timeout_s=CALL_S)
    assert (shot.consistent, store.capabilities.atomic_snapshot) == (True, False)
    store.close()


def test_reading_only_asks_for_a_chroot_that_is_there(url: str, chroot: str, raw: KazooClient) -> None:
    """Nothing is created by looking, and what is committed all the same is refused."""
    with pytest.raises(Invalid, match=chroot):
        open_store(url, read_only=True)
    assert raw.exists(chroot) is None
    raw.ensure_path(f"{chroot}/a")
    store = open_store(url, read_only=True)
    with pytest.raises(PermissionError, match="reading only"):
        store.commit([Put("/b", b"", ABSENT)], timeout_s=CALL_S)
    store.close()


def test_the_server_says_how_long_a_session_lives() -> None:
    """Not the url: a client that believed its own wish would think its session alive when it has ended."""
    with LocalZooKeeper(settings={"maxSessionTimeout": "2000"}) as server:
        store = open_store(f"zookeeper://{server.address}?session_timeout=30")
        assert store.session_timeout_s == 2.0
        store.close()


def test_a_chroot_below_an_ephemeral_key_cannot_be_written_to(raw: KazooClient, chroot: str, url: str) -> None:
    raw.create(chroot, b"", ephemeral=True)
    store = open_store(url + "/deeper")
    assert isinstance(store, ZooKeeperStore)
    with pytest.raises(Invalid, match="ephemeral"):
        store.commit([Put("/a", b"", ABSENT)], timeout_s=CALL_S)
    store.close()


def test_a_sequence_goes_on_as_the_servers_own_does(store: MetadataStore, raw: KazooClient, chroot: str) -> None:
    """For every writer of the next child, by number or as a sequential node, and after any deletion; the parent has no
    data, as Kafka's has none."""
    parent = "/config/changes"

    def ours() -> int:
        number = next_in_sequence(store, parent, "config_change_", CALL_S)
        store.commit([Put(sequence_key(parent, "config_change_", number), b"{}", ABSENT)], timeout_s=CALL_S)
        return number

    def kafkas() -> int:
        return int(raw.create(f"{chroot}{parent}/config_change_", b"{}", sequence=True)[-10:])

    assert [ours(), kafkas(), ours(), ours(), kafkas()] == [0, 1, 2, 3, 4]
    for name in raw.get_children(f"{chroot}{parent}"):
        raw.delete(f"{chroot}{parent}/{name}")
    assert [ours(), kafkas(), kafkas(), ours()] == [5, 6, 7, 8]
    assert raw.get(f"{chroot}{parent}")[0] is None
