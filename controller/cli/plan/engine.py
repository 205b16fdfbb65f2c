"""Which engine `--engine auto` is: Spark for what is more than one process should do, where Spark is to be had.

It is said on stderr where it is Spark, or would have been: both say the same, but a JVM takes seconds to start.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.cli.audit.engines import AUTO, Engine, why_spark
from controller.cli.printing import say
from pipeline.errors import BadInput
from pipeline.tables.files import Place
from pipeline.tables.location import Location


def chosen(engine: Engine, tables: Location, of: Sequence[Place]) -> Engine:
    """The engine that was asked for; for `auto` the one to take for these places."""
    if engine.name != AUTO:
        return engine
    why = _why_spark(engine, tables, of)
    if why is None:
        return engine._replace(name="local")
    if why_spark(engine) is None and (missing := _missing()) is not None:
        say(f"engine: local, though {why}: {missing}")
        return engine._replace(name="local")
    say(f"engine: spark, as {why}")
    return engine._replace(name="spark")


def of_catalog(engine: Engine, tables: Location) -> Engine:
    """Spark, which alone reads and writes `tables`. BadInput where another engine was asked for."""
    if engine.is_local:
        what = "a catalog" if tables.is_catalog else tables.format
        raise BadInput(f"{tables}: only Spark reads and writes {what}: --engine spark")
    if engine.name == AUTO:
        say(f"engine: spark, as nothing else reads {tables}")
    return engine._replace(name="spark")


def _why_spark(engine: Engine, tables: Location, of: Sequence[Place]) -> str | None:
    clusters = len({place.cluster for place in of})
    if (why := why_spark(engine)) is not None:
        return why
    if not tables.is_local:
        return f"{tables} is no folder of this machine"
    return f"these are {clusters} clusters" if clusters > 1 else None


def _missing() -> str | None:
    from pipeline.spark.there import missing  # noqa: PLC0415 - looked for where it may be needed

    return missing()
