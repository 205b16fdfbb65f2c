"""The tests on Spark are left out where PySpark is not installed: in the environments of other Pythons, which run the
fast tests only."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["test_spark.py"]
