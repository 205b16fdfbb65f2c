"""A ZooKeeper server on this machine, run from jars with the installed Java.

    with LocalZooKeeper() as server:
        store = open_store(server.url("/kedge"))

One node. An ensemble is several of these with `server.N=` lines in `settings`, and a `myid` file each (see
ensembles.py).
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from servers.jars import ZOOKEEPER_VERSION, zookeeper_classpath
from servers.java import find_java
from servers.process import ServerProcess, free_port
from servers.server import LOOPBACK, LocalServer, Place

_JAVA_MIN: Final = 11
_ANSWER_S: Final = 1.0
MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
OPTIONS: Final = ("-Dzookeeper.4lw.commands.whitelist=*", "-Dorg.slf4j.simpleLogger.showDateTime=true")


def java() -> str:
    """The Java for servers: that of JAVA_HOME, else the first one found. Raises NoServer."""
    return find_java(_JAVA_MIN, "a local ZooKeeper")


class LocalZooKeeper(LocalServer):
    """One ZooKeeper server. `folder`: for its data and log (None: a temporary one, which `close` removes).

    `tick_ms`: its unit of time; it grants sessions of 2 to 20 ticks unless `settings` (lines of its configuration file)
    change that. `properties` are Java system properties. Without a `port`, a free one of the loopback interface.
    """

    scheme = "zookeeper"
    version = ZOOKEEPER_VERSION

    def __init__(
        self,
        folder: Path | None = None,
        *,
        tick_ms: int = 200,
        settings: Mapping[str, str] | None = None,
        properties: Sequence[str] = (),
        heap_mb: int = 256,
        port: int | None = None,
        place: Place = LOOPBACK,
    ) -> None:
        command = [*place.enter, java(), f"-Xmx{heap_mb}m", *OPTIONS, *(f"-D{setting}" for setting in properties)]
        command += ["-cp", zookeeper_classpath(), MAIN]
        super().__init__("zookeeper", folder, place)
        self.port: Final = free_port() if port is None else port
        self.address = f"{place.host}:{self.port}"
        configuration = self.folder / "zoo.cfg"
        data = str(self.folder / "data")
        configuration.write_text(configured(tick_ms, self.port, place.host, data, settings or {}), encoding="utf-8")
        self._process = ServerProcess(
            "ZooKeeper", [*command, str(configuration)], self._answers, self.folder / "server.log"
        )

    def leads(self) -> bool:
        """Whether it answers and is the leader of its ensemble, or a single server."""
        return mode(self.address) in {"leader", "standalone"}

    def _answers(self) -> bool:
        return mode(self.address) != ""


def configured(tick_ms: int, port: int, host: str, data: str, settings: Mapping[str, str]) -> str:
    """The text of a configuration file."""
    lines = {
        "tickTime": str(tick_ms),
        "dataDir": data,
        "clientPort": str(port),
        "clientPortAddress": host,
        "maxClientCnxns": "0",
        "maxSessionTimeout": "60000",
        "admin.enableServer": "false",
        "preAllocSize": "1024",
        **settings,
    }
    return "".join(f"{name}={value}\n" for name, value in lines.items())


def mode(address: str) -> str:
    """The mode that the server reports ("standalone", "leader", "follower"); empty if it does not serve."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_ANSWER_S) as connection:
            connection.settimeout(_ANSWER_S)
            connection.sendall(b"srvr")
            said = connection.makefile("rb").read().decode(errors="replace")
    except OSError:
        return ""
    return said.partition("Mode: ")[2].partition("\n")[0].strip()
