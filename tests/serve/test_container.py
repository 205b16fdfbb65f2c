"""The Containerfile, built on this machine's own Python instead of an image of a registry, and run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import distribution
from pathlib import Path

import pytest
from kafka import KafkaProducer
from packaging.requirements import Requirement

from servers.engine import Engine, engine
from servers.process import NoServer, wait_until

pytestmark = [pytest.mark.server, pytest.mark.full]

CHECKOUT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0
NEEDED = ("pip", "setuptools", "attrs", "tenacity", "click", "rich", "msgspec", "kafka-python", "crc32c", "scramp")
LEFT_OUT = shutil.ignore_patterns("site-packages", "test", "idlelib", "tkinter", "ensurepip", "__pycache__", "config-*")
# Nothing is downloaded: the packages are in the base, and the wheel is built with the setuptools that is there.
BASE = """\
FROM scratch
COPY root /
ENV PATH=/usr/local/bin:/bin PIP_NO_INDEX=1 PIP_NO_BUILD_ISOLATION=0 PIP_ROOT_USER_ACTION=ignore
"""


def distributions(names: tuple[str, ...]) -> set[str]:
    """These and what they require, by name."""
    found: set[str] = set()
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            required = [Requirement(line) for line in distribution(name).requires or ()]
            wanted += [one.name for one in required if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def libraries(files: list[Path]) -> set[Path]:
    """The shared libraries that these load, the loader among them."""
    done = subprocess.run(["/usr/bin/ldd", *map(str, files)], capture_output=True, text=True, check=False)
    return {Path(name) for name in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", done.stdout, re.MULTILINE)}


def base_context(folder: Path) -> None:
    """What an image with Python, a shell and the packages that `kedge serve` needs is built from."""
    root, prefix = folder / "root", Path(sys.base_prefix)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    home = root / "usr" / "local" / "lib" / version
    shutil.copytree(prefix / "lib" / version, home, ignore=LEFT_OUT)
    packages = home / "site-packages"
    for name in distributions(NEEDED):
        of = distribution(name)
        for file in of.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                copied(Path(str(of.locate_file(file))), packages / file)
    copied(Path(sys.executable).resolve(), root / "usr" / "local" / "bin" / "python")
    copied(Path("/bin/sh").resolve(), root / "bin" / "sh")
    for library in libraries([Path(sys.executable), Path("/bin/sh"), *root.rglob("*.so")]):
        copied(
            library,
            root / "usr" / "local" / "lib" / library.name if "libpython" in library.name else root / str(library)[1:],
        )
    (root / "tmp").mkdir(mode=0o1777)
    (folder / "Dockerfile").write_text(f"{BASE}ENV LD_LIBRARY_PATH=/usr/local/lib\n", encoding="utf-8")


def copied(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


@pytest.fixture(scope="module")
def image() -> Iterator[tuple[Engine, str]]:
    """Skipped where no container can be had, as all tests in containers are."""
    try:
        found = engine()
        base = found.image("python", base_context)
    except NoServer as error:
        pytest.skip(f"not run in a container: {error}")
    arguments = {"BASE": base, "EXTRAS": "cli,wire"}
    built, _ = found.client.images.build(
        path=str(CHECKOUT), dockerfile="Containerfile", buildargs=arguments, tag="kedge-serve:tested", rm=True
    )
    yield found, built.tags[0]
    found.client.images.remove(built.tags[0], force=True)


def test_a_client_reaches_the_image(image: tuple[Engine, str]) -> None:
    """Later options replace those of the image. It runs without root, and SIGTERM ends it in order."""
    found, name = image
    command = ["--listen", "127.0.0.1:0", "--status", "127.0.0.1:0", "--json", "--topic", "orders:3:3"]
    container = found.client.containers.run(name, command, detach=True, network_mode="host")
    try:
        wait_until("it prints its addresses", container.logs, DEADLINE_S, lambda: container.logs().decode())
        at = json.loads(container.logs())
        with closing(KafkaProducer(bootstrap_servers=at["bootstrap"], acks="all")) as producer:
            assert producer.send("orders", b"one", partition=0).get(timeout=DEADLINE_S).offset == 0
        assert container.attrs["Config"]["User"] == "65532:65532"
        container.stop(timeout=20)
        container.reload()
        assert container.attrs["State"]["ExitCode"] == 0
    finally:
        container.remove(force=True)
