"""The kit that runs real servers, as far as it needs none."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from servers import NoServer, Proxy, ServerProcess
from servers.jars import JARS, zookeeper_classpath
from servers.process import birth, end, recorded, wait_until
from servers.zookeeper import java

WAIT_S = 10.0


def sleeper(tmp_path: Path, *, ready: bool = True) -> ServerProcess:
    return ServerProcess("sleeper", ["sleep", "60"], lambda: ready, tmp_path / "log")


def test_a_process_is_started_paused_resumed_and_ended(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    process.start()
    process.start()  # again is once
    pid = process.pid
    process.pause()
    process.stop()  # also a paused one
    with pytest.raises(NoServer, match="does not run"):
        _ = process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    process.kill()


@pytest.mark.slow
def test_a_paused_process_has_stopped_and_goes_on_where_it_was(tmp_path: Path) -> None:
    """Each time: not one more number is written between `pause` and `resume`."""
    code = "import itertools; [print(n, flush=True) for n in itertools.count()]"
    log = tmp_path / "log"
    process = ServerProcess("counter", [sys.executable, "-c", code], lambda: log.stat().st_size > 0, log)
    process.start()
    for _ in range(20):
        process.pause()
        size = log.stat().st_size
        assert Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "T"
        assert log.stat().st_size == size
        process.resume()
        wait_until("it goes on", lambda size=size: log.stat().st_size > size, WAIT_S)  # type: ignore[misc]
    process.stop()


def test_what_ends_by_itself_says_so_and_is_neither_paused_nor_resumed(tmp_path: Path) -> None:
    process = ServerProcess("short", [sys.executable, "-c", "print('no such flag')"], lambda: False, tmp_path / "log")
    with pytest.raises(NoServer, match="short ended by itself; the end of its log:\nno such flag"):
        process.start()
    with pytest.raises(NoServer, match="does not run"):
        process.pause()
    process.resume()
    process.stop()


def test_a_process_of_another_owner_is_found_by_its_record_and_ended(tmp_path: Path) -> None:
    process = sleeper(tmp_path)
    process.start()
    pid = process.pid
    process.pause()
    assert recorded(tmp_path) == pid
    end(pid)
    assert recorded(tmp_path) is None


def test_record_with_the_same_number_of_another_process_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "process").write_text(f"{os.getpid()} {birth(os.getpid()) - 1}\n")
    assert recorded(tmp_path) is None
    (tmp_path / "process").write_text("half")
    assert recorded(tmp_path) is None


@pytest.mark.slow
def test_what_does_not_answer_in_time_is_ended(tmp_path: Path) -> None:
    process = sleeper(tmp_path, ready=False)
    with pytest.raises(NoServer, match=r"not within 0.1 s: sleeper answers"):
        process.start(timeout_s=0.1)
    assert not process.running


def test_what_cannot_be_run_says_so(tmp_path: Path) -> None:
    process = ServerProcess("nothing", ["/none/such"], lambda: True, tmp_path / "log")
    with pytest.raises(NoServer, match="nothing cannot be run"):
        process.start()


@pytest.mark.slow
def test_without_java_one_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoServer, match="Java 11"):
        java()
    done = subprocess.run([sys.executable, "-m", "servers"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].startswith("a local ZooKeeper needs Java 11")
    assert "--no-servers" in done.stderr


def test_a_java_that_is_too_old_is_named(played_java: Callable[[str], Path]) -> None:
    played_java("1.8.0_292")
    with pytest.raises(NoServer, match=r"1\.8\.0"):
        java()


def test_without_a_repository_one_line_says_where_it_was_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KEDGE_SERVERS", str(tmp_path))
    monkeypatch.setenv("KEDGE_MAVEN_REPOSITORY", "https://127.0.0.1:1/maven2")
    with pytest.raises(NoServer, match=f"{tmp_path}.*127.0.0.1:1/maven2/org/apache/zookeeper"):
        zookeeper_classpath()
    monkeypatch.setenv("KEDGE_MAVEN_REPOSITORY", "http://127.0.0.1:1")
    with pytest.raises(NoServer, match="https"):
        zookeeper_classpath()


def test_a_jar_that_is_not_the_tested_one_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One in the cache that was cut short is downloaded again, not run."""
    monkeypatch.setenv("KEDGE_SERVERS", str(tmp_path))
    monkeypatch.setenv("KEDGE_MAVEN_REPOSITORY", "https://127.0.0.1:1")
    path, version, _ = JARS[0]
    jar = tmp_path / f"zookeeper-{version}" / f"{path.rpartition('/')[2]}-{version}.jar"
    jar.parent.mkdir()
    jar.write_bytes(b"half a jar")
    with pytest.raises(NoServer, match="cannot be downloaded"):
        zookeeper_classpath()


@pytest.fixture
def echo() -> Iterator[Proxy]:
    """A proxy before a server that says back what it hears."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while data := connection.recv(1000):
                connection.sendall(data)

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    proxy = Proxy(("127.0.0.1", listener.getsockname()[1]))
    yield proxy
    proxy.close()
    proxy.close()
    assert not [thread for thread in threading.enumerate() if thread.name == f"kedge-proxy-{proxy.port}"]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def ask(connection: socket.socket, data: bytes) -> bytes:
    connection.settimeout(WAIT_S)
    try:
        connection.sendall(data)
        return connection.recv(1000)
    except ConnectionError:
        return b""


def test_a_proxy_that_is_cut_refuses_until_it_is_mended(echo: Proxy) -> None:
    with socket.create_connection(("127.0.0.1", echo.port)) as connection:
        assert ask(connection, b"one") == b"one"
        echo.cut()
        assert ask(connection, b"two") == b""
    with socket.create_connection(("127.0.0.1", echo.port)) as refused:
        assert ask(refused, b"three") == b""
    echo.mend()
    with socket.create_connection(("127.0.0.1", echo.port)) as again:
        assert ask(again, b"four") == b"four"


@pytest.mark.slow
def test_what_a_proxy_swallowed_never_comes(echo: Proxy) -> None:
    """The connection ends when answers are let through again: no byte of a stream may be missing."""
    with socket.create_connection(("127.0.0.1", echo.port)) as connection:
        assert ask(connection, b"one") == b"one"
        echo.swallow()
        connection.sendall(b"two")
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1000)
        echo.speak()
        assert ask(connection, b"three") == b""
