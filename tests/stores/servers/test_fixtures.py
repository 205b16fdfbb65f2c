"""The plugin, as the tests of another project load it: with the checkout on PYTHONPATH."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFTEST = 'pytest_plugins = ["servers.fixtures"]'
TESTS = """
from kedge.stores import ABSENT, Put, open_store

def test_one(etcd_server, zookeeper_server):
    for server in (etcd_server, zookeeper_server):
        store = open_store(server.url("/mine"))
        store.commit([Put("/a", b"", ABSENT)], timeout_s=10)
        store.close()

def test_two(etcd_server, zookeeper_server):
    for server in (etcd_server, zookeeper_server):
        store = open_store(server.url("/mine"))
        assert store.get("/a", timeout_s=10) is not None
        store.close()
"""


@pytest.fixture(autouse=True)
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))


@pytest.mark.server
@pytest.mark.full
def test_tests_of_a_session_share_one_server_of_each_kind(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And neither process nor folder is left of them."""
    temporary = pytester.mkdir("temporary")
    monkeypatch.setenv("TMPDIR", str(temporary))
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=2)
    assert not [path for path in temporary.iterdir() if path.name.startswith("kedge-")]


@pytest.mark.slow
def test_where_a_server_cannot_be_had_its_tests_fail_with_what_is_missing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGE_ETCD", "/none/such")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("def test_it(etcd_server): pass")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no etcd: $KEDGE_ETCD names /none/such*"])
