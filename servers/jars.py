"""The jars of a ZooKeeper server, from a Maven repository, in a cache folder.

Rules
* Each jar is listed with its digest: a downloaded jar is the one that was tested, or an error.
* A jar is moved into the cache when it is complete. Concurrent processes wait for each other.
* KEDGE_MAVEN_REPOSITORY sets another repository (a mirror), KEDGE_SERVERS another cache folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from servers.process import NoServer

ZOOKEEPER_VERSION: Final = "3.9.4"
_REPOSITORY: Final = "https://repo.maven.apache.org/maven2"
_DOWNLOAD_S: Final = 120.0
_NETTY: Final = "4.1.119.Final"

# group/artifact, version, SHA-256. Netty is for TLS; the server loads snappy and metrics even if they are not used.
JARS: Final = (
    (
        "org/apache/zookeeper/zookeeper",
        ZOOKEEPER_VERSION,
        "7bb3bb38bbddbc71424c59a7a0b170a1b2147313a84c972225ab0568dab513bf",
    ),
    (
        "org/apache/zookeeper/zookeeper-jute",
        ZOOKEEPER_VERSION,
        "bd9750935add09b6cb920f7bcf0fa7b9a8165c45cdafd8ee1fc6808c46ec9094",
    ),
    ("org/slf4j/slf4j-api", "1.7.36", "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0"),
    ("org/slf4j/slf4j-simple", "1.7.36", "2f39bed943d624dfa8f4102d0571283a10870b6aa36f197a8a506f147010c10f"),
    (
        "io/dropwizard/metrics/metrics-core",
        "4.1.12.1",
        "cec34936faa625039f4e46123eccaa10a9eb9d9a40c6075830cd81330e259cf9",
    ),
    ("commons-io/commons-io", "2.17.0", "4aa4ca48f3dfd30b78220b7881d8cb93eac4093ec94361b6befa9487998a550b"),
    ("org/xerial/snappy/snappy-java", "1.1.10.5", "0f3f1857ed33116583f480b4df5c0218836c47bfbc9c6221c0d73f356decf37b"),
    ("io/netty/netty-handler", _NETTY, "9b49be98e36bb79a2025ffb5159aec87da2720cfa545f56de39c3bc108587b1b"),
    ("io/netty/netty-transport", _NETTY, "c0921ea0e79c3b936daabe08a26e926642a4ad24951d6115fb43362c21dfeb10"),
    ("io/netty/netty-buffer", _NETTY, "32226218d854c2e51d4935a7ebe4663b72ecb9af4da881b86bf518e61aed48d3"),
    ("io/netty/netty-common", _NETTY, "991a69b1594dcad9926e268e7e94530cfdaa89feef42af26922a302d3e2e9212"),
    ("io/netty/netty-codec", _NETTY, "c497934a057444b126a86e06f2b509188e48ca6c5a5e14c182a02f1e8c8d5fdb"),
    ("io/netty/netty-resolver", _NETTY, "3b6c9f9f6f360747213d154971dec1fc8852820dc1a98d055ff09d09676f8836"),
    (
        "io/netty/netty-transport-native-unix-common",
        _NETTY,
        "8ae5618f69326e6d17b77b0140f9d277118dbd23906ca07638bc01365728c650",
    ),
    (
        "io/netty/netty-transport-classes-epoll",
        _NETTY,
        "38edbceb4d0f3c1c87bc8db9f812d317342c9c8e95a4a052fb796a2f78ad098e",
    ),
)


def zookeeper_classpath() -> str:
    """The class path of the server; missing jars are downloaded. Raises NoServer."""
    return class_path(f"zookeeper-{ZOOKEEPER_VERSION}", JARS)


def class_path(name: str, jars: Iterable[tuple[str, str, str]]) -> str:
    """`jars` (as in JARS) as a class path; missing ones are downloaded into the folder `name` of the cache. Raises
    NoServer."""
    folder = cache_folder() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return os.pathsep.join(str(_jar(folder, *jar)) for jar in jars)
    except OSError as error:
        raise NoServer(f"no room for the jars of {name} in {folder}: {error}") from error


def cache_folder() -> Path:
    """The folder for downloaded servers."""
    chosen = os.environ.get("KEDGE_SERVERS")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kedge" / "servers"


def _jar(folder: Path, path: str, version: str, digest: str) -> Path:
    name = f"{path.rpartition('/')[2]}-{version}.jar"
    target = folder / name
    if target.exists() and _digest(target.read_bytes()) == digest:
        return target
    url = f"{os.environ.get('KEDGE_MAVEN_REPOSITORY', _REPOSITORY).rstrip('/')}/{path}/{version}/{name}"
    data = _download(url)
    if _digest(data) != digest:
        raise NoServer(f"{url} is not the jar that was tested: its SHA-256 is {_digest(data)}, expected {digest}")
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as part:
        part.write(data)
    Path(part.name).replace(target)
    return target


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _download(url: str) -> bytes:
    if not url.startswith("https://"):
        raise NoServer(f"KEDGE_MAVEN_REPOSITORY: expected an https url, got {url}")
    try:
        with urllib.request.urlopen(url, timeout=_DOWNLOAD_S) as answer:  # noqa: S310 - https, checked above
            data: bytes = answer.read()
            return data
    except (OSError, urllib.error.URLError) as error:
        raise NoServer(f"a jar is not in {cache_folder()} and cannot be downloaded: {url}: {error}") from error
