"""Urls and addresses with several endpoints, one of them IPv6: read alike by every Python that is installed here.

Python's own `urlsplit` is of several minds about brackets: 3.11.2 of Debian, 3.12.9 and 3.13.2 refuse what others take.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Final

import attrs
import pytest

from kedge.stores import open_store, probing

_CHECKOUT: Final = Path(__file__).parents[2]
_PACKAGES: Final = Path(attrs.__file__).parents[1]  # those that are needed here are of Python alone, so they fit any
_NEWEST: Final = 20

_READ: Final = """
import json, sys
from kedge.controller.cli.kafka.options import checked_servers
from kedge.controller.cli.serve.options import as_place
from kedge.stores import open_store, public_url
from kedge.stores.etcd.url import parse_url as etcd
from kedge.stores.zookeeper.url import parse_url as zookeeper

hosts = "one:1,two,[::1]:3,[2001:db8::7]"
store = open_store("memory:")
print(json.dumps([
    etcd(f"etcd://{hosts}/a/b?connect_timeout=1").place,
    str(zookeeper(f"zookeeper://{hosts}/a/b?connect_timeout=1")),
    public_url(f"etcd://{hosts}/a?password=x"),
    store.capabilities.name,
    checked_servers("one:1,[::1]:3,two:2"),
    str(as_place("--listen", "[::1]:3")),
]))
"""
_FOUND: Final = [
    "etcd://one:1,two:2379,[::1]:3,[2001:db8::7]:2379/a/b",
    "zookeeper://one:1,two:2181,[::1]:3,[2001:db8::7]:2181/a/b",
    "etcd://one:1,two,[::1]:3,[2001:db8::7]/a",
    "memory (global)",
    "one:1,[::1]:3,two:2",
    "[::1]:3",
]


def pythons() -> list[str]:
    """The Python that runs here, those on the PATH, and those of pyenv, from 3.11 on, each once."""
    names = [f"python3.{minor}" for minor in range(11, _NEWEST)]
    folders = os.environ.get("PATH", "").split(os.pathsep)
    found = [shutil.which(name, path=folder) for folder in folders if "shims" not in folder for name in names]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found += [str(path) for name in names for path in root.glob(f"versions/*/bin/{name}")]
    return list({os.path.realpath(path): path for path in (sys.executable, *filter(None, found))}.values())


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons())
def test_several_endpoints_are_read_alike_by_every_python(python: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(_CHECKOUT), str(_PACKAGES)))}
    done = subprocess.run([python, "-B", "-c", _READ], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == _FOUND


@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("kind", ["zookeeper", "etcd"])
def test_a_store_is_opened_by_the_endpoint_that_answers(kind: str, request: pytest.FixtureRequest) -> None:
    """The others are one of IPv6 and one of IPv4 where no server listens; both are named by `kedge store ping`."""
    server = request.getfixturevalue(f"{kind}_server")
    with closing(open_store(f"{kind}://[::1]:1,127.0.0.1:1,{server.address}/urls")) as store:
        assert store.get("/nothing", timeout_s=10) is None
        states = probing.servers(store, timeout_s=10)
    assert [state.address for state in states] == ["[::1]:1", "127.0.0.1:1", server.address]
    assert [state.problem is None for state in states] == [False, False, True]
