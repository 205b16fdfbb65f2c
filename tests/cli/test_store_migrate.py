"""`kedge store migrate`: what it prints, its exit codes, and that bad input writes nothing."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.controller.cli.store import opening
from kedge.controller.cli.store.opening import is_same_place
from kedge.controller.codec import keys
from kedge.stores import ABSENT, MemoryServer, MemoryStore, MetadataStore, Put, open_store
from kedge.stores.faults import FailBefore, FaultStore, at_commit
from kedge.stores.tree import TreeEntry
from tests.check.trees import entries, good


def saved(path: Path) -> str:
    """The url of a file that holds a good tree."""
    server = MemoryServer()
    server.plant(TreeEntry(e.key, e.value, e.generation) for e in entries(good()) if e.owner is None)
    server.save(path)
    return f"memory:{path}"


@pytest.fixture
def old(tmp_path: Path) -> str:
    return saved(tmp_path / "old.json")


@pytest.fixture
def new(tmp_path: Path) -> str:
    return f"memory:{tmp_path / 'new.json'}"


def migrate(*arguments: str) -> Result:
    return CliRunner().invoke(kedge, ["store", "migrate", *arguments])


def held(url: str) -> dict[str, bytes]:
    store = MemoryStore(MemoryServer.load(url.removeprefix("memory:")))
    return {entry.key: entry.value for entry in store.snapshot("/", timeout_s=1).entries}


def write(url: str, key: str, value: bytes) -> None:
    with closing(MemoryStore(file=url.removeprefix("memory:"))) as store:
        store.commit([Put(key, value, ABSENT)], timeout_s=1)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_move_is_confirmed_and_named_when_it_is_called_again(old: str, new: str) -> None:
    done = migrate(old, new)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith(f"moved to {new}, ")
    assert done.stdout.endswith(" keys copied; start the controllers there\n")
    assert json.loads(held(old)[keys.MIGRATION])["moved_to"] == new
    assert held(new)[keys.topic("t")] == held(old)[keys.topic("t")]
    again = migrate(old, new)
    assert (again.exit_code, again.stdout) == (2, "")
    assert again.stderr == f"kedge: FROM: the cluster was moved to {new}; nothing was written\n"


def test_result_as_json(old: str, new: str) -> None:
    done = json.loads(migrate(old, new, "--json").stdout)
    assert (done["from"], done["to"]) == (old, new)
    assert done["keys"] > 10


def test_move_that_breaks_off_is_continued_by_the_same_command(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(url: str, *, read_only: bool) -> MetadataStore:
        store = FaultStore(open_store(url, read_only=read_only))
        store.play(at_commit(2, FailBefore()) if url == new else ())
        return store

    with monkeypatch.context() as patch:
        patch.setattr(opening, "open_store", failing)
        broken = migrate(old, new)
    assert (broken.exit_code, broken.stdout) == (1, "")
    assert broken.stderr.startswith("kedge: the move broke off: ")
    assert broken.stderr.endswith("; the same command continues it\n")
    assert migrate(old, new).exit_code == 0


@pytest.mark.parametrize(
    "source, target, is_same",
    [
        ("zookeeper://h:2181/a", "zookeeper://h/a/b", True),
        ("zookeeper://h:2181/a/b", "zookeeper://h:2181/a", True),
        ("zookeeper://h1,h2", "zookeeper://H2:2181,h3/kafka?acl=open", True),
        ("zookeeper://h/a", "zookeeper://h/a%2Fb", True),
        ("zookeeper://h/a", "zookeeper://h/ab", False),
        ("zookeeper://h/a", "zookeeper://other/a", False),
        ("zookeeper://h:2181/a", "zookeeper://h:2182/a", False),
        ("zookeeper://h/a", "etcd://h:2181/a", False),
        ("etcd://user:secret@h:2379/a", "etcd://h/a/", True),
        ("etcd://h/a", "etcd://h/b", False),
        ("memory:a.json", "memory:./a.json", True),
        ("memory:a.json", "memory:a.json/b", False),
        ("memory:a.json", "etcd://h/a.json", False),
    ],
)
def test_store_and_one_below_it_are_the_same_place(source: str, target: str, is_same: bool) -> None:
    assert is_same_place(source, target) is is_same


BAD = {
    "the same store twice": ("{old}", "{old}", "FROM and TO are the same store"),
    "a FROM that nobody else sees": ("memory:", "{new}", "FROM: expected a store that other processes see"),
    "a TO that nobody else sees": ("{old}", "memory:", "TO: expected a store that other processes see"),
    "no such file": ("memory:{folder}/none.json", "{new}", "FROM: no such file"),
    "an unknown url": ("{old}", "consul://h:1/x", "a store url must begin with one of"),
    "no url": ("{old}", "new.json", "a store url must begin with one of"),
    "a torn file": ("memory:{folder}/torn.json", "{new}", "not a whole JSON file"),
    "a broken marker": ("memory:{folder}/marked.json", "{new}", f"FROM: {keys.MIGRATION} cannot be read"),
    "a broken marker of TO": ("{old}", "memory:{folder}/marked.json", f"TO: {keys.MIGRATION} cannot be read"),
    "another cluster": ("{old}", "memory:{folder}/other.json", "TO: the store is not empty"),
    "no cluster": ("memory:{folder}/empty.json", "{new}", "FROM: holds no cluster"),
}


@pytest.mark.parametrize("bad", list(BAD))
def test_bad_input_is_one_line_exit_code_2_and_nothing_is_written(old: str, new: str, tmp_path: Path, bad: str) -> None:
    (tmp_path / "torn.json").write_bytes(b'{"format":')
    write(saved(tmp_path / "marked.json"), keys.MIGRATION, b"{}")
    saved(tmp_path / "other.json")
    MemoryServer().save(tmp_path / "empty.json")
    source, target, said = (word.format(old=old, new=new, folder=tmp_path) for word in BAD[bad])
    before = files(tmp_path)
    result = migrate(source, target)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert files(tmp_path) == before
