"""A session of Spark: embedded by default, with nothing left behind when it is closed.

* Embedded (`local[*]`): the JVM is bound to the loopback interface, opens no page, keeps its files in a folder of its
  own, and ends with the session. What it has to say goes into that folder; it is shown if it does not start.
* `master` names a cluster, whose workers come to our JVM: it is bound to the address that leads to the master.
  `remote` names a server of Spark Connect (sc://host:port), which needs no Java here.
* Python workers run the interpreter that runs this.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.spark.starting import LOOPBACK, NoSpark, need_answer, need_listener, reason_of
from stores.servers.debian import have
from stores.servers.java import JAVA_PACKAGE, find_java
from stores.servers.process import NoServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
JAVA_MIN: Final = 17
_STOP_S: Final = 20.0
_PREFIX: Final = "kedge-spark-"
REMOTE_TIMEOUT_S: Final = 20.0

_QUIET: Final = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""


def java(*, install: bool = False) -> str:
    """The Java for an embedded session. `install`: where there is none and root may, it is installed. Raises
    NoSpark."""

    def find() -> str:
        return find_java(JAVA_MIN, "Spark", off_path=True)

    try:
        if install:
            have(find, JAVA_PACKAGE)
        return find()
    except NoServer as error:
        raise NoSpark(str(error)) from error


@contextmanager
def session(
    master: str | None = None,
    remote: str | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    remote_timeout_s: float = REMOTE_TIMEOUT_S,
) -> Iterator[SparkSession]:
    """A session; it is stopped afterwards, and its JVM and its folder are gone. `settings`: of Spark, above ours.
    `remote_timeout_s`: how long the server at `remote` may take to answer for the first time.

    One embedded session at a time per process. Raises NoSpark; ValueError if both `master` and `remote` are given.
    """
    if master is not None and remote is not None:
        raise ValueError("either a master or a remote, not both")
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - whoever imports this module need not have Spark
    except ImportError as error:
        raise NoSpark("Spark needs the extra kedge[pipeline]") from error
    if remote is not None:
        need_answer(remote, remote_timeout_s)
        yield from _reached(SparkSession.builder.remote(remote), settings or {})
        return
    address = need_listener(master or LOCAL)
    _sweep(Path(tempfile.gettempdir()))
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        with _variables(**({} if address is None else {"SPARK_LOCAL_IP": address})):
            yield from _embedded(SparkSession.builder, master or LOCAL, folder, settings or {})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """What sessions left whose process was killed."""
    for left in folder.glob(f"{_PREFIX}*-*"):
        number = left.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdigit() and not Path(f"/proc/{number}").exists() and Path("/proc/self").exists():
            shutil.rmtree(left, ignore_errors=True)


def _reached(builder: SparkSession.Builder, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        spark = builder.getOrCreate()
    except Exception as error:
        raise NoSpark(" ".join(str(error).split())[:500]) from error
    try:
        yield spark
    finally:
        spark.stop()


def _embedded(
    builder: SparkSession.Builder, master: str, folder: Path, settings: Mapping[str, str]
) -> Iterator[SparkSession]:
    for name, value in {**_settings(master, folder), **settings}.items():
        builder = builder.config(name, value)
    home = Path(java()).resolve().parents[1]
    with _variables(JAVA_HOME=str(home), PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable):
        said = folder / "said.txt"
        try:
            with _stderr_to(said):
                spark = builder.master(master).getOrCreate()
        except Exception as error:  # noqa: BLE001 - whatever PySpark, py4j or the JVM comes to
            why = reason_of(_lines(said), error)  # asked of the JVM, which is gone then
            _end_jvm()
            raise NoSpark(f"Spark does not start with master {master}: {why}") from None
        try:
            yield spark
        finally:
            spark.stop()
            _end_jvm()


def _settings(master: str, folder: Path) -> dict[str, str]:
    quiet = folder / "log4j2.properties"
    quiet.write_text(_QUIET, encoding="utf-8")
    cores = len(os.sched_getaffinity(0))
    ours = {
        "spark.app.name": "kedge",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.adaptive.enabled": "true",
        # A table is one file of some megabytes, parted over the cores: by Spark's own values one core has it all.
        "spark.sql.files.minPartitionNum": str(2 * cores),
        "spark.sql.files.openCostInBytes": str(2**18),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -Dlog4j2.configurationFile={quiet}",
    }
    if master.startswith("local"):
        ours |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return ours


@contextmanager
def _variables(**given: str) -> Iterator[None]:
    """Environment variables while the session lives: workers are started late."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """What processes that are started meanwhile write to their stderr goes to a file: a JVM warns of its modules before
    any setting of ours is read."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="backslashreplace").splitlines()
    except OSError:
        return []


def _end_jvm() -> None:
    """The JVM outlives the session until Python ends, and its files with it; it is ended here, and another may
    start."""
    from pyspark import SparkContext  # noqa: PLC0415 - as above

    context: Any = SparkContext
    gateway, context._gateway, context._jvm = context._gateway, None, None  # noqa: SLF001 - no public way
    if gateway is None:
        return
    process = getattr(gateway, "proc", None)
    with suppress(Exception):
        gateway.shutdown()
    if process is not None:
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_STOP_S)
        except Exception:  # noqa: BLE001 - subprocess.TimeoutExpired, whose process is of our own
            process.kill()
            process.wait(_STOP_S)
