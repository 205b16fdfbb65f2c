"""`python -m servers` downloads what local servers need, unless it is on this machine, and starts each once.

With `--install` and as root it first installs a missing Java. With a verb, see command.py.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from servers import LocalZooKeeper, NoServer
from servers.command import main as command
from servers.debian import have
from servers.java import JAVA_PACKAGE
from servers.zookeeper import java

_INSTALL = "--install"


def main(arguments: Sequence[str]) -> int:
    """Prepare and start each server once. Returns the exit code: 1, with one line that names what is missing, if one
    fails."""
    if arguments not in ([], [_INSTALL]):
        return command(arguments)
    began_s = time.monotonic()
    try:
        if arguments:
            have(java, JAVA_PACKAGE)
        with LocalZooKeeper() as server:
            line = f"ZooKeeper {server.version}: ready in {time.monotonic() - began_s:.1f} s"
    except NoServer as error:
        sys.stderr.write(f"{error}\n(--no-servers leaves out the tests that need it)\n")
        return 1
    sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
