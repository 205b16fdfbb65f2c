"""The Spark session of the pipeline: the active one, or one that is created and stopped again.

* A session that is active in this process, classic or of Spark Connect, is used as it is: its settings are not changed,
  and it is not stopped.
* Under `spark-submit` the session has the options of spark-submit, without defaults of ours.
* `remote`, or SPARK_REMOTE, is a server of Spark Connect (sc://host:port), which needs no Java here.
* Otherwise a JVM is started for this process (`kedge.pipeline.spark.embedded`).
* No result depends on `spark.sql.session.timeZone`: stages handle times as instants, never as dates or text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final

from ...controller.model.extras import missing
from .embedded import embedded
from .starting import NoSpark, need_answer, need_listener, opened, reason_of
from .there import active, is_submitted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REMOTE_TIMEOUT_S: Final = 20.0


@contextmanager
def session(
    master: str | None = None,
    remote: str | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    remote_timeout_s: float = REMOTE_TIMEOUT_S,
) -> Iterator[SparkSession]:
    """The active session, or one that is stopped afterwards. `settings`: of Spark, overriding all others.
    `remote_timeout_s`: how long the server of Spark Connect may take for its first answer, in seconds.

    Raises NoSpark, also if `master`, `remote` or `settings` conflict with the active session.
    """
    given = dict(settings or {})
    master, remote = master or given.get("spark.master"), remote or given.pop("spark.remote", None)
    if master is not None and remote is not None:
        raise NoSpark("expected a master or a remote, got both")
    try:
        import pyspark  # noqa: F401, PLC0415 - this module can be imported without Spark
    except ImportError as error:
        raise NoSpark(missing("spark", error)) from error
    with _chosen(master, remote, given, remote_timeout_s) as chosen:
        yield chosen


def _chosen(
    master: str | None, remote: str | None, settings: dict[str, str], remote_timeout_s: float
) -> AbstractContextManager[SparkSession]:
    address = None if master is None else need_listener(master)
    if remote is not None:
        _need_answer(remote, remote_timeout_s)
    running = active()
    if running is not None:
        _need_nothing("the active session of this process", master, remote, settings)
        return nullcontext(running)
    if is_submitted():
        jars = {name: value for name, value in settings.items() if name.startswith("spark.jars")}
        _need_nothing("the session of spark-submit", master, remote, jars)
        return _submitted(settings)
    if remote is None and master is None and (remote := os.environ.get("SPARK_REMOTE")) is not None:
        _need_answer(remote, remote_timeout_s)
    return embedded(master, address, settings) if remote is None else _reached(remote, settings)


def _need_nothing(whose: str, master: str | None, remote: str | None, settings: Mapping[str, str]) -> None:
    """Raises NoSpark if something is requested that the existing session cannot have."""
    asked = {"spark.master": master, "spark.remote": remote, **settings}
    named = [f"{name}={value}" for name, value in asked.items() if value is not None]
    if named:
        raise NoSpark(f"{whose} cannot take {', '.join(named)}"[:500])


def _need_answer(remote: str, timeout_s: float) -> None:
    if remote.startswith("local"):  # PySpark starts its own server
        return
    try:
        need_answer(remote, timeout_s)
    except ImportError as error:
        raise NoSpark(missing("spark", error)) from error


@contextmanager
def _submitted(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    with _stopped(SparkSession.builder.config(map=dict(settings))) as made:
        yield made


@contextmanager
def _reached(remote: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Settings are set on the new session, since only then does the server refuse one."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    with _stopped(SparkSession.builder.remote(remote)) as made:
        for name, value in settings.items():
            try:
                made.conf.set(name, value)
            except Exception as error:
                raise NoSpark(f"the server of Spark Connect: {name}: {reason_of((), error)}") from error
        yield made


@contextmanager
def _stopped(builder: SparkSession.Builder) -> Iterator[SparkSession]:
    try:
        made = opened(builder)
    except Exception as error:
        raise NoSpark(reason_of((), error)) from error
    try:
        yield made
    finally:
        made.stop()
