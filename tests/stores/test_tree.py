from __future__ import annotations

import json

import pytest

from kedge.stores import ABSENT, Changed, Conflict, Corrupt, Depth, InvalidKey, MemoryServer, MemoryStore, Put
from kedge.stores.tree import TreeEntry, kept, parse_tree, read_tree
from tests.kit.data import DATA


@pytest.mark.parametrize("name", ["idle", "moving"])
@pytest.mark.parametrize("versioning", ["global", "per_key"])
def test_a_recorded_tree_is_planted_with_its_generations(name: str, versioning: str) -> None:
    """What a real Kafka left is put as it was: values and generations; without ephemerals and mere parents."""
    path = DATA / f"kafka_3_9_tree_{name}.json"
    recorded = json.loads(path.read_text())
    entries = read_tree(path)
    assert [entry.key for entry in entries] == sorted(recorded)
    server = MemoryServer(versioning=versioning)  # type: ignore[arg-type]
    parents = {key for key in recorded if any(other.startswith(f"{key}/") for other in recorded)}
    expected = {k: n for k, n in recorded.items() if not n.get("ephemeral") and ("value" in n or k not in parents)}
    assert server.plant(entries) == len(expected) > 0
    planted = MemoryStore(server).snapshot("/", timeout_s=1).entries
    assert {e.key: (e.value.decode(), e.generation) for e in planted} == {
        key: (node.get("value", ""), node["version"]) for key, node in expected.items()
    }
    assert all(entry.owner is None and entry.created == 1 for entry in planted)


def test_a_node_without_data_is_a_key_unless_it_is_a_parent() -> None:
    """Also of a node that is ephemeral, or stands further below and alone."""
    nodes = ["/queue", "/queue/sent", "/ids", "/ids/1", "/far", "/far/away/deep", "/a", "/a-b"]
    document: dict[str, dict[str, object]] = {key: {"version": 0} for key in nodes}
    document["/ids/1"]["ephemeral"] = True
    found = list(kept(parse_tree(json.dumps(document).encode())))
    assert found == [("/a", b"", 0), ("/a-b", b"", 0), ("/far/away/deep", b"", 0), ("/queue/sent", b"", 0)]


def test_planted_keys_go_on_as_if_they_had_been_written() -> None:
    """The next write of a planted key has the next generation, and watchers hear of the planting."""
    server = MemoryServer()
    store = MemoryStore(server)
    stream = store.subscribe("/a", Depth.VALUES)
    stream.poll(0)
    server.plant([TreeEntry("/a/b", b"1", 41), TreeEntry("/a", None, 3), TreeEntry("/e", b"", 0, ephemeral=True)])
    assert stream.poll(0) == Changed("/a/b")
    entry = store.get("/a/b", timeout_s=1)
    assert entry is not None
    store.commit([Put("/a/b", b"2", entry.version)], timeout_s=1)
    written = store.get("/a/b", timeout_s=1)
    assert written is not None
    assert (entry.generation, written.generation) == (41, 42)
    assert store.get("/e", timeout_s=1) is None


def test_planting_over_what_exists_plants_nothing() -> None:
    """A key that exists is a Conflict which names it, and no other key is put; a bad key likewise."""
    server = MemoryServer()
    store = MemoryStore(server)
    store.commit([Put("/b", b"", ABSENT)], timeout_s=1)
    with pytest.raises(Conflict) as caught:
        server.plant([TreeEntry("/a", b"", 0), TreeEntry("/b", b"", 0)])
    assert (caught.value.key, caught.value.index) == ("/b", 1)
    with pytest.raises(InvalidKey):
        server.plant([TreeEntry("/a", b"", 0), TreeEntry("nonsense", b"", 0)])
    assert store.get("/a", timeout_s=1) is None


@pytest.mark.parametrize(
    "node",
    [
        None,
        [],
        {},
        {"version": -1},
        {"version": "0"},
        {"version": True},
        {"version": 2**31},
        {"version": 0, "value": None},
        {"version": 0, "value": {}},
        {"version": 0, "value": "\ud800"},
        {"version": 0, "ephemeral": 1},
        {"version": 0, "data": "x"},
    ],
)
def test_a_malformed_node_is_corrupt(node: object) -> None:
    """The error names the file and the node."""
    with pytest.raises(Corrupt, match="recorded: /a/b") as caught:
        parse_tree(json.dumps({"/a/b": node}).encode(), "recorded")
    assert caught.value.key == "/a/b"


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"a": {"version": 0}}', b"\xff", b"[" * 100_000])
def test_what_is_no_tree_is_corrupt(data: bytes) -> None:
    """Not JSON, not an object, or with a path that is no key."""
    with pytest.raises(Corrupt, match=r"^tree: "):
        parse_tree(data)
