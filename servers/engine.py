"""The engine that runs containers: a Docker engine that answers here, otherwise a podman service of our own.

Rules
* An existing engine (DOCKER_HOST, or the default socket) is used as it is.
* Otherwise podman with runc runs as a service, with its socket, images and containers in a folder of ours; it ends with
  this process and leaves nothing behind. It uses runc since crun fails on machines with both versions of control
  groups. Its containers use the network of this machine, since a podman network would leave a bridge and packet filter
  rules behind.
* Images are built locally (see images.py), once for each engine, under names of ours.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import socket
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from servers.debian import install
from servers.folders import RunFolder
from servers.process import NoServer, ServerProcess

_SOCKET: Final = Path("/var/run/docker.sock")
_PACKAGES: Final = ("podman", "runc")
_PING_S: Final = 5
_CALL_S: Final = 120
_DRIVERS: Final = ("overlay", "vfs")  # the second works where overlay cannot be mounted, since it copies
# When a container ends, its monitor starts a podman, which would create the folders again. The brackets keep this
# command from finding itself.
_CLEANUP: Final = "while cat /proc/[0-9]*/cmdline 2>/dev/null | grep -aq '{tag}/[r]oot'; do sleep 0.1; done"
_CLEANUP_S: Final = 10
_CONFIGURATION: Final = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


class Engine:
    """An engine that answers at `url`. `name` identifies it; `own`: whether this process started it."""

    def __init__(self, url: str, *, own: bool = False) -> None:
        self.url: Final = url
        self.own: Final = own
        self.client: Final = _client(url, _PING_S)
        try:
            said = self.client.version()
        except BaseException:
            self.client.close()
            raise
        self.client.api.timeout = _CALL_S
        kind = said.get("Components", [{}])[0].get("Name", "Engine")
        self.name: Final = f"{kind} {said.get('Version', '')} at {url}"
        self._images: Final[dict[str, str]] = {}

    def image(self, kind: str, context: Callable[[Path], None]) -> str:
        """The name of the image, built at the first call from the folder that `context` fills. Raises NoServer."""
        if kind not in self._images:
            folder = RunFolder("image")
            try:
                context(folder.path)
                built, _ = self.client.images.build(path=str(folder.path), tag=f"kedge-{kind}:{folder.tag}", rm=True)
            except self._errors() as error:
                with contextlib.suppress(*self._errors()):
                    deque(getattr(error, "build_log", ()), maxlen=0)  # an unread log would keep a connection open
                raise NoServer(f"{self.name} cannot build an image of {kind}: {error}") from error
            finally:
                folder.close()
            self._images[kind] = built.tags[0]
        return self._images[kind]

    def close(self) -> None:
        """Remove the images that were built."""
        for name in self._images.values():
            try:
                self.client.images.remove(name, force=True)
            except self._errors():  # the engine may have ended
                break
        self._images.clear()
        self.client.close()

    @staticmethod
    def _errors() -> tuple[type[Exception], ...]:
        import docker.errors  # noqa: PLC0415 - see _client

        return (docker.errors.DockerException, OSError)


@functools.cache
def engine() -> Engine:
    """The engine of this process, found or started at the first call. Raises NoServer, which names what is missing."""
    found, why = _given()
    if found is None:
        found = _podman(why)
    atexit.register(found.close)
    return found


def prepare() -> Engine:
    """As `engine`, but installs podman first if there is no engine and this process is root."""
    if _given()[0] is None and not all(map(shutil.which, _PACKAGES)):
        install(*_PACKAGES)
    return engine()


def _given() -> tuple[Engine | None, str]:
    """The existing Docker engine, or None and the reason."""
    named = os.environ.get("DOCKER_HOST")
    if not named and not _SOCKET.exists():
        return None, f"no Docker engine: DOCKER_HOST is not set and {_SOCKET} does not exist"
    url = named or f"unix://{_SOCKET}"
    try:
        _knock(url)
        return Engine(url), ""
    except NoServer:
        raise
    except Exception as error:  # noqa: BLE001 - docker, requests, urllib3 and sockets have their own
        return None, f"no Docker engine answers at {url} ({error})"


def _podman(why: str) -> Engine:
    lacking = [name for name in _PACKAGES if shutil.which(name) is None]
    if lacking:
        raise NoServer(f"{why}, and podman cannot replace it: install {' '.join(lacking)} (Debian's names)")
    if os.geteuid() != 0:
        raise NoServer(f"{why}, and podman cannot replace it: it needs root")
    said = ""
    for driver in _DRIVERS:
        try:
            return _service(driver)
        except NoServer as error:
            said = str(error)
    raise NoServer(f"{why}, and podman cannot replace it: {said}")


def _service(driver: str) -> Engine:
    folder = RunFolder("podman")
    home = folder.path
    run = Path("/run") / f"kedge-{folder.tag}"  # short, since paths in it are limited: 50 characters, a socket 108
    configuration = home / "containers.conf"
    configuration.write_text(_CONFIGURATION, encoding="utf-8")
    variables = {"CONTAINERS_CONF": str(configuration), "TMPDIR": str(home)}
    podman = [str(shutil.which("podman")), f"--root={home / 'root'}", f"--runroot={run}"]
    podman += [f"--tmpdir={home / 'tmp'}", f"--storage-driver={driver}"]
    ending = ["env", *(f"{name}={value}" for name, value in variables.items()), *podman]
    ending += ["rm", "--all", "--force", "--time=0"]
    ended = ["timeout", str(_CLEANUP_S), "sh", "-c", _CLEANUP.format(tag=folder.tag)]
    folder.undo_by(ending, ended, ["umount", "--lazy", str(home / "root" / "overlay")], ["rm", "-rf", str(run)])
    run.mkdir(mode=0o700)
    url = f"unix://{run / 'socket'}"
    command = [*podman, "system", "service", "--time=0", url]
    try:
        ServerProcess("podman", command, lambda: _listens(url), home / "log", variables).start()
    except BaseException:
        folder.close()
        raise
    return Engine(url, own=True)


def _listens(url: str) -> bool:
    try:
        _knock(url)
    except OSError:
        return False
    return True


def _knock(url: str) -> None:
    """Raises OSError if nothing listens at a local socket; a Docker client would leave that socket open."""
    path = url.removeprefix("unix://")
    if path != url:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_PING_S)
            probe.connect(path)


def _client(url: str, timeout_s: int) -> Any:
    try:
        import docker  # noqa: PLC0415 - a package for tests, and slow to import
    except ImportError as error:
        raise NoServer("containers need the package testcontainers: pip install testcontainers") from error
    return docker.DockerClient(base_url=url, timeout=timeout_s)
