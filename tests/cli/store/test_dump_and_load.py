"""`kedge store dump` and `load`: what goes out comes in again, on every store, and what cannot is refused untouched."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from pathlib import Path

import pytest

from kedge.controller.wire.cluster_id import gateways_secret
from kedge.stores import ABSENT, PRESENT, MemoryServer, MemoryStore, Put, open_store
from tests.cli.store.places import (
    KINDS,
    VALUES,
    Make,
    content,
    everywhere,
    filled,
    is_one_line,
    memory_url,
    on_servers,
    run,
    zookeeper_url,
)
from tests.kit.data import DATA


@everywhere
def test_a_tree_that_is_dumped_and_loaded_is_the_same(make: Make, tmp_path: Path) -> None:
    first, second, file = filled(make(tmp_path)), make(tmp_path), tmp_path / "dump.json"
    done = run("dump", first, str(file))
    assert (done.exit_code, done.stderr) == (0, "")
    assert ", an atomic snapshot" in done.stdout
    assert run("load", str(file), second).exit_code == 0
    assert content(second) == VALUES
    again = tmp_path / "again.json"
    run("dump", second, str(again))
    assert values_of(again) == values_of(file)


def values_of(file: Path) -> dict[str, str]:
    keys = json.loads(file.read_text())["keys"]
    return {key: members.get("value", members.get("value_base64")) for key, members in keys.items()}


@everywhere
def test_a_dump_is_a_snapshot_of_a_memory_store(make: Make, tmp_path: Path) -> None:
    """MemoryServer.load takes it, with the versions, generations and `created` of where it came from."""
    url, file = filled(make(tmp_path)), tmp_path / "dump.json"
    run("dump", url, str(file))
    loaded = MemoryStore(MemoryServer.load(file))
    with closing(open_store(url, read_only=url.startswith("memory:"))) as store:
        expected = store.snapshot("/", timeout_s=10).entries
    assert loaded.snapshot("/", timeout_s=1).entries == expected


@everywhere
@pytest.mark.parametrize("tree", ["moving", "idle"])
def test_the_recorded_trees_of_kafka_are_loaded(make: Make, tmp_path: Path, tree: str) -> None:
    """Without what is ephemeral, and the nodes without data that others stand below; both are counted."""
    url, file = make(tmp_path), DATA / f"kafka_3_9_tree_{tree}.json"
    recorded = json.loads(file.read_text())
    expected = {
        key: node.get("value", "").encode()
        for key, node in recorded.items()
        if not node.get("ephemeral") and ("value" in node or not any(other.startswith(f"{key}/") for other in recorded))
    }
    done = run("load", str(file), url, "--json")
    said = json.loads(done.stdout)
    assert content(url) == expected
    assert said["keys"] == said["put"] == len(expected)
    assert said["ephemerals_left_out"] == sum(bool(node.get("ephemeral")) for node in recorded.values())
    assert said["keys"] + said["ephemerals_left_out"] + said["empty_nodes_left_out"] == len(recorded)
    assert said["format"] == "recorded tree"


@on_servers
def test_ephemeral_keys_are_left_out_of_a_dump_and_counted(make: Make, tmp_path: Path) -> None:
    url, file = filled(make(tmp_path)), tmp_path / "dump.json"
    with closing(open_store(url)) as store:
        store.commit([Put("/controller", b"{}", ABSENT, ephemeral=True)], timeout_s=10)
        done = run("dump", url, str(file))
    assert "; 1 ephemeral key left out" in done.stdout
    assert "/controller" not in values_of(file)


@everywhere
def test_the_secret_of_gateways_stays_in_its_store(make: Make, tmp_path: Path) -> None:
    """A dump may be given to others, and is like its store all the same; another store makes a secret of its own."""
    url, file, other = filled(make(tmp_path)), tmp_path / "dump.json", make(tmp_path)
    with closing(open_store(url)) as store:
        secret = gateways_secret(store)
    assert run("dump", url, str(file)).exit_code == 0
    assert secret not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert run("diff", url, str(file)).exit_code == run("diff", str(file), url).exit_code == 0
    assert run("load", str(file), other).exit_code == 0
    with closing(open_store(other)) as store:
        assert gateways_secret(store) not in {"", secret}


@everywhere
def test_stdin_and_stdout_are_files_too(make: Make, tmp_path: Path) -> None:
    dumped = run("dump", filled(make(tmp_path)), "-")
    second = make(tmp_path)
    assert dumped.stderr.endswith("written to stdout, an atomic snapshot\n")
    assert run("load", "-", second, given=dumped.stdout_bytes).exit_code == 0
    assert content(second) == VALUES


@everywhere
def test_a_store_that_is_not_empty_is_refused_untouched(make: Make, tmp_path: Path) -> None:
    url, file = filled(make(tmp_path), {"/mine": b"1"}), tmp_path / "dump.json"
    run("dump", filled(memory_url(tmp_path)), str(file))
    refused = run("load", str(file), url)
    assert is_one_line(refused, 2)
    assert "not empty, it has a key: /mine; nothing was written" in refused.stderr
    assert content(url) == {"/mine": b"1"}


@everywhere
def test_resume_goes_on_where_a_load_broke_off(make: Make, tmp_path: Path) -> None:
    url, file = filled(make(tmp_path), {"/bytes": VALUES["/bytes"]}), tmp_path / "dump.json"
    run("dump", filled(memory_url(tmp_path)), str(file))
    assert "3 keys put" in run("load", str(file), url, "--resume").stdout
    assert content(url) == VALUES
    assert "0 keys put" in run("load", str(file), url, "--resume").stdout


@everywhere
@pytest.mark.parametrize("standing", [{"/bytes": b"other"}, {"/elsewhere": b"1"}], ids=["another value", "another key"])
def test_resume_overwrites_nothing(make: Make, tmp_path: Path, standing: dict[str, bytes]) -> None:
    url, file = filled(make(tmp_path), standing), tmp_path / "dump.json"
    run("dump", filled(memory_url(tmp_path)), str(file))
    refused = run("load", str(file), url, "--resume")
    assert is_one_line(refused, 2)
    assert "exists with another value than in the file; nothing was written" in refused.stderr
    assert content(url) == standing


@everywhere
@pytest.mark.parametrize(
    "data,problem",
    [
        (b"", "not a whole JSON file"),
        (b"{", "not a whole JSON file"),
        (b"[1]", "neither a snapshot nor a recorded tree"),
        (b"{}", "neither a snapshot nor a recorded tree"),
        (b'{"format":"another"}', "not a snapshot of a memory store"),
        (b'{"/a":{"value":"1","version":0},"/a":{"value":"2","version":0}}', "'/a' occurs twice"),
        (b'{"/a b":{"value":"1","version":0}}', "not a key"),
        (b'{"/a":{"value":1,"version":0}}', "value must be a string"),
        (b'{"/a":7}', "a node must be an object"),
        (b"\xff\xfe", "not a whole JSON file"),
    ],
    ids=["empty", "torn", "list", "object", "foreign", "twice", "bad key", "number", "no node", "bytes"],
)
def test_a_broken_or_foreign_file_is_refused_before_anything_is_written(
    make: Make, tmp_path: Path, data: bytes, problem: str
) -> None:
    url, file = make(tmp_path), tmp_path / "bad.json"
    file.write_bytes(data)
    refused = run("load", str(file), url)
    assert is_one_line(refused, 2)
    assert problem in refused.stderr
    assert str(file) in refused.stderr
    assert is_untouched(url)


def is_untouched(url: str) -> bool:
    return not Path(url.removeprefix("memory:")).exists() if url.startswith("memory:") else content(url) == {}


@everywhere
def test_a_changed_dump_is_refused(make: Make, tmp_path: Path) -> None:
    """A value edited, or the end torn off: the checksum, or the JSON, does not hold."""
    url, file = make(tmp_path), tmp_path / "dump.json"
    run("dump", filled(memory_url(tmp_path)), str(file))
    whole = file.read_bytes()
    for changed in (whole.replace(b'"7"', b'"8"'), whole[:-40]):
        file.write_bytes(changed)
        assert is_one_line(run("load", str(file), url), 2)
    assert is_untouched(url)


@everywhere
def test_a_value_that_does_not_fit_is_refused_before_anything_is_written(make: Make, tmp_path: Path) -> None:
    url, file = make(tmp_path), tmp_path / "big.json"
    tree = {"/a": {"value": "small", "version": 0}, "/big": {"value": "x" * 1_000_001, "version": 0}}
    file.write_text(json.dumps(tree))
    refused = run("load", str(file), url)
    assert is_one_line(refused, 2)
    assert "/big: a value of 1000001 bytes" in refused.stderr
    assert is_untouched(url)


@pytest.mark.parametrize("values", [{}, {"/a": b"1"}], ids=["empty", "one"])
def test_a_memory_file_is_not_written_by_a_refused_load(tmp_path: Path, values: dict[str, bytes]) -> None:
    path = tmp_path / "store.json"
    server = MemoryServer()
    MemoryStore(server).commit([Put(k, v, ABSENT) for k, v in values.items()] or [], timeout_s=1)
    server.save(path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    run("load", str(tmp_path / "missing.json"), f"memory:{path}")
    file = tmp_path / "big.json"
    file.write_text(json.dumps({"/big": {"value": "x" * 1_000_001, "version": 0}}))
    assert is_one_line(run("load", str(file), f"memory:{path}"), 2)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_an_old_file_is_replaced_by_a_dump_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    file.write_text("old")
    assert is_one_line(run("dump", "memory:missing.json", str(file)), 2)
    assert file.read_text() == "old"
    assert run("dump", filled(memory_url(tmp_path)), str(file)).exit_code == 0
    assert values_of(file)["/controller_epoch"] == "7"


def test_json_says_what_was_done(tmp_path: Path) -> None:
    url, file = filled(memory_url(tmp_path)), tmp_path / "dump.json"
    said = json.loads(run("dump", url, str(file), "--json").stdout)
    expected = {"store": url, "file": str(file), "keys": 4, "ephemerals_left_out": 0, "consistent": True}
    assert said == {**expected, "sensitive_left_out": []}


@on_servers
def test_a_wrong_chroot_or_prefix_is_not_an_empty_tree(make: Make, tmp_path: Path) -> None:
    """A dump of nothing would look like one of everything."""
    refused = run("dump", make(tmp_path), str(tmp_path / "dump.json"))
    assert is_one_line(refused, 2)
    assert not (tmp_path / "dump.json").exists()


@pytest.mark.server
@pytest.mark.full
@pytest.mark.parametrize("source,target", [("zookeeper", "etcd"), ("etcd", "zookeeper")])
def test_a_tree_goes_from_one_store_into_another(tmp_path: Path, source: str, target: str) -> None:
    """20,000 keys by a dump and a load; nothing is lost or changed."""
    values = {f"/brokers/topics/t{n // 100}/partitions/{n % 100}/state": b'{"isr":[%d]}' % n for n in range(20_000)}
    first, second = KINDS[source](tmp_path), KINDS[target](tmp_path)
    tree = {key: {"value": value.decode(), "version": 3} for key, value in values.items()}
    file = tmp_path / "tree.json"
    file.write_text(json.dumps(tree))
    assert run("load", str(file), first).exit_code == 0
    assert run("dump", first, str(file)).exit_code == 0
    assert run("load", str(file), second).exit_code == 0
    assert content(second) == values


@pytest.mark.server
@pytest.mark.slow
def test_a_dump_says_that_the_tree_changed_meanwhile(tmp_path: Path) -> None:
    """On ZooKeeper, where a tree is read level by level; in words and in the file, which loads all the same."""
    url, file = filled(zookeeper_url(tmp_path), {f"/a/{n}": b"1" for n in range(500)}), tmp_path / "dump.json"
    stop = threading.Event()

    def write() -> None:
        with closing(open_store(url)) as store:
            while not stop.is_set():
                store.commit([Put("/a/0", b"2", PRESENT)], timeout_s=10)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        said = next(
            filter(lambda line: "NOT an atomic" in line, (run("dump", url, str(file)).stdout for _ in range(100)))
        )
    finally:
        stop.set()
        thread.join()
    assert "NOT an atomic snapshot, because keys changed meanwhile" in said
    assert json.loads(file.read_text())["consistent"] is False
    assert "the file is NOT an atomic snapshot" in run("load", str(file), memory_url(tmp_path)).stdout
