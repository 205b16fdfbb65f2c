"""`python -m servers zookeeper`, or `etcd`: starts a server for a first try, prints its url, and runs until Ctrl-C.

Without a name it downloads what ZooKeeper needs, unless it is on this machine, and starts it once. With `--install` and
as root it first installs a missing Java.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from servers.debian import have
from servers.etcd import LocalEtcd, is_sound
from servers.java import JAVA_PACKAGE
from servers.process import NoServer
from servers.server import LocalServer
from servers.zookeeper import LocalZooKeeper, java

_INSTALL: Final = "--install"
_KINDS: Final[Mapping[str, Callable[[], LocalServer]]] = {"zookeeper": LocalZooKeeper, "etcd": LocalEtcd}
_USAGE: Final = "usage: python -m servers zookeeper|etcd\n"


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 1, with one line that names what is missing; 2 for wrong use."""
    given = tuple(arguments)
    if given not in {(), (_INSTALL,), *((kind,) for kind in _KINDS)}:
        sys.stderr.write(_USAGE)
        return 2
    try:
        if given and given[0] in _KINDS:
            _run(_KINDS[given[0]]())
        else:
            _try(install=bool(given))
    except NoServer as error:
        sys.stderr.write(f"{error}\n(--no-servers leaves out the tests that need it)\n")
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def _run(server: LocalServer) -> None:
    with server:
        sys.stderr.write(f"{server.scheme} {server.version}, data in {server.folder} until Ctrl-C\n")
        if server.scheme == LocalEtcd.scheme and not is_sound(server.version):
            sys.stderr.write("this version may lose writes when it is killed; Debian's package etcd-server is sound\n")
        sys.stdout.write(f"{server.url('/kedge')}\n")
        sys.stdout.flush()
        threading.Event().wait()


def _try(*, install: bool) -> None:
    began_s = time.monotonic()
    if install:
        have(java, JAVA_PACKAGE)
    with LocalZooKeeper() as server:
        line = f"ZooKeeper {server.version}: ready in {time.monotonic() - began_s:.1f} s"
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
