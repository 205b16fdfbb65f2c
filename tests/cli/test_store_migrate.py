"""`kedge store migrate`: what it prints, what it answers with, and that bad input writes nothing."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.controller.cli.store.opening import is_same_place
from kedge.controller.codec import keys
from kedge.stores import ABSENT, Delete, MemoryServer, MemoryStore, Put
from kedge.stores.recipes import EPOCH_KEY
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
    """A file has no registered broker."""
    return asked(*arguments, "--without-brokers")


def asked(*arguments: str) -> Result:
    return CliRunner().invoke(kedge, ["store", "migrate", *arguments])


def held(url: str) -> dict[str, bytes]:
    store = MemoryStore(MemoryServer.load(url.removeprefix("memory:")))
    return {entry.key: entry.value for entry in store.snapshot("/", timeout_s=1).entries}


def write(url: str, key: str, value: bytes) -> None:
    """Another client writes a key."""
    store = MemoryStore(file=url.removeprefix("memory:"))
    entry = store.get(key, timeout_s=1)
    store.commit([Put(key, value, ABSENT if entry is None else entry.version)], timeout_s=1)
    store.close()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_cluster_in_a_file_is_moved_to_another_file_with_a_confirmation(old: str, new: str) -> None:
    """Progress on stderr, the end on stdout; run again it is done already; verified it is the same."""
    before = held(old)
    result = migrate(old, new)
    assert (result.exit_code, result.stdout) == (
        0,
        f"moved to {new}; no controller can be active on FROM any more\n",
    ), result.output
    assert "FROM is fenced under controller epoch" in result.stderr
    after = held(new)
    left = (EPOCH_KEY, "/kedge/commit", keys.ADMITTED, f"{keys.CONFIG_CHANGES}/")  # notifications are of their own tree
    assert {key for key in before if not key.startswith(left)} <= set(after)
    assert json.loads(held(old)[keys.MIGRATION])["phase"] == "moved"
    assert migrate(old, new).exit_code == 0
    verified = migrate(old, new, "--verify")
    assert verified.exit_code == 0
    assert "0 differ" in verified.stdout


def test_a_dry_run_says_what_it_would_do_and_writes_nothing(old: str, new: str, tmp_path: Path) -> None:
    before = files(tmp_path)
    result = migrate(old, new, "--dry-run")
    assert result.exit_code == 0
    told = dict(line.split(":", 1) for line in result.stdout.splitlines())
    assert told["stage"].strip() == "new"
    assert told["controller of FROM"].strip() == "none"
    assert told["FROM has"].strip() == "1 topic, 2 partitions"
    assert re.fullmatch(r"[0-9]+ keys, [0-9]+ bytes; [0-9]+ keys left out", told["to copy in all"].strip())
    assert told["to copy now"].strip().endswith(" keys in 1 commit")
    assert told["continues in TO"].strip() == "1 move, 0 replicas to delete"
    assert told["not registered in TO"].strip() == "none"
    assert files(tmp_path) == before


def test_foreign_write_after_the_fence_is_reported_with_exit_code_1(old: str, new: str) -> None:
    migrate(old, new)
    write(old, "/config/users/x", b"{}")
    for arguments in ([old, new, "--verify"], [old, new]):
        result = migrate(*arguments)
        assert result.exit_code == 1
        assert "others wrote to FROM after its fence, and those changes were not copied: 1 key\n" in result.stdout
        assert "  /config/users/x: created" in result.stdout


def test_differing_stores_are_reported_key_by_key_with_exit_code_1(old: str, new: str) -> None:
    migrate(old, new)
    for number in range(25):
        write(new, f"/config/users/u{number:02}", b"{}")
    result = migrate(old, new, "--verify")
    assert result.exit_code == 1
    assert "the stores differ: 25 keys" in result.stdout
    assert "  /config/users/u00: in TO only" in result.stdout
    assert "  and 5 more" in result.stdout


def test_a_move_that_ended_is_not_aborted(old: str, new: str) -> None:
    migrate(old, new)
    before = held(old), held(new)
    result = migrate(old, new, "--abort")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "it can only be completed" in result.stderr
    assert (held(old), held(new)) == before


@pytest.mark.parametrize("option", [None, "--verify", "--dry-run", "--abort"])
@pytest.mark.parametrize("other", ["none.json", "empty.json", "cluster.json"])
def test_a_store_that_it_did_not_go_to_is_refused_after_the_end(
    old: str, new: str, tmp_path: Path, other: str, option: str | None
) -> None:
    """Also once the marker of the new store is gone: what stays there says by which move it was given."""
    migrate(old, new)
    with closing(MemoryStore(file=new.removeprefix("memory:"))) as store:
        marker = store.get(keys.MIGRATION, timeout_s=1)
        assert marker is not None
        store.commit([Delete(keys.MIGRATION, marker.version)], timeout_s=1)  # a controller worked it off
    MemoryServer().save(tmp_path / "empty.json")
    saved(tmp_path / "cluster.json")
    before = files(tmp_path)
    options = [] if option is None else [option]
    result = migrate(old, f"memory:{tmp_path / other}", *options)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert "FROM was moved to" in result.stderr
    assert "TO is another store" in result.stderr
    assert migrate(old, new, *options).exit_code == (2 if option == "--abort" else 0)
    assert files(tmp_path) == before


@pytest.mark.parametrize("option", [None, "--dry-run"])
def test_store_without_registrations_is_moved_only_with_the_option(
    old: str, new: str, tmp_path: Path, option: str | None
) -> None:
    before = files(tmp_path)
    options = [] if option is None else [option]
    result = asked(old, new, *options)
    assert result.exit_code == 2
    assert "no broker is registered in FROM" in result.stderr
    assert "--without-brokers" in result.stderr
    assert files(tmp_path) == before
    assert migrate(old, new, *options).exit_code == 0


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
def test_a_store_and_one_below_it_on_one_of_its_servers_are_the_same(source: str, target: str, is_same: bool) -> None:
    assert is_same_place(source, target) is is_same


def test_a_store_below_the_other_is_refused_before_anybody_is_asked() -> None:
    """No server is there: the urls say it."""
    result = migrate("zookeeper://127.0.0.1:1/a", "zookeeper://127.0.0.1:1/a/b")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "kedge: FROM and TO are the same store, or one is below the other\n"


def test_what_never_began_is_not_aborted_and_it_says_so(old: str, new: str, tmp_path: Path) -> None:
    before = files(tmp_path)
    result = migrate(old, new, "--abort")
    assert (result.exit_code, result.stdout) == (0, "nothing to abort: no migration from FROM to TO has started\n")
    assert files(tmp_path) == before


BAD = {
    "the same store twice": ("{old}", "{old}", "FROM and TO are the same store"),
    "one that nobody else sees": ("memory:", "{new}", "FROM: expected a store that other processes see"),
    "nor as the new one": ("{old}", "memory:", "TO: expected a store that other processes see"),
    "no such file": ("memory:{folder}/none.json", "{new}", "FROM: no such file"),
    "an unknown url": ("{old}", "consul://h:1/x", "a store url must begin with one of"),
    "no url": ("{old}", "new.json", "a store url must begin with one of"),
    "a torn file": ("memory:{folder}/torn.json", "{new}", "not a whole JSON file"),
    "a broken marker": ("memory:{folder}/marked.json", "{new}", f"{keys.MIGRATION} of FROM cannot be read"),
    "a store in use": ("{old}", "memory:{folder}/marked.json", f"{keys.MIGRATION} of TO cannot be read"),
    "another cluster": ("{old}", "memory:{folder}/other.json", "TO is not empty"),
    "no cluster": ("memory:{folder}/empty.json", "{new}", "FROM holds no cluster"),
}


@pytest.mark.parametrize("option", [None, "--dry-run", "--abort", "--verify"])
@pytest.mark.parametrize("bad", list(BAD))
def test_bad_input_is_one_line_exit_code_2_and_nothing_is_written(
    old: str, new: str, tmp_path: Path, bad: str, option: str | None
) -> None:
    (tmp_path / "torn.json").write_bytes(b'{"format":')
    write(saved(tmp_path / "marked.json"), keys.MIGRATION, b"{}")
    saved(tmp_path / "other.json")
    MemoryServer().save(tmp_path / "empty.json")
    source, target, said = (word.format(old=old, new=new, folder=tmp_path) for word in BAD[bad])
    before = files(tmp_path)
    result = migrate(source, target, *([] if option is None else [option]))
    if bad == "no cluster" and option == "--abort":
        assert (result.exit_code, result.stderr) == (0, "")  # nothing was begun: there is nothing to take back
    else:
        assert result.exit_code == 2, result.output
        said = "nothing to verify" if bad == "no cluster" and option == "--verify" else said
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert files(tmp_path) == before


@pytest.mark.parametrize("options", [["--abort", "--verify"], ["--dry-run", "--abort"], ["--timeout", "-1"]])
def test_options_that_make_no_sense_are_refused(old: str, new: str, options: list[str]) -> None:
    result = migrate(old, new, *options)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
