"""`kedge demo --store`: the same acts on real stores, in a root of its own, which is gone afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kazoo.client import KazooClient

from kedge.controller.cli.demo import stage
from kedge.controller.cli.demo.screen import Silent
from kedge.controller.cli.demo.takeover import take_over
from kedge.controller.cli.demo.trees import recorded_tree
from kedge.controller.cli.root import kedge
from kedge.controller.rig import NotInTime
from kedge.controller.rig.served import StoreServer
from kedge.stores import ABSENT, MemoryServer, MemoryStore, Put, Unavailable, open_store
from tests.cli.store.places import Make, content, filled, is_one_line, on_servers, zookeeper_url
from tests.kit.data import DATA

MINE = {"/controller_epoch": b"41", "/kedge-demo-not": b"mine"}


def demo(*arguments: str) -> Result:
    return CliRunner().invoke(kedge, ["demo", *arguments])


@pytest.mark.full
@on_servers
def test_nothing_is_lost_and_nothing_is_left(make: Make, tmp_path: Path) -> None:
    """The acts are those of the memory store; keys beside the root are not touched; the text says where it stood."""
    url = filled(make(tmp_path), MINE)
    done = demo("--plain", "--store", url)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[-1] == "lost: 0"
    assert [line[3] for line in lines if line.startswith("== ")] == ["1", "2", "3", "4", "5"]
    for word in ("cancelled", "undone", "replaced by", "was killed", "took over with controller epoch 2"):
        assert any(word in line for line in lines), word
    assert f"Store: {url.partition('?')[0]}/kedge-demo; sessions are real" in done.output
    assert content(url) == MINE


@pytest.mark.full
@on_servers
def test_keep_leaves_both_trees_and_the_next_run_is_refused(make: Make, tmp_path: Path) -> None:
    """`kedge store audit` finds them whole; another --root is free."""
    url, layout = make(tmp_path), tmp_path / "layout.json"
    layout.write_text('{"1": null, "2": null, "3": null}')
    few = ("--layout", str(layout), "--store", url, "--tree", str(DATA / "kafka_3_9_tree_idle.json"))
    said = json.loads(demo("--json", "--keep", *few).stdout)
    assert said["retirement"]["lost"] == 0
    place, _, options = url.partition("?")
    for act in ("takeover", "retirement"):
        checked = CliRunner().invoke(kedge, ["store", "audit", f"{place}/kedge-demo/{act}?{options}"])
        assert checked.exit_code == 0, checked.output
    kept = content(url)
    refused = demo("--plain", *few)
    assert is_one_line(refused, 2)
    assert "kedge-demo is taken by a demo that runs, was kept or was killed; --clean removes" in refused.stderr
    assert content(url) == kept
    with stage.staged(url, "another", keep=False) as free:
        assert free.url.endswith("/another")
    assert content(url) == kept
    cleaned = demo("--store", url, "--clean")
    assert (cleaned.exit_code, "kedge-demo: removed " in cleaned.stdout) == (0, True)
    assert content(url) == {}


@on_servers
def test_only_what_a_demo_left_is_cleaned(make: Make, tmp_path: Path) -> None:
    """Not a root that bears another key, or none; not one in which a session still holds keys."""
    url = filled(make(tmp_path), {"/mine": b"x", "/mine/a": b"1", "/bare/a": b"1"})
    before = content(url)
    for root in ("mine", "bare"):
        refused = demo("--store", url, "--clean", "--root", root)
        assert is_one_line(refused, 2)
        assert ": not a root of a demo; nothing was removed" in refused.stderr
    with stage.staged(url, "kedge-demo", keep=False) as place, closing(open_store(str(place.opened))) as runs:
        runs.commit([Put("/controller", b"{}", ABSENT, ephemeral=True)], timeout_s=10)
        refused = demo("--store", url, "--clean")
        assert is_one_line(refused, 2)
        assert "a demo runs, or was killed a few seconds ago" in refused.stderr
    assert content(url) == before
    assert ": nothing to remove" in demo("--store", url, "--clean").stdout


def test_in_this_process_there_is_nothing_to_clean() -> None:
    assert is_one_line(demo("--clean"), 2)


@pytest.mark.full
@on_servers
@pytest.mark.parametrize("number,by,code", [(signal.SIGTERM, "SIGTERM", 143), (signal.SIGINT, "Ctrl-C", 130)])
def test_terminated_demo_removes_what_it_made(
    make: Make, tmp_path: Path, number: signal.Signals, by: str, code: int
) -> None:
    """And says so in one line."""
    url = filled(make(tmp_path), MINE)
    program = "import kedge.controller.cli; kedge.controller.cli.main()"
    command = [sys.executable, "-c", program, "demo", "--plain", "--store", url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        next(line for line in running.stdout if line.startswith("== 2"))
        running.send_signal(number)
        said = running.communicate(timeout=60)[1]
    assert (running.returncode, said) == (code, f"kedge: ended by {by}; its keys are removed\n")
    assert content(url) == MINE


@on_servers
def test_a_root_is_taken_by_one_demo_only(make: Make, tmp_path: Path) -> None:
    """Also before it has put anything below."""
    url = make(tmp_path)
    with stage.staged(url, "kedge-demo", keep=False):
        refused = demo("--plain", "--store", url)
    assert is_one_line(refused, 2)
    assert "is taken by a demo that runs, was kept or was killed" in refused.stderr
    assert content(url) == {}


@on_servers
def test_what_breaks_off_is_one_line_and_cleans_up(make: Make, tmp_path: Path) -> None:
    url = filled(make(tmp_path), MINE)

    def break_off() -> None:
        with stage.staged(url, "kedge-demo", keep=False) as place, place.server("retirement") as server:
            assert server is not None
            assert server.client().session.connected
            raise NotInTime("all agree\nand what stands")

    with pytest.raises(stage.Interrupted, match=r"broke off: all agree$"):
        break_off()
    assert content(url) == MINE


@pytest.mark.server
@pytest.mark.slow
def test_no_node_of_zookeeper_is_left(tmp_path: Path) -> None:
    """Not even one without data."""
    url = filled(zookeeper_url(tmp_path), MINE)
    with stage.staged(url, "kedge-demo", keep=False) as place, place.server("takeover") as server:
        assert server is not None
        with closing(open_store(stage.below(url, "kedge-demo"))) as store:
            assert store.session_timeout_s <= stage.SESSION_S
    hosts = url.removeprefix("zookeeper://").partition("?")[0]
    raw = KazooClient(hosts=hosts)
    raw.start(timeout=10)
    names = raw.get_children("/")
    raw.stop()
    raw.close()
    assert sorted(names) == ["controller_epoch", "kedge-demo-not"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments,problem",
    [
        (("--store", "memory:some.json"), "--store: expected memory:, zookeeper:// or etcd://, got memory:"),
        (("--store", "zoo:keeper"), "a store url must begin with one of"),
        (("--store", "etcd://user:only-for-me@h"), "user and password are options"),
        (("--store", "etcd://127.0.0.1:1?connect_timeout=0.2", "--root", "no key"), "--root: not a key"),
        (
            ("--store", "etcd://127.0.0.1:1?connect_timeout=0.2", "--root", "a/b"),
            "--root: expected a name without slashes",
        ),
        (("--store", "etcd://127.0.0.1:1?connect_timeout=0.2"), "etcd://127.0.0.1:1 cannot be used: "),
    ],
)
def test_a_store_that_cannot_be_used_is_one_line(arguments: tuple[str, ...], problem: str) -> None:
    refused = demo("--plain", *arguments)
    assert is_one_line(refused, 2)
    assert problem in refused.stderr
    assert "only-for-me" not in refused.output


def test_a_store_that_goes_away_is_not_taken_for_a_tree_that_cannot_be_led() -> None:
    """What it raises comes through, for the one line that says so."""
    clients = iter([MemoryStore(MemoryServer())])

    def opens() -> MemoryStore:
        for client in clients:
            return client
        raise Unavailable("the server is gone")

    with closing(StoreServer(opens)) as server, pytest.raises(Unavailable):
        take_over(recorded_tree(), 1, Silent(), "", server)


def test_the_url_of_a_root_keeps_the_options_and_asks_for_short_sessions() -> None:
    """Unless they say how long."""
    assert stage.below("etcd://h/a?user=u&password=p", "b") == "etcd://h/a/b?user=u&password=p&session_timeout=4"
    assert stage.below("zookeeper://h", "b/c") == "zookeeper://h/b/c?session_timeout=4"
    assert stage.below("etcd://h/?session_timeout=9", "b") == "etcd://h/b?session_timeout=9"
