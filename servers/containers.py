"""ZooKeeper and etcd in containers, through testcontainers.

    with EtcdContainer() as container:
        store = open_store(container.url("/kedge"))

testcontainers finds the engine (DOCKER_HOST, or the usual socket), which pulls an image that it does not have, and it
removes the containers of a process that was killed. `python -m servers.containers` starts each once and prints the
seconds, or one line with what is missing.
"""

from __future__ import annotations

import sys
import time
from typing import ClassVar, Final

from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import LogMessageWaitStrategy

from servers.server import store_url

ETCD_IMAGE: Final = "quay.io/coreos/etcd:v3.5.21"
ZOOKEEPER_IMAGE: Final = "docker.io/library/zookeeper:3.9.4"


class StoreContainer(DockerContainer):  # type: ignore[misc]  # mypy skips testcontainers, see pyproject.toml
    """One server in a container, on a port of the engine's choice."""

    scheme: ClassVar[str]

    def __init__(self, image: str, port: int, ready: str, command: str | None = None) -> None:
        super().__init__(image, command=command, ports=[port])
        self.waiting_for(LogMessageWaitStrategy(ready))
        self._port: Final = port

    def url(self, root: str = "", **options: object) -> str:
        address = f"{self.get_container_host_ip()}:{self.get_exposed_port(self._port)}"
        return store_url(self.scheme, [address], root, options)


class EtcdContainer(StoreContainer):
    scheme = "etcd"

    def __init__(self, image: str = ETCD_IMAGE) -> None:
        urls = "--listen-client-urls=http://0.0.0.0:2379 --advertise-client-urls=http://0.0.0.0:2379"
        super().__init__(image, 2379, "ready to serve client requests", f"etcd {urls}")


class ZooKeeperContainer(StoreContainer):
    scheme = "zookeeper"

    def __init__(self, image: str = ZOOKEEPER_IMAGE) -> None:
        super().__init__(image, 2181, "binding to port")


def main() -> int:
    """Start each once. Returns 1, with the reason on stderr, if one cannot be started."""
    began_s = time.monotonic()
    try:
        for kind in (EtcdContainer, ZooKeeperContainer):
            with kind():
                pass
    except Exception as error:  # noqa: BLE001 - docker, requests and testcontainers have their own
        sys.stderr.write(f"no containers: {' '.join(str(error).split())[:500]}\n")
        return 1
    sys.stdout.write(f"etcd and ZooKeeper in containers: ready in {time.monotonic() - began_s:.1f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
