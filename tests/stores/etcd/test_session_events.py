"""What a client of etcd says of its session, by a server in this process."""

from __future__ import annotations

from kedge.stores import Depth, Resync, SessionChanged, SessionState
from kedge.stores.etcd.store import EtcdStore
from tests.stores.etcd.member import CALL_S, connected, running


def test_a_lease_that_is_gone_is_lost_and_another_one_is_begun() -> None:
    """In this order, under the ids of both; then all is to be read again."""
    with running() as member, connected(member) as store:
        stream = store.subscribe("/a", Depth.SELF)
        assert store.session.session_id == member.lease == 7
        member.lease = 100  # the server has ended it
        assert isinstance(store, EtcdStore)
        store._session.look_now()  # noqa: SLF001 - as after a call that was refused; else it is a third of a session
        assert [stream.poll(CALL_S) for _ in range(3)] == [
            SessionChanged(SessionState.LOST, 7),
            SessionChanged(SessionState.STARTED, 101),
            Resync("/a", "session"),
        ]
        assert store.session.session_id == 101
