"""Whether two urls name the same store."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote

from stores import public_url

MEMORY: Final = "memory:"
_PORTS: Final = {"zookeeper": "2181", "etcd": "2379"}  # where a url names none


def is_same_place(source: str, target: str) -> bool:
    """Whether both urls name the same store, or one below the other. Servers that have several names are not known."""
    if MEMORY in {source[: len(MEMORY)], target[: len(MEMORY)]}:
        return (
            source.startswith(MEMORY)
            and target.startswith(MEMORY)
            and file_of(source).resolve() == file_of(target).resolve()
        )
    (scheme, hosts, path), (other, other_hosts, other_path) = _place(source), _place(target)
    is_nested = f"{path}/".startswith(f"{other_path}/") or f"{other_path}/".startswith(f"{path}/")
    return scheme == other and not hosts.isdisjoint(other_hosts) and is_nested


def _place(url: str) -> tuple[str, frozenset[str], str]:
    """Scheme, servers and path."""
    scheme, _, place = public_url(url).partition("://")
    hosts, _, path = place.partition("/")
    port = _PORTS.get(scheme, "")
    named = (host if host.rpartition(":")[2].isdecimal() else f"{host}:{port}" for host in hosts.lower().split(","))
    return scheme, frozenset(named), f"/{unquote(path)}".rstrip("/")


def file_of(url: str) -> Path:
    return Path(url.removeprefix(MEMORY))
