"""Servers in containers, through testcontainers, with the same methods as the local ones.

    with ContainerEtcd() as server:
        store = open_store(server.url("/kedge"))

`python -m servers.containers` prints the engine that runs them, or one line that names what is missing. With
`--install` and as root it first installs podman if there is no engine, and builds an image, because an engine may
answer and yet be unable to build one (as podman in a chroot).

Rules
* Images are built here (images.py) by the engine that is found (engine.py). Raises NoServer without an engine.
* A stopped or killed container keeps its data and its address, and can be started again. `close` removes it.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from servers import etcd, zookeeper
from servers.engine import engine, prepare
from servers.images import etcd_context, zookeeper_context
from servers.jars import ZOOKEEPER_VERSION
from servers.process import START_S, NoServer, free_ports, wait_until
from servers.server import Server

_STOP_S: Final = 10
_LOG_LINES: Final = 50
_ANYWHERE: Final = "0.0.0.0"  # noqa: S104 - inside a container, whose engine decides who reaches it


class ContainerServer(Server):
    """One server in a container."""

    def __init__(self, kind: str, context: Callable[[Path], None]) -> None:
        self._engine: Final = engine()
        self._image: Final = self._engine.image(kind, context)
        self._ports: Final = free_ports(2)
        self._container: Final = self._made()
        self._begun: Any = None
        self._closed = False
        self.address = f"{self._host()}:{self._ports[0]}"

    def _made(self) -> Any:
        from testcontainers.core.config import testcontainers_config  # noqa: PLC0415 - a package for tests alone
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415

        if self._engine.own:  # its folder is removed with all containers; Ryuk is not needed
            testcontainers_config.ryuk_disabled = True
        environment = {**os.environ, "DOCKER_HOST": self._engine.url}
        made = DockerContainer(self._image, docker_client_kw={"environment": environment})
        if self._engine.own:
            return made.with_kwargs(network_mode="host")
        return made.with_bind_ports(self._ports[0], self._ports[0])

    @property
    def _listen(self) -> str:
        return "127.0.0.1" if self._engine.own else _ANYWHERE

    def _host(self) -> str:
        if self._engine.own:
            return "127.0.0.1"
        named = str(self._container.get_docker_client().host())
        return "127.0.0.1" if named == "localhost" else named

    @property
    def _inside(self) -> Any:
        if self._begun is not None:
            self._begun.reload()
        return self._begun

    @property
    def pid(self) -> int:
        """The process id in the engine's machine. Raises NoServer if the server does not run."""
        if not self.running:
            raise NoServer(f"{self._image} does not run")
        return int(self._inside.attrs["State"]["Pid"])

    @property
    def running(self) -> bool:
        """Whether its process lives, paused or not."""
        inside = self._inside
        return inside is not None and inside.status in {"running", "paused"}

    def start(self, timeout_s: float = START_S) -> None:
        """Start it with its former data. Returns once it answers. Raises NoServer."""
        if self.running:
            return
        atexit.register(self.close)
        try:
            if self._inside is None:
                self._begun = self._container.start().get_wrapped_container()
            else:
                self._inside.start()
        except Exception as error:  # of docker, requests or testcontainers
            raise NoServer(f"{self._engine.name} cannot run {self._image}: {error}") from error
        wait_until(f"{self._image} answers", self._answers, timeout_s, self.log_tail)

    def _answers(self) -> bool:
        if not self.running:
            raise NoServer(f"{self._image} ended by itself; the end of its log:\n{self.log_tail()}")
        return self._ready()

    def _ready(self) -> bool:
        raise NotImplementedError

    def stop(self) -> None:
        """Stop it in order; its data is kept."""
        self.resume()
        if self.running:
            self._inside.stop(timeout=_STOP_S)

    def kill(self) -> None:
        """Kill it, as a power cut does; its data is kept."""
        self.resume()
        if self.running:
            self._inside.kill()

    def pause(self) -> None:
        """It keeps its connections and answers nothing until `resume`; all its threads are stopped on return."""
        if not self.running:
            raise NoServer(f"{self._image} does not run")
        if self._inside.status != "paused":
            self._inside.pause()

    def resume(self) -> None:
        """It continues. No effect if it is not paused."""
        if self.running and self._inside.status == "paused":
            self._inside.unpause()

    def close(self) -> None:
        """Remove the container with its data. Idempotent."""
        atexit.unregister(self.close)
        self.resume()
        if not self._closed:
            self._container.stop()
        self._closed = True
        self._begun = None

    def log_tail(self) -> str:
        """The end of its output."""
        inside = self._inside
        return "" if inside is None else str(inside.logs(tail=_LOG_LINES).decode(errors="replace"))


class ContainerEtcd(ContainerServer):
    """One etcd with one member. `flags` come last and take precedence."""

    scheme = "etcd"

    def __init__(self, *, flags: Sequence[str] = ()) -> None:
        super().__init__("etcd", etcd_context)
        self.version = etcd.etcd_version(etcd.etcd_binary())
        client, peer = self._ports
        self._container.with_command(
            [
                "--data-dir=/data",
                f"--listen-client-urls=http://{self._listen}:{client}",
                f"--advertise-client-urls=http://{self.address}",
                f"--listen-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                f"--initial-cluster=default=http://127.0.0.1:{peer}",
                "--log-level=warn",
                *flags,
            ]
        )

    def ask(self, method: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        """The answer of etcd's JSON gateway to `method`, as `LocalEtcd.ask`."""
        return etcd.ask(f"http://{self.address}", method, body)

    def _ready(self) -> bool:
        return etcd.healthy(f"http://{self.address}")


class ContainerZooKeeper(ContainerServer):
    """One ZooKeeper server. `settings` are lines of its configuration file."""

    scheme = "zookeeper"
    version = ZOOKEEPER_VERSION

    def __init__(self, *, tick_ms: int = 200, settings: Mapping[str, str] | None = None, heap_mb: int = 256) -> None:
        super().__init__("zookeeper", zookeeper_context)
        self.port: Final = self._ports[0]
        text = zookeeper.configured(tick_ms, self.port, self._listen, "/data", settings or {})
        self._container.with_copy_into_container(text.encode(), "/zoo.cfg")
        options = [f"-Xmx{heap_mb}m", "-XX:-UsePerfData", *zookeeper.OPTIONS, "-cp", "/jars/*"]
        self._container.with_command([*options, zookeeper.MAIN, "/zoo.cfg"])

    def _ready(self) -> bool:
        return zookeeper.mode(self.address) != ""


def main(arguments: Sequence[str]) -> int:
    """Print the engine. Returns 0, or 1 with one line that names what is missing."""
    try:
        found = prepare() if "--install" in arguments else engine()
        if "--install" in arguments:
            found.image("etcd", etcd_context)
    except NoServer as error:
        sys.stderr.write(f"no containers: {error}\n")
        return 1
    sys.stdout.write(f"containers run by {found.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(cast("Sequence[str]", sys.argv[1:])))
