"""Sparks for the tests of all folders: an embedded session for each module that asks for it; what spark-submit
needs, with workers that do not see this checkout; a cluster of a master and two workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.request import urlopen

import pytest

from servers import ServerProcess, free_port
from servers.process import free_ports
from tests.kit.wheels import wheel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKOUT: Final = Path(__file__).resolve().parents[1]
# A test's rows are few: compiling for them costs more than it gives.
_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.sql.session.timeZone": "Asia/Kathmandu",  # of which no result may depend
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.defaultJavaOptions": _JAVA,
    "spark.sql.streaming.stopTimeout": "30000",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Embedded, on two cores, one shuffle partition. It ends with the module, since `--engine auto` takes an active
    session and the same worker goes on with other tests; the JVM stays."""
    opened = started({**SETTINGS, "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))})
    yield opened
    opened.stop()


def started(settings: Mapping[str, str]) -> SparkSession:
    """A session on two cores of this machine, as a program of a user's makes it."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - tests without Spark need not import it

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        return SparkSession.builder.master("local[2]").config(map=dict(settings)).getOrCreate()


def submit_arguments(settings: Mapping[str, str]) -> list[str]:
    """As options of spark-submit."""
    return [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]


class Submitter(NamedTuple):
    """An installation of Spark as it is on a cluster: `home` is pyspark's own, with `conf` and `work` in a folder of
    the tests; Python workers have what the project needs, and the project only by `package`."""

    home: Path
    package: Path
    environment: Mapping[str, str]

    def submit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What spark-submit came to with these, the first of which are its own options."""
        settings = {
            **SETTINGS,
            "spark.executor.defaultJavaOptions": _JAVA,
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.local.dir": str(self.home / "local"),
        }
        return subprocess.run(
            [
                str(self.home / "bin" / "spark-submit"),
                *submit_arguments(settings),
                "--py-files",
                str(self.package),
                *arguments,
            ],
            cwd=self.home,
            env={**{name: value for name, value in os.environ.items() if name != "KEDGE_ENGINE"}, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def submitter(tmp_path_factory: pytest.TempPathFactory) -> Submitter:
    """spark-submit, the wheel of this checkout under the name that it takes, and workers without the checkout."""
    import pyspark  # noqa: PLC0415 - as above

    home = tmp_path_factory.mktemp("spark-home")
    installed = Path(pyspark.__file__).parent
    for name in ("bin", "jars", "python", "sbin"):
        (home / name).symlink_to(installed / name)
    (home / "conf").mkdir()
    python = home / "worker-python"  # of the virtual environment the packages, and no link to the checkout
    base = os.path.realpath(sys.executable)
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{installed.parent}" exec {base} "$@"\n')
    python.chmod(0o755)
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(home / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_DRIVER_PYTHON": str(python),
    }
    return Submitter(home, wheel(tmp_path_factory.mktemp("wheel")).rename(home / "kedge.zip"), environment)


@pytest.fixture(scope="session")
def spark_master(submitter: Submitter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone master with two workers of one core each, on the loopback interface, and its address."""
    folder, (port, page) = tmp_path_factory.mktemp("standalone"), free_ports(2)
    master = f"spark://127.0.0.1:{port}"
    run = [str(submitter.home / "bin" / "spark-class")]
    environment = {**submitter.environment, "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": _JAVA}
    place = ["--host", "127.0.0.1", "--webui-port"]

    def workers() -> int:
        try:
            with urlopen(f"http://127.0.0.1:{page}/json/") as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, ValueError):  # the page is there before its JSON is
            return -1

    def server(name: str, ready: int, *arguments: str) -> ServerProcess:
        (folder / name).mkdir()
        command = [*run, f"org.apache.spark.deploy.{arguments[0]}", *place, *arguments[1:]]
        return ServerProcess(name, command, lambda: workers() >= ready, folder / name / "log", environment)

    limits = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"), master]
    servers = [server("master", 0, "master.Master", str(page), "--port", str(port))]
    servers += [server(f"worker {at}", at, "worker.Worker", str(free_port()), *limits) for at in (1, 2)]
    try:
        for one in servers:
            one.start(180)
        yield master
    finally:
        for one in reversed(servers):
            one.stop()
