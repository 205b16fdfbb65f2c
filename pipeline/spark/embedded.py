"""An embedded Spark: a JVM of this process, whose defaults the user can override.

* The defaults are Java system properties (SPARK_SUBMIT_OPTS): by Spark's own rules `spark-defaults.conf`,
  PYSPARK_SUBMIT_ARGS and settings in code override them.
* No master is set unless one is given: Spark uses MASTER or that of its files, or else `local[*]`. With a local one the
  JVM is bound to the loopback interface, and Python workers run the interpreter of this process.
* PySpark starts one JVM per process and ends it with the process; a later session uses the same one, with its first
  options. The files of Spark are in a folder that is removed when a session is stopped.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .java import NoJava, find_java
from .starting import LOOPBACK, NoSpark, is_local, opened, reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA_MIN: Final = 17
_PREFIX: Final = "kedge-spark-"
QUIET: Final = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""


@contextmanager
def embedded(master: str | None, address: str | None, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session for the block; afterwards it is stopped and its files are removed. `address`: the address of this
    process for workers of `master`; None: Spark finds one. `settings` override everything else. Raises NoSpark."""
    if master is None and not _is_said("spark.master", "--master", "MASTER"):
        address = LOOPBACK
    _sweep(Path(tempfile.gettempdir()))
    folder = _folder()
    folder.mkdir(exist_ok=True)
    try:
        spark = _started(master, address, settings, folder)
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def java() -> str:
    """The Java for an embedded session. Raises NoSpark."""
    try:
        return find_java(JAVA_MIN, "Spark", off_path=True)
    except NoJava as error:
        raise NoSpark(str(error)) from error


def _started(master: str | None, address: str | None, settings: Mapping[str, str], folder: Path) -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415 - this module can be imported without Spark

    builder = SparkSession.builder if master is None else SparkSession.builder.master(master)
    if not _is_said("spark.app.name", "--name"):
        builder = builder.appName("kedge")  # Spark's default is the name of its shell
    for name, value in settings.items():
        builder = builder.config(name, value)
    is_here = is_local(master) or (master is None and address is not None)
    ours, theirs = shlex.join(_options(folder, is_here=is_here)), os.environ.get("SPARK_SUBMIT_OPTS", "")
    variables = {
        "JAVA_HOME": str(Path(java()).resolve().parents[1]),
        "SPARK_SUBMIT_OPTS": f"{ours} {theirs}".rstrip(),  # the last of two options counts
    }
    if address is not None:
        variables["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", address)
    if is_here:
        variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    said = folder / "said.txt"
    try:
        with _variables(variables), _stderr_to(None if _logs() else said):
            return opened(builder)
    except Exception as error:
        named = "" if master is None else f" with master {master}"
        raise NoSpark(f"Spark did not start{named}: {reason_of(_lines(said), error)}") from error


def _options(folder: Path, *, is_here: bool) -> list[str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "java.io.tmpdir": str(folder),
    }
    if is_here and "SPARK_LOCAL_IP" not in os.environ:
        settings["spark.driver.host"] = LOOPBACK  # the address that it is bound to
    if not _logs():
        quiet = folder / "log4j2.properties"
        quiet.write_text(QUIET, encoding="utf-8")
        settings["log4j2.configurationFile"] = str(quiet)
    return [f"-D{name}={value}" for name, value in settings.items()]


def _conf_dir() -> Path:
    import pyspark  # noqa: PLC0415 - as above

    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    return Path(os.environ.get("SPARK_CONF_DIR") or Path(home, "conf"))


def _logs() -> bool:
    """Whether the user has configured Spark's logging."""
    return any(path.suffix != ".template" for path in _conf_dir().glob("log4j2*.*"))


def _is_said(*names: str) -> bool:
    """Whether the user may have set one of these: an environment variable, a setting of `spark-defaults.conf`, an
    option of PYSPARK_SUBMIT_ARGS, which may also name a file that is not read here."""
    given = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    lines = [line.strip() for line in _lines(_conf_dir() / "spark-defaults.conf")]
    text = " ".join([given, *(line for line in lines if not line.startswith("#"))])
    return "--properties-file" in given or any(name in os.environ or name in text for name in names)


@cache
def _folder() -> Path:
    """One per process, because a JVM keeps the folders that it was started with."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def _sweep(folder: Path) -> None:
    """Remove what sessions of killed processes left."""
    for left in folder.glob(f"{_PREFIX}*-*"):
        number = left.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdigit() and not Path(f"/proc/{number}").exists() and Path("/proc/self").exists():
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _variables(given: Mapping[str, str]) -> Iterator[None]:
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
def _stderr_to(path: Path | None) -> Iterator[None]:
    """Sends the stderr of processes started in the block to a file: a JVM warns of its modules before it reads any
    setting."""
    if path is None:
        yield
        return
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
