"""A network of our own: a Linux network namespace per node, joined to one bridge by pairs of virtual interfaces.

Rules
* A node is cut off by taking its link down, as if its cable were pulled: nothing answers, nothing is refused. This
  process uses the bridge, too, so that a cut node is cut off from other nodes and from clients.
* Names contain the tag of a folder of this process, so that they are unique; the commands that remove them are written
  into that folder first (see folders.py).
* The subnet is private, and in no interface and no route of this machine. It is chosen under a lock, because the kernel
  would give two bridges the same one.

`python -m servers.network` makes a network and removes it, or prints one line that names what is missing; with
`--install` and as root it first installs a missing iproute2 (Debian's name).
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from servers.debian import have
from servers.folders import RunFolder
from servers.process import NoServer, tool
from servers.server import Place

_SUBNETS: Final = ipaddress.IPv4Network("10.213.0.0/16")
_BITS: Final = 28
_NODES_MAX: Final = 10
_CALL_S: Final = 20.0
_SYSTEM: Final = os.pathsep.join(("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"))
_FILTERED: Final = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


class Network:
    """`places[i]` is where node `i` runs. Raises NoServer if namespaces cannot be made."""

    def __init__(self, nodes: int) -> None:
        assert 0 < nodes <= _NODES_MAX
        self._ip: Final = _tool()
        self._folder: Final = RunFolder("network")
        self._bridge: Final = f"kd-{self._folder.tag}"
        self._names: Final = tuple(f"{self._bridge}-{node}" for node in range(nodes))  # at most 15 characters
        self._folder.undo_by(
            *([self._ip, "netns", "delete", name] for name in self._names),
            *([self._ip, "link", "delete", name] for name in (*self._names, self._bridge)),
        )
        try:
            self.places: Final = self._make()
        except BaseException:
            self.close()
            raise

    def cut(self, node: int) -> None:
        """Nothing reaches the node, and nothing leaves it."""
        self._run("link", "set", self._names[node], "down")

    def mend(self, node: int) -> None:
        self._run("link", "set", self._names[node], "up")

    def close(self) -> None:
        """Remove all namespaces, interfaces and the folder. Idempotent."""
        self._folder.close()

    def _make(self) -> tuple[Place, ...]:
        self._run("link", "add", self._bridge, "type", "bridge")
        self._let_pass()
        with _lock():
            subnet = self._free_subnet()
            own, *hosts = list(subnet.hosts())[: len(self._names) + 1]
            self._run("address", "add", f"{own}/{_BITS}", "dev", self._bridge)
        self._run("link", "set", self._bridge, "up")
        return tuple(self._join(name, str(host)) for name, host in zip(self._names, hosts, strict=True))

    def _join(self, name: str, host: str) -> Place:
        self._run("netns", "add", name)
        self._run("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        self._run("link", "set", name, "master", self._bridge)
        self._run("link", "set", name, "up")
        self._run("-n", name, "address", "add", f"{host}/{_BITS}", "dev", "eth0")
        for device in ("lo", "eth0"):
            self._run("-n", name, "link", "set", device, "up")
        return Place(host, (self._ip, "netns", "exec", name))

    def _let_pass(self) -> None:
        """If the packet filter applies to bridges (Docker enables that), exempt this bridge."""
        iptables = shutil.which("iptables", path=_SYSTEM)
        if iptables is None or not _FILTERED.exists() or _FILTERED.read_text().strip() == "0":
            return
        rule = ["FORWARD", "-i", self._bridge, "-o", self._bridge, "-j", "ACCEPT"]
        self._folder.undo_by([iptables, "-w", "-D", *rule])
        _call([iptables, "-w", "-I", *rule])

    def _free_subnet(self) -> ipaddress.IPv4Network:
        interfaces = json.loads(self._run("-json", "-4", "address") or "[]")
        routes = json.loads(self._run("-json", "-4", "route") or "[]")
        named = [f"{a['local']}/{a['prefixlen']}" for each in interfaces for a in each.get("addr_info", ())]
        named += [route["dst"] for route in routes if route["dst"] != "default"]
        taken = [ipaddress.IPv4Network(name, strict=False) for name in named]
        for subnet in _SUBNETS.subnets(new_prefix=_BITS):
            if not any(subnet.overlaps(each) for each in taken):
                return subnet
        raise NoServer(f"nodes cannot have networks of their own: every subnet of {_SUBNETS} is in use")

    def _run(self, *arguments: str) -> str:
        return _call([self._ip, *arguments])


def _tool() -> str:
    found = shutil.which("ip", path=_SYSTEM)
    if found is None:
        raise NoServer("network=True needs the command ip of Linux: install iproute2 (Debian's name)")
    if os.geteuid() != 0:
        raise NoServer("network=True needs root: only root can make network namespaces and interfaces")
    return found


def _call(command: list[str]) -> str:
    return tool(command, "nodes cannot have networks of their own", _CALL_S)


@contextmanager
def _lock() -> Iterator[None]:
    """One process at a time. The folder is the lock, so that no lock file remains."""
    folder = os.open(tempfile.gettempdir(), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def main(arguments: Sequence[str]) -> int:
    """Make a network and remove it. Returns 1, with the reason on stderr, if nodes cannot have networks of their
    own."""
    try:
        if "--install" in arguments:
            have(_tool, "iproute2")
        with closing(Network(1)) as network:
            sys.stdout.write(f"nodes have networks of their own, by {network.places[0].enter[0]}\n")
    except NoServer as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
