"""The pipeline on Spark, the only package that uses it. `session` returns the active session, or a new one; the stages
call the functions of the local engine on groups of rows, so that both engines give the same results.

The local engine imports nothing from here, and importing this package starts no JVM and needs no PySpark.
"""

from .session import NoSpark, session

__all__ = ["NoSpark", "session"]
