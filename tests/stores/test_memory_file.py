from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.stores import ABSENT, PRESENT, Corrupt, Invalid, MemoryServer, MemoryStore, Put, open_store
from kedge.stores.memory.file import parse_image, write_image

EVERY = bytes(range(256))


def filled(**options: Any) -> MemoryStore:
    """A store with keys of several kinds, one of them ephemeral."""
    store = MemoryStore(**options)
    store.commit([Put("/text", "grün".encode(), ABSENT), Put("/bytes", EVERY, ABSENT)], timeout_s=1)
    store.commit([Put("/text", b"", PRESENT), Put("/e", b"x", ABSENT, ephemeral=True)], timeout_s=1)
    store.commit([Put("/deep/er/key", b"7", ABSENT)], timeout_s=1)
    return store


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "store.json"
    filled().server.save(path)
    return path


@pytest.mark.parametrize("versioning", ["global", "per_key"])
def test_what_was_saved_is_loaded(tmp_path: Path, versioning: str) -> None:
    """Values, versions, generations and `created` survive; ephemeral keys do not; the revision goes on."""
    store = filled(versioning=versioning)
    path = tmp_path / "store.json"
    store.server.save(path)
    server = MemoryServer.load(path)
    assert (server.versioning, server.revision) == (versioning, 3)
    loaded = MemoryStore(server)
    expected = [entry for entry in store.snapshot("/", timeout_s=1).entries if entry.owner is None]
    assert list(loaded.snapshot("/", timeout_s=1).entries) == expected
    assert loaded.children("/", timeout_s=1) == ["bytes", "deep", "text"]
    loaded.commit([Put("/new", b"", ABSENT)], timeout_s=1)
    entry = loaded.get("/new", timeout_s=1)
    assert entry is not None
    assert entry.created == 4


@pytest.mark.parametrize("versioning,versions", [("global", {3}), ("per_key", {1, 2})])
def test_versions_are_counted_again_for_the_other_versioning(
    tmp_path: Path, versioning: str, versions: set[int]
) -> None:
    """A file may be loaded under the other versioning: generations stay, versions are counted as that one counts."""
    path = tmp_path / "store.json"
    filled(versioning={"global": "per_key", "per_key": "global"}[versioning]).server.save(path)
    store = MemoryStore(MemoryServer.load(path, versioning=versioning))
    entries = store.snapshot("/", timeout_s=1).entries
    assert {entry.version for entry in entries} == versions
    assert [entry.generation for entry in entries] == [0, 0, 1]


def test_the_file_can_be_read_and_compared(saved: Path) -> None:
    """The file is JSON, a key a line, text as text; two stores with the same content give the same file."""
    lines = saved.read_text().splitlines()
    assert '"/text": {"value": "", "version": 2, "generation": 1, "created": 1}' in lines
    assert sum(line.startswith('"/') for line in lines) == 3
    again = saved.with_name("again.json")
    MemoryServer.load(saved).save(again)
    assert again.read_bytes() == saved.read_bytes()


def test_another_layout_of_the_same_content_is_loaded(saved: Path) -> None:
    """The checksum is taken over the content, so a file that a tool formatted again is still good."""
    saved.write_text(json.dumps(json.loads(saved.read_text()), indent=4, sort_keys=True))
    assert MemoryServer.load(saved).revision == 3


def test_saving_leaves_only_the_file(saved: Path) -> None:
    """No temporary file is left, neither after a save nor after one that failed; the old content stays then."""
    before = saved.read_bytes()
    (saved.parent / "folder").mkdir()
    with pytest.raises(OSError, match="directory"):
        filled().server.save(saved.parent / "folder")
    with pytest.raises(FileNotFoundError):
        filled().server.save(saved.parent / "none" / "store.json")
    assert sorted(path.name for path in saved.parent.iterdir()) == ["folder", "store.json"]
    assert saved.read_bytes() == before


def test_a_store_with_a_file_saves_when_its_last_client_closes(tmp_path: Path) -> None:
    """memory:FILE begins with what FILE holds, and saves when closed, not before; a second client keeps it open."""
    path = tmp_path / "store.json"
    first = open_store(f"memory:{path}")
    second = first.another_session()
    first.commit([Put("/a", b"1", ABSENT)], timeout_s=1)
    first.close()
    assert not path.exists()
    second.close()
    again = open_store(f"memory:{path}")
    entry = again.get("/a", timeout_s=1)
    assert entry is not None
    assert entry.value == b"1"


def test_a_server_with_a_file_saves_on_demand_and_on_close(tmp_path: Path) -> None:
    """`save()` without a path writes the server's file; without a file it is Invalid; `close()` saves once more."""
    path = tmp_path / "store.json"
    server = MemoryServer(file=path)
    with pytest.raises(FileNotFoundError):
        MemoryServer.load(path)
    store = MemoryStore(server)
    server.save()
    assert MemoryServer.load(path).revision == 0
    store.commit([Put("/a", b"1", ABSENT)], timeout_s=1)
    server.close()
    assert MemoryServer.load(path).revision == 1
    with pytest.raises(Invalid, match="file="):
        MemoryServer().save()


def test_a_file_that_is_open_is_refused_to_others(tmp_path: Path) -> None:
    """To another writer, until it is closed or forgotten; it is read all the same, and nothing is left."""
    path = tmp_path / "store.json"
    server = MemoryServer(file=path)
    MemoryStore(server).close()  # which leaves the server to its owner
    before = path.read_bytes()
    for opens in (lambda: MemoryServer(file=path), lambda: open_store(f"memory:{path}")):
        with pytest.raises(BlockingIOError, match="in use by another process") as refused:
            opens()
        assert refused.value.filename == str(path)
    assert open_store(f"memory:{path}", read_only=True).children("/", timeout_s=1) == []
    assert path.read_bytes() == before
    server.close()
    assert MemoryServer(file=path).file == path  # and forgotten at once
    with closing(open_store(f"memory:{path}")):
        pass
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_a_torn_file_is_corrupt_wherever_it_was_torn(saved: Path) -> None:
    """Every proper beginning of the file is Corrupt, with the file's name in the message."""
    whole = saved.read_bytes().rstrip()
    for length in range(len(whole)):
        saved.write_bytes(whole[:length])
        with pytest.raises(Corrupt, match=r"store\.json"):
            MemoryServer.load(saved)
        with pytest.raises(Corrupt):
            MemoryServer(file=saved)


def test_a_changed_byte_is_corrupt_or_changes_nothing(saved: Path) -> None:
    """Whatever byte of the file is changed: it is refused, or it was mere layout."""
    whole = saved.read_bytes()
    image = parse_image(whole, "whole")
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x01
        try:
            loaded = parse_image(bytes(changed), "changed")
        except Corrupt:
            continue
        assert loaded == image


@pytest.mark.parametrize(
    "data", [b"", b"null", b"[]", b"{}", b'"x"', b"\xff\xfe", b'{"format": "other"}', b"[" * 100_000, b"9" * 10_000]
)
def test_a_foreign_file_is_corrupt(data: bytes) -> None:
    """What this library did not write is refused by name, not by an accident further on."""
    with pytest.raises(Corrupt, match=r"^foreign: "):
        parse_image(data, "foreign")


def sealed(document: dict[str, Any]) -> bytes:
    """The document with a checksum that fits, whatever is in it."""
    from kedge.stores.memory.file import _digest  # noqa: PLC0415 - a forger's tool, used here only

    document = {name: member for name, member in document.items() if name != "sha256"}
    return json.dumps({**document, "sha256": _digest(document)}).encode()


ROW: dict[str, Any] = {"value": "x", "version": 1, "generation": 0, "created": 1}
DOCUMENT: dict[str, Any] = {
    "format": "kedge-memory-tree",
    "format_version": 1,
    "versioning": "global",
    "revision": 1,
    "keys": {"/a": ROW},
}


@pytest.mark.parametrize(
    "change",
    [
        {"format_version": 2},
        {"extra": 1},
        {"versioning": "none"},
        {"versioning": []},
        {"revision": -1},
        {"revision": True},
        {"revision": 2**63},
        {"keys": []},
        {"consistent": None},
        {"consistent": 1},
        {"consistent": "true"},
        {"keys": {"a": ROW}},
        {"keys": {"/a": None}},
        {"keys": {"/a": {**ROW, "extra": 1}}},
        {"keys": {"/a": {**ROW, "value": None}}},
        {"keys": {"/a": {**ROW, "value": "\ud800"}}},
        {"keys": {"/a": {**ROW, "version": 0}}},
        {"keys": {"/a": {**ROW, "version": 1.0}}},
        {"keys": {"/a": {**ROW, "generation": -1}}},
        {"keys": {"/a": {**ROW, "created": 2}}},
        {"keys": {"/a": {"value_base64": "!", "version": 1, "generation": 0, "created": 1}}},
    ],
)
def test_a_sealed_file_with_impossible_content_is_corrupt(change: dict[str, Any]) -> None:
    """A checksum that fits does not make nonsense good."""
    assert parse_image(sealed(DOCUMENT), "good").rows == {"/a": (b"x", 1, 0, 1, None)}
    with pytest.raises(Corrupt, match=r"^bad: "):
        parse_image(sealed({**DOCUMENT, **change}), "bad")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just("/a"), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(sorted(DOCUMENT)), _json))
def test_broken_members_never_get_past_the_reader(change: dict[str, Any]) -> None:
    """Whatever JSON stands in a member of a sealed file, it is a good image or Corrupt."""
    try:
        image = parse_image(sealed({**DOCUMENT, **change}), "broken")
    except Corrupt:
        return
    assert image.revision >= 0


@pytest.mark.slow
@given(st.dictionaries(st.from_regex(r"(/[A-Za-z0-9_-]{1,3}){1,3}", fullmatch=True), st.binary(max_size=20)))
def test_any_values_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, content: dict[str, bytes]) -> None:
    """Every value of any bytes under any keys is saved and loaded as it was."""
    store = MemoryStore()
    store.commit([Put(key, value, ABSENT) for key, value in content.items()], timeout_s=1)
    path = tmp_path_factory.getbasetemp() / "round_trip.json"
    store.server.save(path)
    loaded = MemoryStore(MemoryServer.load(path)).snapshot("/", timeout_s=1).entries
    assert {entry.key: entry.value for entry in loaded} == content


@pytest.mark.parametrize("consistent", [True, False])
def test_a_file_may_say_whether_it_is_one_instant(tmp_path: Path, *, consistent: bool) -> None:
    """It is read back, and a memory server takes such a file as any other."""
    image = parse_image(sealed({**DOCUMENT, "consistent": consistent}), "dump")
    assert image.consistent is consistent
    path = tmp_path / "dump.json"
    write_image(path, image)
    assert parse_image(path.read_bytes(), "again") == image
    assert MemoryServer.load(path).revision == image.revision
