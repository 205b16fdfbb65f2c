"""`python -m pipeline.spark`: whether an embedded Spark can be had here, in one line; with `--install`, a Java is
installed first where there is none and root may."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from pipeline.spark.embedded import java
from pipeline.spark.starting import NoSpark


def main(arguments: Sequence[str]) -> int:
    """Exit code 1, and the reason on stderr, where there is none."""
    try:
        command = java(install="--install" in arguments)
        found = version("pyspark")
    except (NoSpark, PackageNotFoundError) as error:
        sys.stderr.write(f"{error}\n(the tests that need it are left out by --no-servers)\n")
        return 1
    sys.stdout.write(f"Spark {found} on {command}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
