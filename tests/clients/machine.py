"""The stock clients that are not Python's: Kafka's tools by Maven, kafkajs by npm, three by Go, in a cache folder.

Rules
* What is had is what is named in `js/package-lock.json` and `go/go.sum`, by the tools of each language, which check it.
  It is made again when one of those files changes. The jars of Kafka are those of `tests.kafka_jars`.
* Where a tool is missing, `NoServer` names it, and the tests of that language fail with that, unless scripts/test left
  the language out (`tests/left_out.py`).
* The cache is that of `servers` (KEDGE_SERVERS names another); processes that look at once wait for each other.

`python -m tests.clients.machine java node go`: what there is of these families, a line each; with `--install`, Debian's
packages are installed first where they are missing and root may.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from servers import debian
from servers.jars import cache_folder
from servers.java import JAVA_PACKAGE
from servers.process import NoServer, tool
from tests import kafka_jars
from tests.left_out import skip_if_left_out

KAFKA_VERSIONS: Final = ("3.9.1", "4.3.1")
HERE: Final = Path(__file__).resolve().parent
_ANSWER_S: Final = 30.0
_INSTALL_S: Final = 900.0


def kafkajs() -> Path:
    """The folder of Node's modules in which it lies. NoServer."""
    skip_if_left_out("node")
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
    """A Go that is as new as go.mod asks for: that of the PATH, or the toolchain that it downloads. NoServer."""
    command = _program("go", "golang-go")
    wanted = re.search(r"^go (.*)$", (HERE / "go" / "go.mod").read_text(), re.MULTILINE)
    assert wanted is not None
    found = re.search(r"go([0-9.]+)", tool([command, "version"], "Go", _ANSWER_S))
    if found is not None and _numbers(found[1]) >= _numbers(wanted[1]):
        return command
    return _toolchain(command, wanted[1])


def _toolchain(command: str, version: str) -> str:
    """The Go of that version, from the module proxy. Go before 1.21 cannot get it by itself, and Debian 12 has 1.19."""
    system, processor = tool([command, "env", "GOOS", "GOARCH"], "Go", _ANSWER_S).split()
    module = f"golang.org/toolchain@v0.0.1-go{version}.{system}-{processor}"
    folder = Path(json.loads(tool([command, "mod", "download", "-json", module], f"Go {version}", _INSTALL_S))["Dir"])
    for program in [*folder.glob("bin/*"), *folder.glob("pkg/tool/*/*")]:
        program.chmod(program.stat().st_mode | 0o111)  # a module has no programs
    return str(folder / "bin" / "go")


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".") if number]


def in_go() -> Path:
    """A program that calls kadm, kafka-go and sarama (`go/drive.go`). NoServer."""
    skip_if_left_out("go")
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
    found = {version: kafka_jars.kafka_classpath(version) for version in (kafka_jars.OLDEST, *KAFKA_VERSIONS)}
    return f"the jars of Kafka {', '.join(found)}"


# Of each family: what finds a program, Debian's package of it, and what is made with it.
FAMILIES: Final[dict[str, list[tuple[Callable[[], object], str, Callable[[], object]]]]] = {
    "java": [(kafka_jars.java, JAVA_PACKAGE, kafka_jars.java), (kafka_jars.maven, "maven", _jars)],
    "node": [(node, "nodejs", node), (npm, "npm", kafkajs)],
    "go": [(lambda: _program("go", "golang-go"), "golang-go", in_go)],
}


def main(arguments: Sequence[str]) -> int:
    """Exit code 1, and the reasons on stderr, where something is missing."""
    missing = 0
    for family in [argument for argument in arguments if argument in FAMILIES] or FAMILIES:
        for find, package, have in FAMILIES[family]:
            try:
                if "--install" in arguments:
                    debian.have(find, package)
                sys.stdout.write(f"{have()}\n")
            except NoServer as error:
                missing += 1
                sys.stderr.write(f"{error}\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
