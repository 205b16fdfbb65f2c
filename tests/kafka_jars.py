"""The jars of a Kafka broker and of Kafka's own tools, from Maven, in the cache folder of servers.

`python -m tests.kafka_jars`: where they are, in one line; with `--install`, Debian's Maven and a JDK are installed
first where they are missing and root may. Exit code 1, with what is missing, where they cannot be had.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from servers import NoServer, debian
from servers.jars import cache_folder
from servers.java import JAVA_PACKAGE, find_java
from servers.process import tool
from tests.left_out import skip_if_left_out

VERSION: Final = "3.9.1"
OLDEST: Final = "2.4.1"
"""Of the first minor version that moves partitions by requests."""
STREAMS: Final = "streams-4.3.1"
CONNECT: Final = "connect-4.3.1"
JAVA_MIN: Final = 17
_MAVEN_S: Final = 600.0
# The binding of slf4j is what Kafka's own release has: without one, warnings of the tools are lost. That of 4.3.1 would
# print them among what the tools print.
_WANTED: Final = {
    "2.4.1": (("org.apache.kafka", "kafka_2.13", "2.4.1"), ("org.slf4j", "slf4j-log4j12", "1.7.28")),
    "3.9.1": (
        ("org.apache.kafka", "kafka_2.13", "3.9.1"),
        ("org.apache.kafka", "kafka-tools", "3.9.1"),
        ("org.slf4j", "slf4j-reload4j", "1.7.36"),
    ),
    "4.3.1": (
        ("org.apache.kafka", "kafka_2.13", "4.3.1"),
        ("org.apache.kafka", "kafka-tools", "4.3.1"),
    ),
    STREAMS: (("org.apache.kafka", "kafka-streams", "4.3.1"),),
    CONNECT: (("org.apache.kafka", "connect-runtime", "4.3.1"), ("org.apache.kafka", "connect-file", "4.3.1")),
}
_POM: Final = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>kedge</groupId>'
    "<artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>"
    "<dependencies>{}</dependencies></project>"
)
_DEPENDENCY: Final = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def java() -> str:
    """A Java that runs brokers and compiles one file. Raises NoServer."""
    skip_if_left_out("kafka")
    return find_java(JAVA_MIN, "Kafka")


def maven() -> str:
    """Its program. Raises NoServer."""
    found = shutil.which("mvn")
    if found is None:
        raise NoServer("jars need Maven: no mvn is on the PATH (Debian's maven)")
    return found


def kafka_classpath(version: str = VERSION) -> str:
    """All jars of that version, or of Streams or Connect, as a class path, downloaded if they are not there. Raises
    NoServer."""
    skip_if_left_out("kafka")
    folder = cache_folder() / f"kafka-tools-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            copied(folder, _WANTED[version], f"the jars of Kafka {version}")
            (folder / "whole").touch()
    return os.pathsep.join(str(jar) for jar in sorted((folder / "jars").glob("*.jar")))


def copied(folder: Path, wanted: Iterable[tuple[str, str, str]], what: str, *, transitive: bool = True) -> None:
    """The jars of these artifacts, and of what they need, are in `folder`/jars. Raises NoServer."""
    pom = folder / "pom.xml"
    pom.write_text(_POM.format("".join(_DEPENDENCY.format(*one) for one in wanted)), encoding="utf-8")
    command = [maven(), "--quiet", "--batch-mode", "--file", str(pom), "dependency:copy-dependencies"]
    more = [] if transitive else ["-DexcludeTransitive"]
    tool([*command, *more, f"-DoutputDirectory={folder / 'jars'}"], what, _MAVEN_S)


def main(arguments: Sequence[str]) -> int:
    """Exit code 1, and the reason on stderr, where they cannot be had."""
    try:
        if "--install" in arguments:
            debian.have(java, JAVA_PACKAGE)
            debian.have(maven, "maven")
        jars = kafka_classpath().split(os.pathsep)
        command = java()
    except NoServer as error:
        sys.stderr.write(f"{error}\n(scripts/test leaves the tests that need it out)\n")
        return 1
    sys.stdout.write(f"Kafka {VERSION}: {len(jars)} jars in {Path(jars[0]).parent}, {command}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
