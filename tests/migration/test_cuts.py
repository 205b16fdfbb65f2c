"""A move that is cut at any of its commits leaves the former store as it was, or the new one complete."""

from __future__ import annotations

from itertools import count

import pytest

from kedge.stores import MemoryServer
from kedge.stores.faults import FailBefore, Fault, LoseReply
from tests.migration.cuts import cut, one_is_valid
from tests.migration.sites import copy_of, memory
from tests.runtime.world import Brokers


@pytest.mark.slow
@pytest.mark.parametrize("fault", [FailBefore(), LoseReply()], ids=["before it is sent", "applied, reply lost"])
@pytest.mark.parametrize("goes_on", [False, True], ids=["given up", "run again"])
def test_cut_at_any_commit_leaves_one_valid_store(busy: MemoryServer, fault: Fault, *, goes_on: bool) -> None:
    for at in count(1):
        host = Brokers()
        source, target = memory(copy_of(busy), host), memory(MemoryServer(commit_ops_max=9), host)
        if not cut(source, target, at, fault):
            break
        one_is_valid(source, target, goes_on=goes_on)
    assert at > 10
