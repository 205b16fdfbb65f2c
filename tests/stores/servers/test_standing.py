"""`scripts/servers`, as a newcomer uses it: start, paste the url, look, stop."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kedge.stores import ABSENT, Put, open_store
from servers.etcd import etcd_binary, etcd_version, is_sound
from servers.process import birth, wait_until
from servers.standing import standing, stop

CHECKOUT = Path(__file__).resolve().parents[3]
WAIT_S = 30.0
CALL_S = 10.0


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own; whatever a test leaves running is ended."""
    monkeypatch.setenv("KEDGE_SERVERS_STATE", str(tmp_path / "state"))
    yield tmp_path / "state"
    for kind in ("zookeeper", "etcd"):
        stop(kind)


def servers(*arguments: str, **variables: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the command."""
    done = subprocess.run(
        [sys.executable, "-m", "servers.command", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def pid(kind: str) -> int:
    found = standing(kind)
    assert found is not None
    assert found.runs[0] is not None
    return found.runs[0]


@pytest.mark.server
@pytest.mark.full
def test_a_newcomer_starts_a_server_uses_its_url_and_stops_it() -> None:
    """The url is all there is on the output; started again it is the same server, stopped and started the same data."""
    code, url, said = servers("start", "etcd")
    assert (code, url.count("\n")) == (0, 1), said
    with closing(open_store(url.strip())) as store:
        store.commit([Put("/a", b"kept", ABSENT)], timeout_s=CALL_S)
    number = pid("etcd")
    assert servers("start", "etcd")[1] == url
    assert pid("etcd") == number
    assert url.strip() in servers("status")[1]
    assert servers("stop", "etcd")[:2] == (0, f"etcd stopped: 1 node, pid {number}, its data is kept\n")
    assert birth(number) == 0
    assert servers("status", "etcd")[:2] == (0, "etcd is not running\n")
    assert servers("start", "etcd")[1] == url
    with closing(open_store(url.strip())) as store:
        assert store.get("/a", timeout_s=CALL_S) is not None


@pytest.mark.server
@pytest.mark.full
def test_all_of_three_nodes_are_started_and_one_that_died_is_started_again(state: Path) -> None:
    code, urls, said = servers("start", "all", "--nodes", "3")
    assert code == 0, said
    assert [url.partition(":")[0] for url in urls.split()] == ["zookeeper", "etcd"]
    for url in urls.split():
        assert url.count(",") == 2
        open_store(url).close()
    os.kill(pid("etcd"), signal.SIGKILL)
    wait_until("it is seen", lambda: standing("etcd").whole is False, WAIT_S)  # type: ignore[union-attr]
    code, out, said = servers("status", "etcd")
    assert (code, "1 of 3 nodes died" in said) == (1, True)
    assert "2 of 3 nodes" in out
    assert servers("status", "etcd")[::2] == (0, "")  # said once
    assert servers("start", "etcd")[1] == urls.split()[1] + "\n"
    assert "3 nodes" in servers("status", "etcd")[1]
    code, _, said = servers("start", "etcd", "--nodes", "1")
    assert (code, said) == (2, "etcd: it is running with --nodes 3, not 1: stop it first\n")
    assert servers("stop", "all", "--clean")[0] == 0
    assert [path.name for path in state.iterdir()] == ["lock"]


@pytest.mark.server
@pytest.mark.full
def test_only_the_data_of_what_ran_are_cleaned(state: Path) -> None:
    """Started again without a number, it is what ran last; with nothing running, that is what is cleaned, and said."""
    _, three, _ = servers("start", "etcd", "--nodes", "3")
    servers("stop", "etcd")
    assert servers("start", "etcd")[1] == three
    servers("stop", "etcd")
    servers("start", "etcd", "--nodes", "1")
    code, out, _ = servers("stop", "etcd", "--clean")
    assert (code, out.partition(", the ")[2]) == (
        0,
        "data of 1 node is removed, that of 3 is kept (--nodes 3 --clean)\n",
    )
    assert [path.name for path in state.glob("etcd-*")] == ["etcd-3"]
    assert servers("start", "etcd")[1] == three
    servers("stop", "etcd")
    assert servers("stop", "etcd", "--clean")[1] == "etcd was not running, the data of 3 nodes is removed\n"
    assert list(state.glob("etcd-*")) == []


@pytest.mark.slow
def test_there_may_be_no_data_to_clean() -> None:
    assert servers("stop", "etcd", "--clean")[:2] == (0, "etcd was not running, it had no such data\n")
    assert servers("stop", "etcd", "--nodes", "3")[2] == "etcd: --nodes needs --clean: it selects the data to remove\n"


@pytest.mark.slow
def test_several_kinds_are_named_at_once() -> None:
    assert servers("status", "etcd", "zookeeper", "etcd")[1] == "etcd is not running\nzookeeper is not running\n"


@pytest.mark.slow
def test_a_heap_that_is_no_number_is_one_line_and_exit_code_2() -> None:
    code, out, said = servers("start", "zookeeper", KEDGE_SERVERS_HEAP_MB="512m")
    assert (code, out, said) == (
        2,
        "",
        "zookeeper: KEDGE_SERVERS_HEAP_MB: expected a number of megabytes, got '512m'\n",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("begin",),
        ("start",),
        ("start", "kafka"),
        ("start", "etcd", "--nodes", "2"),
        ("stop", "all", "--nodes", "2"),
        ("stop", "etcd", "kafka"),
    ],
    ids=" ".join,
)
def test_wrong_use_is_one_line_and_exit_code_2(arguments: tuple[str, ...]) -> None:
    code, out, said = servers(*arguments)
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert said.startswith("servers")


@pytest.mark.slow
def test_what_does_not_run_is_stopped_without_complaint() -> None:
    assert servers("stop", "all") == (0, "zookeeper was not running\netcd was not running\n", "")


@pytest.mark.slow
def test_a_server_that_cannot_be_had_is_one_line_that_names_what_is_missing(tmp_path: Path) -> None:
    code, out, said = servers("start", "zookeeper", PATH=str(tmp_path), JAVA_HOME="")
    assert (code, out, said.count("\n")) == (1, "", 1)
    assert "default-jdk-headless" in said


@pytest.mark.slow
def test_a_state_that_cannot_be_read_is_one_line_that_names_the_file(state: Path) -> None:
    (state / "etcd-1").mkdir(parents=True)
    for text in ("{", "[]"):
        (state / "etcd-1" / "stand.json").write_text(text)
        code, out, said = servers("status", "etcd")
        assert (code, out, said.count("\n")) == (1, "", 1)
        assert "stand.json" in said
    shutil.rmtree(state)


@pytest.mark.server
@pytest.mark.slow
def test_a_port_that_was_taken_meanwhile_is_one_line() -> None:
    """A pasted url would be another one's: it is not started elsewhere."""
    _, url, _ = servers("start", "etcd")
    servers("stop", "etcd")
    with socket.create_server(("127.0.0.1", int(url.strip().removesuffix("/kedge").rpartition(":")[2]))):
        code, out, said = servers("start", "etcd")
    assert (code, out, said.count("\n")) == (1, "", 1)
    assert "in use" in said
    assert servers("status", "etcd")[1] == "etcd is not running\n"


@pytest.mark.server
@pytest.mark.full
def test_an_unsound_etcd_is_warned_of() -> None:
    unsound = etcd_binary(sound=False)
    if is_sound(etcd_version(unsound)):
        pytest.skip("no unsound etcd on this machine")
    code, _, said = servers("start", "etcd", KEDGE_ETCD=str(unsound))
    assert (code, said.count("\n"), "may lose writes" in said) == (0, 2, True)


@pytest.fixture
def script(tmp_path: Path) -> list[str]:
    """The script in a checkout without an environment."""
    (tmp_path / "scripts").mkdir()
    for name in ("servers", "environment.sh"):
        shutil.copy(CHECKOUT / "scripts" / name, tmp_path / "scripts")
    return [str(tmp_path / "scripts" / "servers")]


@pytest.mark.slow
@pytest.mark.parametrize("has_environment", [False, True])
def test_the_script_hands_on_its_arguments_and_the_exit_code(
    script: list[str], tmp_path: Path, has_environment: bool
) -> None:
    """By the environment of the tests, where it was made; it makes none."""
    python = tmp_path / ".venv" / "bin" / "python"
    if has_environment:
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\ntouch "{tmp_path}/used"\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
    done = subprocess.run([*script, "status"], capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert (done.returncode, done.stdout) == (0, "zookeeper is not running\netcd is not running\n")
    assert subprocess.run([*script, "start"], capture_output=True, cwd=CHECKOUT, check=False).returncode == 2
    assert (python.exists(), (tmp_path / "used").exists()) == (has_environment, has_environment)


@pytest.mark.slow
def test_the_command_needs_no_package() -> None:
    command = [sys.executable, "-S", "-m", "servers.command", "status"]  # -S: none is found
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
