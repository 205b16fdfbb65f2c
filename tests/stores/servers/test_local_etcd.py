from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stores import ABSENT, Put, open_store
from stores.servers import LocalEtcd, NoServer
from stores.servers.etcd import VARIABLE, etcd_binary, main

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_data_stay_over_stop_kill_and_restart(tmp_path: Path) -> None:
    """And are gone with `close` only where the folder was made by the server itself."""
    server = LocalEtcd(tmp_path)
    for number, end in enumerate((server.stop, server.kill)):
        server.start()
        store = open_store(server.url("/a"))
        store.commit([Put(f"/{number}", b"kept", ABSENT)], timeout_s=10)
        store.close()
        end()
        end()
    server.restart()
    store = open_store(server.url("/a"))
    assert store.children("/", timeout_s=10) == ["0", "1"]
    store.close()
    server.close()
    assert (tmp_path / "data").is_dir()


def test_a_folder_of_its_own_goes_with_it() -> None:
    with LocalEtcd(durable=False) as server:
        assert (server.folder / "data").is_dir()
        assert server.version.count(".") == 2
    assert not server.folder.exists()


def test_a_server_that_ends_says_why() -> None:
    with pytest.raises(NoServer, match="no-such-flag"), LocalEtcd(flags=["--no-such-flag"]):
        pass


def test_a_paused_server_is_stopped_all_the_same(tmp_path: Path) -> None:
    server = LocalEtcd(tmp_path, durable=False)
    server.start()
    server.pause()
    server.close()


def test_without_a_binary_there_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A name that cannot be executed is not passed over in silence for another one."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    with pytest.raises(NoServer, match=VARIABLE):
        etcd_binary()
    assert main(["--which"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv(VARIABLE, sys.executable)
    assert etcd_binary() == Path(sys.executable)


def test_the_command_prints_a_url_that_can_be_opened() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "stores.servers.etcd"], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        store = open_store(process.stdout.readline().split()[0])
        assert store.session.connected
        store.close()
        process.send_signal(2)
        assert process.wait(30) == 0


def test_which_names_the_binary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--which"]) == 0
    assert str(etcd_binary()) in capsys.readouterr().out
