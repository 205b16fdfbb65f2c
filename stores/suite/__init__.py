"""The conformance suite for backends of a metadata store, as plain functions that take a harness.

    from kedge.stores.suite import CASES, Backend, Hook

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_my_store(case):
        backend = MyBackend()                   # a server, and clients below a fresh root
        if case.lacks(backend):
            pytest.skip(...)                    # only for a hook that the harness does not declare
        try:
            case.run(backend)
        finally:
            backend.close()

The docstring of each case is the requirement that it tests. A case fails by AssertionError or by the store's own error.
It imports no test runner.
"""

from . import commits, elections, kv, outcomes, registers, sessions, snapshots, streams, watches
from .backend import CASES, Backend, Case, Hook
from .checker import Operation, unlinearizable

GROUPS = ("kv", "commit", "snapshot", "watch", "session", "faults", "election", "linearizability")

__all__ = [
    "CASES",
    "GROUPS",
    "Backend",
    "Case",
    "Hook",
    "Operation",
    "commits",
    "elections",
    "kv",
    "outcomes",
    "registers",
    "sessions",
    "snapshots",
    "streams",
    "unlinearizable",
    "watches",
]
