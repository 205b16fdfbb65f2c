"""The pipeline on Spark: the one place that knows it. `session` starts or reaches one; the stages call the functions of
the local engine on groups of rows, so that both engines say the same.

Nothing here is imported by the local engine, and no import here starts a JVM.
"""

from pipeline.spark.session import session
from pipeline.spark.starting import NoSpark

__all__ = ["NoSpark", "session"]
