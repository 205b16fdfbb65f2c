"""`python -m servers.spark [--install]` prints whether an embedded Spark can be started here.

With `--install` and as root it first installs a missing Java.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kedge.pipeline.spark.__main__ import main as report
from kedge.pipeline.spark.embedded import JAVA_MIN
from servers.debian import have
from servers.java import JAVA_PACKAGE, find_java
from servers.process import NoServer


def main(arguments: Sequence[str]) -> int:
    """Print the report. Returns 1, with the reason on stderr, if there is no Spark."""
    try:
        if "--install" in arguments:
            have(lambda: find_java(JAVA_MIN, "Spark", off_path=True), JAVA_PACKAGE)
    except NoServer as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return report()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
