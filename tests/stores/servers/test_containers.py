"""Servers in containers. What needs an engine is skipped, with what is missing, where none can be had."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kedge.stores import ABSENT, Put, StoreError, open_store
from servers import NoServer
from servers.containers import ContainerEtcd, ContainerServer, ContainerZooKeeper
from servers.engine import engine
from servers.folders import sweep
from servers.images import runtime
from servers.process import birth, wait_until

WAIT_S = 60.0
CALL_S = 10.0
HOLDING = """
import json, sys
from servers.containers import ContainerEtcd
from servers.engine import engine
from servers.process import NoServer
try:
    server = ContainerEtcd()
    server.start()
except NoServer as error:
    print(json.dumps({"missing": str(error)}), flush=True)
else:
    print(json.dumps({"pid": server.pid, "engine": engine().url}), flush=True)
sys.stdin.readline()
"""


@pytest.fixture(params=[ContainerEtcd, ContainerZooKeeper], ids=["etcd", "zookeeper"])
def contained(request: pytest.FixtureRequest) -> Iterator[ContainerServer]:
    try:
        server: ContainerServer = request.param()
    except NoServer as error:
        pytest.skip(str(error))
    with server:
        yield server


def kept(url: str) -> bool:
    try:
        with closing(open_store(url)) as store:
            return store.get("/a", timeout_s=CALL_S) is not None
    except StoreError:
        return False


@pytest.mark.server
@pytest.mark.full
def test_a_container_has_the_verbs_of_a_process_and_keeps_its_data_and_its_url(contained: ContainerServer) -> None:
    url = contained.url("/x")
    assert contained.version.count(".") == 2
    with closing(open_store(url)) as store:
        store.commit([Put("/a", b"", ABSENT)], timeout_s=CALL_S)
    first = contained.pid
    for end in (contained.stop, contained.kill):
        contained.pause()
        contained.pause()
        assert contained.pid > 0
        end()  # also a paused one
        end()
        assert not contained.running
        with pytest.raises(NoServer, match="does not run"):
            contained.pause()
        with pytest.raises(NoServer, match="does not run"):
            _ = contained.pid
        contained.start()
        contained.start()
        assert kept(url)
    contained.restart()
    assert kept(url)
    assert contained.pid != first
    contained.pause()
    contained.resume()
    contained.resume()
    assert kept(url)
    assert isinstance(contained.log_tail(), str)
    contained.close()
    contained.close()
    assert not contained.running
    assert contained.log_tail() == ""


@pytest.mark.server
@pytest.mark.full
def test_a_container_that_ends_by_itself_says_why() -> None:
    try:
        server = ContainerEtcd(flags=["--no-such-flag"])
    except NoServer as error:
        pytest.skip(str(error))
    with closing(server), pytest.raises(NoServer, match=r"ended by itself(.|\n)*no-such-flag"):
        server.start()


@pytest.mark.server
@pytest.mark.full
@pytest.mark.parametrize("how", [None, signal.SIGKILL], ids=["ended", "killed"])
def test_nothing_of_an_engine_of_our_own_is_left(tmp_path: Path, how: signal.Signals | None) -> None:
    """Nor, once it is swept, of one whose process was killed: no container, no service, no mount, no folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), "DOCKER_HOST": "unix:///none"},
    )
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    if how is not None:
        process.send_signal(how)
    process.communicate("go\n" if how is None else None, timeout=WAIT_S)
    had = "missing" not in said
    if how is not None:
        assert not had or birth(said["pid"]) != 0
        sweep(tmp_path)  # also of an engine that built no image: pytest cannot remove what is mounted
    if not had:
        pytest.skip(said["missing"])
    wait_until("the container is gone", lambda: birth(said["pid"]) == 0, WAIT_S)
    assert not list(tmp_path.iterdir())
    assert not Path(said["engine"].removeprefix("unix://")).parent.exists()
    assert str(tmp_path) not in Path("/proc/self/mountinfo").read_text()


@pytest.mark.server
@pytest.mark.full
def test_an_image_that_cannot_be_built_leaves_no_connection_open() -> None:
    """An error in a cycle of references, as pytest's reports are, would warn of its socket in the midst of another
    test."""
    try:
        found = engine()
    except NoServer as error:
        pytest.skip(str(error))

    def context(folder: Path) -> None:
        (folder / "Dockerfile").write_text("FROM scratch\nCOPY missing /\n", encoding="utf-8")

    def refused() -> None:
        with pytest.raises(NoServer, match="cannot build an image of broken") as raised:
            found.image("broken", context)
        raised.value.args = (raised.value,)

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        refused()
        gc.collect()
    assert [str(each.message) for each in warned] == []


@pytest.mark.parametrize(
    "host,why",
    [("", "DOCKER_HOST is not set"), ("unix:///none", "no Docker engine answers at unix:///none")],
    ids=["no engine", "a wrong one"],
)
def test_without_an_engine_one_line_says_what_is_missing(tmp_path: Path, host: str, why: str) -> None:
    if not host and Path("/var/run/docker.sock").exists():
        pytest.skip("a Docker engine is here")
    done = subprocess.run(
        [sys.executable, "-m", "servers.containers"],
        capture_output=True,
        text=True,
        env={**os.environ, "DOCKER_HOST": host, "PATH": str(tmp_path)},
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert why in done.stderr
    assert "install podman runc" in done.stderr


class BuildsNothing(BaseHTTPRequestHandler):
    """A Docker engine that answers, and refuses to build."""

    def do_GET(self) -> None:
        self._answer(200, {"ApiVersion": "1.41", "Version": "1"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._answer(500, {"message": "no space left on device"})

    def _answer(self, status: int, said: dict[str, str]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.server
@pytest.mark.full
def test_an_engine_that_builds_no_image_counts_as_missing() -> None:
    """Otherwise the table of scripts/test would name an engine, and the tests in containers would be skipped."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BuildsNothing) as server:
        threading.Thread(target=server.serve_forever).start()
        done = subprocess.run(
            [sys.executable, "-m", "servers.containers", "--install"],
            capture_output=True,
            text=True,
            env={**os.environ, "DOCKER_HOST": f"tcp://127.0.0.1:{server.server_port}"},
            check=False,
        )
        server.shutdown()
    assert done.returncode == 1
    assert "cannot build an image of etcd" in done.stderr
    assert "no space left on device" in done.stderr


def test_a_java_without_jlink_makes_no_image_and_the_package_is_named(played_java: Callable[[str], Path]) -> None:
    played_java("17.0.1")
    with pytest.raises(NoServer, match=r"needs jlink.*default-jdk-headless"):
        runtime()


def test_a_jlink_that_fails_says_why_and_leaves_no_half_of_a_runtime(
    played_java: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jlink = played_java("17.0.1").with_name("jlink")
    jlink.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 17 && exit 0\necho no jmods >&2; exit 1\n')
    jlink.chmod(0o755)
    monkeypatch.setenv("KEDGE_SERVERS", str(tmp_path / "cache"))
    with pytest.raises(NoServer, match=r"jlink .*failed: 'no jmods'"):
        runtime()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["java.lock"]
