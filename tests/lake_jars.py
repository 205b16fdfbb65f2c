"""A Spark with Delta and Iceberg: the oldest one that is promised, for which both are on Maven, in the cache folder of
servers. Those of the newest Spark come months after it.

`python -m tests.lake_jars`: where they are, in one line; with `--install`, Debian's Maven and a JDK are installed first
where they are missing and root may. Exit code 1, with what is missing, where they cannot be had.
"""

from __future__ import annotations

import fcntl
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from servers import NoServer, debian
from servers.jars import cache_folder
from servers.java import JAVA_PACKAGE
from servers.process import tool
from tests.kafka_jars import copied, java, maven
from tests.left_out import skip_if_left_out

SPARK: Final = "4.1.4"
_DELTA: Final = "4.4.0"
_ICEBERG: Final = "1.12.0"
_KERNELS: Final = ("delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog", "delta-storage")
_WANTED: Final = (
    ("io.delta", "delta-spark_4.1_2.13", _DELTA),
    *(("io.delta", name, _DELTA) for name in _KERNELS),
    ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", _ICEBERG),
)
_INSTALL_S: Final = 900.0


class Lakes(NamedTuple):
    """`pyspark`: a folder for PYTHONPATH; `jars`: for spark.jars."""

    pyspark: Path
    jars: tuple[Path, ...]


def lakes() -> Lakes:
    """Both, downloaded if they are not there. Raises NoServer."""
    skip_if_left_out("lakes")
    folder = cache_folder() / f"lakes-{SPARK}-{_DELTA}-{_ICEBERG}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            copied(folder, _WANTED, f"the jars of Delta {_DELTA} and Iceberg {_ICEBERG}", transitive=False)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(folder / "pyspark")]
            tool([*pip, f"pyspark=={SPARK}"], f"PySpark {SPARK}", _INSTALL_S)
            (folder / "whole").touch()
    return Lakes(folder / "pyspark", tuple(sorted((folder / "jars").glob("*.jar"))))


def main(arguments: Sequence[str]) -> int:
    """Exit code 1, and the reason on stderr, where they cannot be had."""
    try:
        if "--install" in arguments:
            debian.have(java, JAVA_PACKAGE)
            debian.have(maven, "maven")
        found = lakes()
    except NoServer as error:
        sys.stderr.write(f"{error}\n(scripts/test leaves the tests that need it out)\n")
        return 1
    sys.stdout.write(f"Spark {SPARK}, Delta {_DELTA}, Iceberg {_ICEBERG}: {found.pyspark.parent}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
