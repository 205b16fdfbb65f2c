"""Namespaces, links and what is left of them. Skipped, with what is missing, where this user may not make them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from servers import NoServer, ServerProcess, network
from servers.folders import sweep
from servers.network import Network
from servers.process import wait_until
from servers.server import Place

WAIT_S = 30.0
PORT = 7777
SERVER = """
import socket, sys
with socket.create_server((sys.argv[1], 7777)) as listener:
    while True:
        connection, _ = listener.accept()
        connection.sendall(b"here")
        connection.close()
"""
ASK = "import socket, sys; print(socket.create_connection((sys.argv[1], 7777), timeout=20).recv(9).decode())"
KILLED = """
import sys
from servers.network import Network
made = Network(2)
print(*made._names, made._bridge, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def made() -> Iterator[Network]:
    try:
        network = Network(2)
    except NoServer as error:
        pytest.skip(str(error))
    with closing(network):
        yield network


def answers(host: str) -> bool:
    try:
        with socket.create_connection((host, PORT), timeout=0.5) as connection:
            return connection.recv(9) == b"here"
    except OSError:
        return False


def serving(place: Place, folder: Path) -> ServerProcess:
    command = [*place.enter, sys.executable, "-c", SERVER, place.host]
    return ServerProcess("server", command, lambda: answers(place.host), folder / "log")


def there(made: Network, name: str) -> bool:
    """Whether a namespace or an interface of that name is there."""
    ip = made.places[0].enter[0]
    said = [subprocess.run([ip, what], capture_output=True, text=True, check=True).stdout for what in ("netns", "link")]
    return any(name in each for each in said)


@pytest.mark.slow
def test_nodes_reach_each_other_and_a_cut_one_is_unreachable_until_mended(made: Network, tmp_path: Path) -> None:
    """Neither from this process nor from the other node."""
    one, two = made.places
    server = serving(one, tmp_path)
    server.start()
    asking = [*two.enter, sys.executable, "-c", ASK, one.host]
    assert subprocess.run(asking, capture_output=True, text=True, check=True).stdout == "here\n"
    made.cut(0)
    assert not answers(one.host)
    with subprocess.Popen(asking, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asked:
        made.mend(0)
        wait_until("it answers again", lambda: answers(one.host), WAIT_S)
        assert asked.communicate(timeout=WAIT_S)[0] == "here\n"  # what was sent meanwhile was sent again
    server.kill()


@pytest.mark.slow
def test_nothing_is_left_of_a_network_that_is_closed(made: Network) -> None:
    """Names and subnets are its own: another one at the same time stays."""
    with closing(Network(2)) as other:
        assert not {place.host for place in made.places} & {place.host for place in other.places}
        names = [place.enter[-1] for place in made.places]
        assert all(there(made, name) for name in names)
        made.close()
        made.close()
        assert all(there(other, place.enter[-1]) for place in other.places)
    assert not any(there(made, name) for name in names)


@pytest.mark.slow
def test_the_network_of_a_process_that_was_killed_is_swept_away(
    made: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        names = process.stdout.readline().split()
        process.send_signal(signal.SIGKILL)
    assert all(there(made, name) for name in names)
    assert len(sweep(tmp_path)) == 1
    assert not any(there(made, name) for name in names)


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoServer, match=r"needs root|install iproute2"):
        Network(1)


@pytest.mark.slow
def test_the_command_says_what_is_missing_and_leaves_nothing(
    made: Network, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It made a network, so that no test finds out later that there is the program and not the right to it."""
    before = sorted(Path("/run/netns").iterdir())
    assert made.places
    assert network.main([]) == 0
    assert sorted(Path("/run/netns").iterdir()) == before
    monkeypatch.setattr(network, "_SYSTEM", str(tmp_path))
    assert network.main([]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("nodes have networks of their own, by /")
    assert said.err == "network=True needs the command ip of Linux: install iproute2 (Debian's name)\n"
