"""`python -m servers`: what local servers need is on this machine afterwards, downloaded where it was not.

With `--install`, a Java is installed first where there is none and root may. With a verb, see command.py.
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
    """Prepare and start each server once. Exit code 1, and one line that says what is missing, if one cannot be had."""
    if arguments not in ([], [_INSTALL]):
        return command(arguments)
    began_s = time.monotonic()
    try:
        if arguments:
            have(java, JAVA_PACKAGE)
        with LocalZooKeeper() as server:
            line = f"ZooKeeper {server.version}: ready in {time.monotonic() - began_s:.1f} s"
    except NoServer as error:
        sys.stderr.write(f"{error}\n(the tests that need it are left out by --no-servers)\n")
        return 1
    sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
