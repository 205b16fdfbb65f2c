"""The Spark session of the pipeline: the active one, or one that PySpark creates and that is stopped again.

* A session that is active in this process, classic or of Spark Connect, is used as it is: its settings are not changed,
  and it is not stopped.
* Otherwise PySpark decides where the session runs: under `spark-submit` by its options, with SPARK_REMOTE on a server
  of Spark Connect, else in a JVM of this process, by `spark-defaults.conf` and PYSPARK_SUBMIT_ARGS.
* Such a JVM gets a few defaults of Kedge as environment variables: Java system properties, which everything that the
  user sets overrides (docs/decisions/0094).
* No result depends on `spark.sql.session.timeZone`: stages handle times as instants, never as dates or text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ...controller.model import extras
from .failing import reason
from .java import NoJava, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_MIN: Final = 17


class NoSpark(RuntimeError):
    """A Spark session cannot be created. The message names what is missing."""


@contextmanager
def session() -> Iterator[SparkSession]:
    """The active session, or a new one that is stopped afterwards. Raises NoSpark."""
    if (running := active()) is not None:
        yield running
        return
    if (why := missing()) is not None:
        raise NoSpark(why)
    from pyspark.sql import SparkSession  # noqa: PLC0415 - this module can be imported without Spark

    try:
        with _defaults():
            made = SparkSession.builder.getOrCreate()
    except Exception as error:
        raise NoSpark(f"Spark did not start: {reason(error)}") from error
    try:
        yield made
    finally:
        made.stop()


def active() -> SparkSession | None:
    """The active session of this thread, or else the default one of this process, which another thread has created."""
    if sys.modules.get("pyspark") is None:
        return None
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - it is already loaded
    from pyspark.sql import SparkSession  # noqa: PLC0415

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def missing() -> str | None:
    """Why no session can be created here; None if one can, as far as that is known without creating it."""
    try:
        import pyspark  # noqa: F401, PLC0415 - looked for where it may be needed
    except ImportError as error:
        return extras.missing("spark", error)
    if "SPARK_REMOTE" in os.environ or "PYSPARK_GATEWAY_PORT" in os.environ:  # by spark-submit, which has a JVM
        return None
    try:
        find_java(JAVA_MIN, "Spark")
    except NoJava as error:
        return str(error)
    return None


@contextmanager
def _defaults() -> Iterator[None]:
    """In the block, a JVM that PySpark starts prints nothing but errors, has no UI, splits work by the cores of this
    machine, and runs Python workers with this interpreter, unless the user has said otherwise."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    settings = {
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
    }
    options = " ".join(f"-D{name}={value}" for name, value in settings.items())
    defaults = {"SPARK_SUBMIT_OPTS": options, "PYSPARK_PYTHON": sys.executable}
    ours = {name: value for name, value in defaults.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]
