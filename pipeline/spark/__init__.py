"""The pipeline on Spark: the one place that knows it. `session` is the active one, or else starts one; the stages call
the functions of the local engine on groups of rows, so that both engines say the same.

Nothing here is imported by the local engine, and no import here starts a JVM or needs PySpark.
"""

from pipeline.spark.session import session
from pipeline.spark.starting import NoSpark

__all__ = ["NoSpark", "session"]
