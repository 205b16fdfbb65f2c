"""Servers that keep running when the command that started them ends.

Rules
* Their state is in a folder of its own (KEDGE_SERVERS_STATE, else kedge/servers below the user's state folder): a
  folder for each kind and number of nodes, with the ports in `stand.json` and, for each node, its data, its log and the
  file `process` of process.py. Ports are written first, so that `stop` ends servers of a killed command.
* Stopped servers keep their data and ports, so that their url stays valid; `clean` removes them. Without a number of
  nodes, commands apply to the running servers, else to those started last: never to the data of another number of
  nodes.
* ZooKeeper holds all of its data in its heap, and ends when that is full: HEAP_MB, or KEDGE_SERVERS_HEAP_MB.
* `start` has no effect on running nodes, and starts the others.
* One command at a time: each holds a lock while it works.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from servers.ensembles import EtcdEnsemble, ZooKeeperEnsemble
from servers.etcd import is_sound
from servers.process import PROCESS_FILE, NoServer, end, recorded

KINDS: Final[Mapping[str, type[ZooKeeperEnsemble | EtcdEnsemble]]] = {
    "zookeeper": ZooKeeperEnsemble,
    "etcd": EtcdEnsemble,
}
ROOT: Final = "/kedge"
HEAP_MB: Final = 512  # per ZooKeeper; 128 is too little for 60,000 topics of one partition
_STATE: Final = "stand.json"


@dataclass(frozen=True)
class Stand:
    """Servers of one kind, as they were started. `runs`: the process id of each node, None if it does not run."""

    kind: str
    url: str
    version: str
    folder: Path
    runs: tuple[int | None, ...]

    @property
    def nodes(self) -> int:
        """The number of nodes, running or not."""
        return len(self.runs)

    @property
    def whole(self) -> bool:
        """Whether every node runs."""
        return None not in self.runs

    @property
    def died(self) -> bool:
        """Whether a node ended without `stop`."""
        return any((self.folder / name / PROCESS_FILE).exists() for name, pid in self._named() if pid is None)

    def _named(self) -> list[tuple[str, int | None]]:
        return [(f"node-{number}", pid) for number, pid in enumerate(self.runs, 1)]


@dataclass(frozen=True)
class Stopped:
    """The result of `stop`. `ran`: the servers that ran; `cleaned` and `kept`: numbers of nodes whose data is removed,
    or kept."""

    ran: Stand | None
    cleaned: tuple[int, ...]
    kept: tuple[int, ...]


def state_folder() -> Path:
    """The folder of the state."""
    chosen = os.environ.get("KEDGE_SERVERS_STATE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kedge" / "servers"


def standing(kind: str) -> Stand | None:
    """The servers of the kind of which a node runs or died; None if there are none."""
    known = _known(kind)
    runs = (stand for stand in known if any(stand.runs))  # first: three nodes may run after a single node died
    return next(runs, None) or next((stand for stand in known if stand.died), None)


def start(kind: str, nodes: int | None = None) -> Stand:
    """All nodes run and answer: `nodes` of them, or as many as run or ran last, or one. Raises NoServer; ValueError if
    another number of them runs."""
    with _lock():
        found = standing(kind)
        if found is None and nodes is None:
            found = _last(kind)
        if found is not None and any(found.runs) and nodes not in {None, found.nodes}:
            raise ValueError(f"it is running with --nodes {found.nodes}, not {nodes}: stop it first")
        if found is None or nodes not in {None, found.nodes}:
            folder = state_folder() / f"{kind}-{1 if nodes is None else nodes}"
        else:
            folder = found.folder
        if found is None or not found.whole:
            _run(kind, folder)
        return _read(folder)


def stop(kind: str, *, clean: bool = False, nodes: int | None = None) -> Stopped:
    """No server of the kind runs. `clean`: also remove the data of the servers that ran, or else of those started last;
    with `nodes`, only the data of an ensemble of that size."""
    with _lock():
        found = standing(kind)
        known = _known(kind)
        of = (
            next((stand for stand in known if stand.nodes == nodes), None)
            if nodes is not None
            else found or _last(kind)
        )
        pids = [pid for stand in known for pid in stand.runs if pid is not None]
        with ThreadPoolExecutor(max(len(pids), 1)) as pool:
            list(pool.map(lambda pid: end(pid, signal.SIGTERM), pids))
        for stand in known:
            _forget(stand)
        if clean and of is not None:
            shutil.rmtree(of.folder)
        cleaned = (of.nodes,) if clean and of is not None else ()
        kept = tuple(stand.nodes for stand in known if stand.nodes not in cleaned)
        return Stopped(found if found is not None and any(found.runs) else None, cleaned, kept)


def forget(kind: str) -> None:
    """Do not report died nodes again."""
    with _lock():
        for stand in _known(kind):
            _forget(stand)


def _forget(stand: Stand) -> None:
    for file in stand.folder.glob(f"*/{PROCESS_FILE}"):
        if recorded(file.parent) is None:
            file.unlink()


def _run(kind: str, folder: Path) -> None:
    nodes = int(folder.name.rpartition("-")[2])
    servers = made(kind, nodes, folder)
    _write(folder, servers)
    missing = [node for node in servers.nodes if recorded(node.folder) is None]
    try:
        for node in missing:
            node.launch()
        for node in missing:
            node.await_answer()
    except BaseException:
        servers.close()
        raise
    for node in missing:
        node.leave()


def made(kind: str, nodes: int, folder: Path) -> ZooKeeperEnsemble | EtcdEnsemble:
    """The servers whose data are in the folder, not started."""
    if kind == ZooKeeperEnsemble.scheme:
        return ZooKeeperEnsemble(nodes, heap_mb=_heap_mb(), folder=folder, ports=_ports(folder))
    made_by_unsound = (folder / _STATE).exists() and not is_sound(_said(folder)["version"])
    # An older etcd refuses the data of 3.5, and Debian's may be older.
    return EtcdEnsemble(nodes, folder=folder, ports=_ports(folder), sound=False if made_by_unsound else None)


def _heap_mb() -> int:
    said = os.environ.get("KEDGE_SERVERS_HEAP_MB") or str(HEAP_MB)
    if not (said.isascii() and said.isdigit() and int(said) > 0):
        raise ValueError(f"KEDGE_SERVERS_HEAP_MB: expected a number of megabytes, got {said!r:.40}")
    return int(said)


def _ports(folder: Path) -> list[tuple[int, int, int]] | None:
    if not (folder / _STATE).exists():
        return None
    return [(client, peer, third) for client, peer, third in _said(folder)["ports"]]


def _write(folder: Path, made: ZooKeeperEnsemble | EtcdEnsemble) -> None:
    state = {"kind": made.scheme, "url": made.url(ROOT), "version": made.version, "ports": made.ports}
    part = folder / f"{_STATE}.part"
    part.write_text(json.dumps(state) + "\n", encoding="utf-8")
    part.rename(folder / _STATE)


def _read(folder: Path) -> Stand:
    said = _said(folder)
    runs = tuple(recorded(folder / f"node-{number}") for number in range(1, len(said["ports"]) + 1))
    return Stand(said["kind"], said["url"], said["version"], folder, runs)


def _said(folder: Path) -> dict[str, Any]:
    try:
        said = json.loads((folder / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoServer(f"{folder / _STATE} cannot be read: {error}; remove the folder to start again") from error
    if not isinstance(said, dict) or {"kind", "url", "version", "ports"} - said.keys():
        raise NoServer(f"{folder / _STATE} is incomplete; remove the folder to start again")
    return said


def _known(kind: str) -> list[Stand]:
    return [_read(file.parent) for file in sorted(state_folder().glob(f"{kind}-*/{_STATE}"))]


def _last(kind: str) -> Stand | None:
    """The servers started last."""
    return max(_known(kind), key=lambda stand: (stand.folder / _STATE).stat().st_mtime_ns, default=None)


@contextmanager
def _lock() -> Iterator[None]:
    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise NoServer(f"no room for servers in {folder}: {error}") from error
