"""`kedge store ping`: what it says of a store, what it calls wrong, and that it writes nothing."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from kedge.controller.cli.root import kedge
from kedge.controller.codec import broker as broker_codec
from kedge.controller.codec import migration
from kedge.controller.model.values import BrokerRegistration
from kedge.stores import ABSENT, PRESENT, Delete, MetadataStore, Put, open_store
from kedge.stores.probing import SCRATCH_KEY
from tests.cli.store.places import (
    Make,
    content,
    everywhere,
    filled,
    memory_url,
    on_servers,
    run,
    zookeeper_url,
)
from tests.conformance.frames import MULTI_READ, UNIMPLEMENTED, FrameProxy
from tests.conformance.zookeeper import server as zookeeper

LED = {"/controller_epoch": b"7", "/kedge/format": b'{"version":1,"min_controller":1}'}
TOPICS = {f"/brokers/topics/{name}": b'{"partitions":{"0":[1]}}' for name in ("one", "two")}


def registration(broker_id: int) -> bytes:
    return broker_codec.encode(BrokerRegistration(broker_id), 4, 0)


@everywhere
def test_a_store_that_is_fine_is_exit_code_0(make: Make, tmp_path: Path) -> None:
    url = filled(make(tmp_path), LED | TOPICS)
    done = run("ping", url)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert {"store", "session", "value", "commit", "snapshot", "read"} <= set(lines)
    assert (lines["controller"], lines["epoch"], lines["topics"], lines["brokers"]) == ("none", "7", "2", "0")
    assert content(url) == LED | TOPICS


@on_servers
def test_who_leads_and_who_is_registered_is_said(make: Make, tmp_path: Path) -> None:
    url = filled(make(tmp_path), LED)
    with closing(open_store(url)) as store:
        lead(store)
        said = json.loads(run("ping", url, "--json").stdout)
    assert said["controller"] == {"id": 5, "epoch": 7}
    assert (said["brokers"], said["topics"], said["problems"]) == (1, 0, [])


def lead(store: MetadataStore) -> None:
    """As a session of controller 5, with broker 1 registered."""
    leader = Put("/controller", b'{"version":1,"brokerid":5,"timestamp":"0"}', ABSENT, ephemeral=True)
    store.commit([leader, Put("/brokers/ids/1", registration(1), ABSENT, ephemeral=True)], timeout_s=10)


@on_servers
def test_the_version_of_each_server_is_said(make: Make, tmp_path: Path) -> None:
    said = json.loads(run("ping", filled(make(tmp_path), LED), "--json").stdout)
    (server,) = said["servers"]
    assert server["version"].count(".") == 2
    assert server["role"] in {"standalone", "leader"}
    assert said["bulk_reads"] is True
    assert said["session_timeout_s"] == 10.0
    assert set(said["latency_ms"]["read"]) == {"best_ms", "middle_ms", "worst_ms"}


@everywhere
def test_commits_are_timed_only_with_write_and_leave_nothing(make: Make, tmp_path: Path) -> None:
    url = filled(make(tmp_path), LED)
    assert json.loads(run("ping", url, "--json").stdout)["latency_ms"]["commit"] is None
    written = json.loads(run("ping", url, "--json", "--write").stdout)
    assert written["latency_ms"]["commit"]["middle_ms"] > 0
    assert content(url) == LED


@everywhere
def test_a_scratch_key_that_is_there_is_left_alone(make: Make, tmp_path: Path) -> None:
    """It may be another check's, which runs; exit code 1 says so."""
    url = filled(make(tmp_path), LED | {SCRATCH_KEY: b"mine"})
    done = run("ping", url, "--write")
    assert done.exit_code == 1
    assert f"problem     commit: {SCRATCH_KEY} exists" in done.stdout
    assert content(url) == LED | {SCRATCH_KEY: b"mine"}


@everywhere
@pytest.mark.parametrize(
    "key,value,problem",
    [
        ("/controller", b"{", "/controller: expected the id of the active controller, got "),
        (
            "/controller",
            b'{"brokerid":1}',
            "/controller: no session holds it, so only `kedge kafka-controller` can lead",
        ),
        ("/controller", b'{"brokerid":1,"kraftControllerEpoch":5}', "/controller: no session holds it, because KRaft"),
        ("/controller_epoch", b"seven", "/controller_epoch: not a controller epoch"),
        ("/kedge/commit", b"[]", "/kedge/commit: not an object"),
        (
            "/kedge/format",
            b'{"min_controller":99}',
            "/kedge/format: needs a controller of version 99, this one has 1; upgrade",
        ),
        ("/kedge/format", b"{", "/kedge/format: "),
        ("/brokers/ids/1", b"\xff", "/brokers/ids/1: "),
        ("/brokers/ids/x", b"{}", "/brokers/ids/x: "),
    ],
)
def test_a_key_of_the_controller_that_cannot_be_read_is_exit_code_1(
    make: Make, tmp_path: Path, key: str, value: bytes, problem: str
) -> None:
    done = run("ping", filled(make(tmp_path), {key: value}))
    assert done.exit_code == 1
    assert f"\nproblem     {problem}" in done.stdout
    assert "\ntopics      0\n" in done.stdout


@on_servers
def test_a_root_where_nothing_stands_is_said_and_nothing_is_wrong(make: Make, tmp_path: Path) -> None:
    """It may be asked before its first use, or have a wrong chroot or prefix; and it is not made by asking."""
    url = make(tmp_path)
    done = run("ping", url)
    assert done.exit_code == 0
    assert "keys        none: the store is new, or the chroot or prefix is wrong" in done.stdout
    assert content(url) == {}
    assert json.loads(run("ping", filled(make(tmp_path), {"/a/b": b""}), "--json").stdout)["empty"] is False


@pytest.mark.server
@pytest.mark.slow
def test_nodes_that_hold_no_key_are_no_keys(tmp_path: Path) -> None:
    """ZooKeeper keeps the parents of what was deleted; `kedge store audit` calls the same tree empty."""
    url = filled(zookeeper_url(tmp_path), {"/a/b/c": b"1"})
    with closing(open_store(url)) as store:
        store.commit([Delete("/a/b/c", PRESENT)], timeout_s=10)
    done = run("ping", url, "--json")
    assert (done.exit_code, json.loads(done.stdout)["empty"]) == (0, True)
    checked = CliRunner().invoke(kedge, ["store", "audit", url])
    assert (checked.exit_code, "empty-tree" in checked.stdout) == (1, True)


def test_a_cluster_that_was_moved_away_is_said_to_be_elsewhere(tmp_path: Path) -> None:
    marker = migration.Marker("a1", "etcd://h:1/p", is_moved=True)
    url = filled(memory_url(tmp_path), LED | {"/kedge/migration": migration.encode_marker(marker)})
    done = run("ping", url)
    assert done.exit_code == 1
    problems = [line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("problem")]
    assert problems == ["no controller can lead here: the cluster was moved to etcd://h:1/p"]
    checked = CliRunner().invoke(kedge, ["store", "audit", url])
    assert (checked.exit_code, "store-move" in checked.stdout) == (1, True)


@pytest.mark.server
@pytest.mark.slow
def test_a_server_without_multi_read_is_exit_code_1(tmp_path: Path) -> None:
    proxy = FrameProxy(zookeeper().port, lambda opcode: UNIMPLEMENTED if opcode == MULTI_READ else None)
    with closing(proxy):
        done = run("ping", filled(f"zookeeper://{proxy.address}/{tmp_path.name}-old", LED))
    assert done.exit_code == 1
    assert "problem     bulk reads do not work" in done.stdout


@on_servers
def test_a_host_of_the_url_that_does_not_answer_is_exit_code_1(make: Make, tmp_path: Path) -> None:
    scheme, _, rest = filled(make(tmp_path), LED).partition("://")
    done = run("ping", f"{scheme}://127.0.0.1:1,{rest}")
    assert done.exit_code == 1
    assert "problem     127.0.0.1:1: does not answer" in done.stdout
