"""Images of servers, built from files of this machine: nothing is pulled.

Rules
* An image begins FROM scratch and holds only the server and what it needs, so it is small and its content is known: the
  etcd and the shared libraries that it was linked with, if any; for ZooKeeper its jars, a Java runtime of the modules
  it uses, made with jlink (40 MB instead of 200), and the shared libraries of that runtime.
* Making the runtime takes some ten seconds, so it is kept in the cache of jars.py, by the version of Java.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from servers.etcd import etcd_binary
from servers.jars import cache_folder, zookeeper_classpath
from servers.java import JAVA_PACKAGE
from servers.process import NoServer, tool
from servers.zookeeper import java

_TOOL_S: Final = 300.0
# The output of jdeps for the jars of the server, and java.xml, which is loaded by name.
_MODULES: Final = (
    "java.base,java.logging,java.management,java.naming,java.security.jgss,java.security.sasl,java.xml,jdk.unsupported"
)
_LINK: Final = ("--strip-java-debug-attributes", "--no-header-files", "--no-man-pages", "--compress=2")


def etcd_context(folder: Path) -> None:
    """Fill the build folder of an etcd image."""
    binary, root = etcd_binary(), folder / "root"
    _copy(binary, root / "etcd")
    with suppress(NoServer):  # ldd fails on a binary that is linked statically
        for library in _libraries([binary]):
            _copy(library, root / library.relative_to("/"))
    (folder / "Dockerfile").write_text('FROM scratch\nCOPY root /\nENTRYPOINT ["/etcd"]\n', encoding="utf-8")


def zookeeper_context(folder: Path) -> None:
    """Fill the build folder of a ZooKeeper image. Raises NoServer if no runtime can be made."""
    root = folder / "root"
    shutil.copytree(runtime(), root / "java", symlinks=False)
    for jar in zookeeper_classpath().split(os.pathsep):
        _copy(Path(jar), root / "jars" / Path(jar).name)
    home = root / "java"
    for library in _libraries([home / "bin" / "java", *sorted((home / "lib").rglob("*.so"))]):
        if not library.is_relative_to(home):
            _copy(library, root / library.relative_to("/"))
    (root / "data").mkdir()
    (root / "tmp").mkdir()
    (folder / "Dockerfile").write_text('FROM scratch\nCOPY root /\nENTRYPOINT ["/java/bin/java"]\n', encoding="utf-8")


def runtime() -> Path:
    """A Java runtime with the modules of ZooKeeper, made with this machine's jlink. Raises NoServer."""
    home = Path(java()).resolve().parent
    jlink = home / "jlink"
    if not jlink.exists():
        raise NoServer(
            f"an image of ZooKeeper needs jlink, which {home} does not have: install {JAVA_PACKAGE} (Debian's name)"
        )
    said = _run([str(jlink), "--version"])
    target = cache_folder() / f"java-{hashlib.sha256(f'{jlink} {said} {_MODULES}'.encode()).hexdigest()[:16]}"
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / "java.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            part = target.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            _run([str(jlink), "--add-modules", _MODULES, *_LINK, "--output", str(part)])
            part.rename(target)
    return target


def _libraries(files: Sequence[Path]) -> list[Path]:
    """The shared libraries that the files need, with the loader."""
    said = _run(["ldd", *map(str, files)])
    return sorted(map(Path, set(re.findall(r"(?:=> |^\s+)(/\S+) \(0x", said, re.MULTILINE))))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def _run(command: Sequence[str]) -> str:
    return tool(command, "no image can be built", _TOOL_S)
