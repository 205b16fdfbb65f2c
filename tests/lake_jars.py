"""Other versions of Spark, in the cache folder of servers: one with Delta and Iceberg, since those of the newest Spark
come months after it, and the oldest that is promised, which many platforms have.

`python -m tests.lake_jars`: where the first is, in one line; with `--install`, Debian's Maven and a JDK are installed
first where they are missing and root may. Exit code 1, with what is missing, where they cannot be had.
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
OLDEST: Final = "3.5.6"
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
            _install(SPARK, folder / "pyspark")
            (folder / "whole").touch()
    return Lakes(folder / "pyspark", tuple(sorted((folder / "jars").glob("*.jar"))))


def oldest() -> Path:
    """The oldest PySpark, a folder for PYTHONPATH. Raises NoServer."""
    skip_if_left_out("lakes")
    folder = cache_folder() / f"pyspark-{OLDEST}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            _install(OLDEST, folder / "pyspark")
            (folder / "whole").touch()
    return folder / "pyspark"


def _install(version: str, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(folder)]
    tool([*pip, f"pyspark=={version}"], f"PySpark {version}", _INSTALL_S)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1, and the reason on stderr, where they cannot be had."""
    try:
        if "--install" in arguments:
            debian.have(java, JAVA_PACKAGE)
            debian.have(maven, "maven")
        found = lakes()
        oldest()
    except NoServer as error:
        sys.stderr.write(f"{error}\n(scripts/test leaves the tests that need it out)\n")
        return 1
    versions = f"Spark {OLDEST}; Spark {SPARK}, Delta {_DELTA}, Iceberg {_ICEBERG}"
    sys.stdout.write(f"{versions}: {found.pyspark.parent}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
