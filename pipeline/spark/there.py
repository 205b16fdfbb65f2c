"""Whether a Spark session exists, or could be created; checked before one is chosen, without creating one."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from ...controller.model import extras
from .embedded import java
from .starting import NoSpark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_active() -> bool:
    """Whether this process has a session, or spark-submit has started it to create one."""
    return is_submitted() or active() is not None


def is_submitted() -> bool:
    """Whether spark-submit has started this process: PySpark finds its JVM by this variable."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


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
    """Why no session can be created here; None if one can."""
    try:
        import pyspark  # noqa: F401, PLC0415 - looked for where it may be needed
    except ImportError as error:
        return extras.missing("spark", error)
    try:
        java()
    except NoSpark as error:
        return str(error)
    return None
