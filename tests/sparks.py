"""One session of Spark for the tests of all folders, started by the first that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.sql.session.timeZone": "Asia/Kathmandu",  # of which no result may depend
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "1g",
    # A test's rows are few: compiling for them costs more than it gives.
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.streaming.stopTimeout": "30000",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Embedded, on two cores, one shuffle partition."""
    from pipeline.spark import session  # noqa: PLC0415 - tests without Spark need not import it

    with session("local[2]", settings=SETTINGS) as opened:
        yield opened
