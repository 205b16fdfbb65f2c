"""`python -m kedge.pipeline.spark` prints in one line whether an embedded Spark can be started here."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

from .embedded import java
from .starting import NoSpark


def main() -> int:
    """Exit code 1, with the reason on stderr, if it cannot."""
    try:
        command = java()
        found = version("pyspark")
    except (NoSpark, PackageNotFoundError) as error:
        sys.stderr.write(f"{error}\n(--no-servers leaves out the tests that need it)\n")
        return 1
    sys.stdout.write(f"Spark {found} on {command}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
