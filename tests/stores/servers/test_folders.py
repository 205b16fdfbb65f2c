"""What processes leave behind: nothing, or what the next one sweeps away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from servers.folders import RunFolder, sweep
from servers.process import birth, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="who lives is read from /proc")

WAIT_S = 30.0
PROGRAM = """
import sys
from servers.folders import RunFolder
from servers.process import ServerProcess

folder = RunFolder("test")
folder.undo_by(["touch", sys.argv[1]], ["false"], ["touch", sys.argv[1] + "-too"])
node = folder.path / "node-1"
node.mkdir()
process = ServerProcess("sleeper", ["sleep", "600"], lambda: True, node / "log")
process.start()
print(folder.path, process.pid, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which those of servers are made, by this process and by its children."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def begun(undone: Path) -> tuple[subprocess.Popen[str], Path, int]:
    """A process with a folder and a server in it: the process, the folder, the number of the server."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(undone)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    path, pid = process.stdout.readline().split()
    return process, Path(path), int(pid)


def ended(process: subprocess.Popen[str], how: signal.Signals | None) -> None:
    if how is not None:
        process.send_signal(how)
    process.communicate("go\n" if how is None else None, timeout=WAIT_S)


def test_a_process_that_ends_leaves_neither_server_nor_folder(temporary: Path, tmp_path: Path) -> None:
    process, path, pid = begun(tmp_path / "undone")
    assert path.is_relative_to(temporary)
    ended(process, None)
    assert birth(pid) == 0
    assert not path.exists()
    assert (tmp_path / "undone-too").exists()


@pytest.mark.slow
def test_what_a_killed_process_left_is_swept_away_by_the_next_one(temporary: Path, tmp_path: Path) -> None:
    """Its server, what it wrote down to be undone, its folder; one that lives keeps all of that."""
    process, path, pid = begun(tmp_path / "undone")
    lives, kept, other = begun(tmp_path / "kept")
    ended(process, signal.SIGKILL)
    assert birth(pid) != 0
    assert path.exists()
    assert sweep(temporary) == [path]
    wait_until("the server is gone", lambda: birth(pid) == 0, WAIT_S)
    assert not path.exists()
    assert (tmp_path / "undone-too").exists()
    assert kept.exists()
    assert birth(other) != 0
    assert not (tmp_path / "kept-too").exists()
    ended(lives, None)


@pytest.mark.parametrize(
    "name",
    ["kedge-etcd-x", "kedge-etcd-1-2-3-abc", "other-test-{space}-1-1-abc", "kedge-test-{space}-{pid}-{birth}-abc"],
    ids=["another pattern", "another container", "another program", "mine"],
)
def test_what_is_not_of_a_dead_process_of_ours_is_let_alone(temporary: Path, name: str) -> None:
    space = Path("/proc/self/ns/pid").stat().st_ino
    made = temporary / name.format(space=space, pid=os.getpid(), birth=birth(os.getpid()))
    made.mkdir()
    assert sweep(temporary) == []
    assert made.exists()


def test_a_link_to_a_folder_is_not_followed(temporary: Path, tmp_path: Path) -> None:
    """A user who may write into the folder of temporary files cannot have another one removed."""
    space = Path("/proc/self/ns/pid").stat().st_ino
    mine = tmp_path / "mine"
    mine.mkdir()
    (temporary / f"kedge-test-{space}-4194305-1-abc").symlink_to(mine)
    assert sweep(temporary) == []
    assert mine.exists()


def test_a_folder_is_closed_twice_and_tags_differ(temporary: Path) -> None:
    one, two = RunFolder("test"), RunFolder("test")
    assert one.tag != two.tag
    for folder in (one, two, one):
        folder.close()
    assert not list(temporary.iterdir())
