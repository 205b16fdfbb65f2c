"""Whether a session of Spark is there already, or could be made: asked before one is chosen, without making one."""

from __future__ import annotations

import sys

from pipeline.spark.session import java
from pipeline.spark.starting import NoSpark


def is_active() -> bool:
    """Whether this process has a session already, as under spark-submit or in a notebook."""
    if "pyspark.sql" not in sys.modules:
        return False
    from pyspark.sql import SparkSession  # noqa: PLC0415 - it is loaded already

    return SparkSession.getActiveSession() is not None


def missing() -> str | None:
    """Why none can be made here; None where one can."""
    try:
        import pyspark  # noqa: F401, PLC0415 - looked for where it may be needed
    except ImportError:
        return "PySpark is not installed"
    try:
        java()
    except NoSpark as error:
        return str(error)
    return None
