"""The stock clients that are not Python's: Kafka's tools by Maven, kafkajs by npm, three by Go, in a cache folder.

Rules
* What is had is what is named in `js/package-lock.json` and `go/go.sum`, by the tools of each language, which check it.
  It is made anew when one of those files changes. The jars of Kafka are those of `tests.kafka_jars`.
* Where a tool is missing, `NoServer` names it, and the tests fail with that; nothing is skipped.
* The cache is that of `stores.servers` (KEDGE_SERVERS names another); processes that look at once wait for each other.

`python -m tests.clients.machine`: what there is, a line each; with `--install`, Debian's packages of the languages are
installed first where they are missing and root may.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from stores.servers import debian
from stores.servers.jars import cache_folder
from stores.servers.java import JAVA_PACKAGE
from stores.servers.process import NoServer, tool
from tests import kafka_jars

KAFKA_VERSIONS: Final = ("3.9.1", "4.3.1")
HERE: Final = Path(__file__).resolve().parent
_GO_MIN: Final = 21  # of 1.21: the first that looks for another toolchain
_ANSWER_S: Final = 30.0
_INSTALL_S: Final = 900.0


def kafkajs() -> Path:
    """The folder of Node's modules in which it lies. NoServer."""
    files = [HERE / "js" / name for name in ("package.json", "package-lock.json")]

    def make(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)
        command = [npm(), "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
        tool(command, "kafkajs", _INSTALL_S)

    return _made("kafkajs", files, make) / "node_modules"


def node() -> str:
    """The program. NoServer."""
    return _program("node", "nodejs")


def npm() -> str:
    """The program. NoServer."""
    return _program("npm", "npm")


def go() -> str:
    """A Go that gets the newer one that clients ask for by itself, where it is older. NoServer."""
    command = _program("go", "golang")
    said = tool([command, "version"], "Go", _ANSWER_S)
    version = re.search(r"go1\.([0-9]+)", said)
    if version is None or int(version[1]) < _GO_MIN:
        raise NoServer(f"clients in Go need Go 1.{_GO_MIN} or later; {command} says {said.strip()!r}")
    return command


def in_go() -> Path:
    """A program that calls kadm, kafka-go and sarama (`go/drive.go`). NoServer."""
    files = [HERE / "go" / "go.mod", HERE / "go" / "go.sum", *sorted((HERE / "go").glob("*.go"))]

    def make(folder: Path) -> None:
        tool([go(), "build", "-C", str(HERE / "go"), "-o", str(folder / "drive"), "."], "clients in Go", _INSTALL_S)

    return _made("go", files, make) / "drive"


def _program(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NoServer(f"there is no {name} on the PATH: install {package} (Debian's name)")
    return found


def _made(name: str, sources: Sequence[Path], make: Callable[[Path], None]) -> Path:
    """A folder of the cache that `make` filled, from these sources."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    folder = cache_folder() / "clients" / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder.parent / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            mark = folder / "made-of"
            if not mark.exists() or mark.read_text() != digest:
                shutil.rmtree(folder)
                folder.mkdir()
                make(folder)
                mark.write_text(digest)
    except OSError as error:
        raise NoServer(f"no room for {name} in {folder}: {error}") from error
    return folder


def _jars() -> str:
    found = {version: kafka_jars.kafka_classpath(version) for version in KAFKA_VERSIONS}
    return f"the jars of Kafka {', '.join(found)}"


def main(arguments: Sequence[str]) -> int:
    """Exit code 1, and the reasons on stderr, where something is missing."""
    install = "--install" in arguments
    wanted: list[tuple[Callable[[], object], str, Callable[[], object]]] = [
        (kafka_jars.java, JAVA_PACKAGE, kafka_jars.java),
        (kafka_jars.maven, "maven", _jars),
        (node, "nodejs", node),
        (npm, "npm", kafkajs),
        (go, "golang", in_go),
    ]
    missing = 0
    for find, package, have in wanted:
        try:
            if install:
                debian.have(find, package)
            sys.stdout.write(f"{have()}\n")
        except NoServer as error:
            missing += 1
            sys.stderr.write(f"{error}\n")
    if missing:
        sys.stderr.write("(the tests that need it are left out by --no-servers)\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
