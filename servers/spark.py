"""`python -m servers.spark [--install]` prints whether an embedded Spark can be started here.

With `--install` and as root it first installs a missing Java.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version

from kedge.pipeline.spark.session import JAVA_MIN, missing
from servers.debian import have
from servers.java import JAVA_PACKAGE, find_java
from servers.process import NoServer


def main(arguments: Sequence[str]) -> int:
    """Print the report. Returns 1, with the reason on stderr, if there is no Spark."""
    try:
        if "--install" in arguments:
            have(lambda: find_java(JAVA_MIN, "Spark"), JAVA_PACKAGE)
        why = missing()
    except NoServer as error:
        why = str(error)
    if why is not None:
        sys.stderr.write(f"{why}\n(--no-servers leaves out the tests that need it)\n")
        return 1
    sys.stdout.write(f"Spark {version('pyspark')} on {find_java(JAVA_MIN, 'Spark')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
