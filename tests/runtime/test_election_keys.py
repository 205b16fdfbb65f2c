"""The keys of the election, lost replies to its commits, and what others write there."""

from __future__ import annotations

import pytest

from kedge.controller.codec import keys
from kedge.controller.codec.migration import Marker, encode_marker
from kedge.controller.codec.orders import FORMAT_KEY
from kedge.stores import MemoryStore
from kedge.stores.faults import Call, DeliverLater, FaultStore, LoseReply, LoseRequest, Rule
from kedge.stores.recipes import LEADER_KEY, TOKEN_KEY
from tests.runtime.world import Cluster, actives


@pytest.mark.parametrize("fault", [LoseReply(), LoseRequest(), DeliverLater(before_commit=1)])
@pytest.mark.parametrize("key", [LEADER_KEY, TOKEN_KEY])
def test_an_election_or_a_claim_whose_reply_is_lost_ends_with_one_leader(fault: LoseReply, key: str) -> None:
    cluster = Cluster()
    cluster.store.play([Rule(fault, key=key, nth=1)])
    cluster.wait(1000)
    assert actives(cluster) == [1]
    cluster.join(1)
    cluster.create("t", (1,))


def test_lost_claim_is_no_crash() -> None:
    """The token moved between the election and the claim: stand again."""
    cluster = Cluster()
    token = b'{"controller_epoch":1,"seq":5,"nonce":"x"}'

    def meddle(call: object, _: object) -> tuple[()]:
        if getattr(call, "name", "") == "commit" and TOKEN_KEY in getattr(call, "keys", ()) and not meddled:
            meddled.append(1)
            cluster.put(TOKEN_KEY, token)
        return ()

    meddled: list[int] = []
    cluster.store.play(meddle)
    cluster.wait(1000)
    assert actives(cluster) == [1]
    assert cluster.get(TOKEN_KEY)["seq"] > 5


def test_the_first_claim_of_a_tree_writes_the_format_and_later_ones_leave_it() -> None:
    """Also over the tree of a Kafka cluster, which has none."""
    cluster = Cluster()
    cluster.run()
    assert cluster.get(FORMAT_KEY) == {"version": 1, "min_controller": 1}
    entry = cluster.other.get(FORMAT_KEY, timeout_s=1)
    cluster.controllers.pop().close()
    assert cluster.another(2).poll_once()
    cluster.run()
    assert cluster.controller.is_active
    assert cluster.other.get(FORMAT_KEY, timeout_s=1) == entry


@pytest.mark.parametrize(
    "key, value, said",
    [
        (FORMAT_KEY, b'{"version":2,"min_controller":3}', "needs a controller of version 3"),
        (
            keys.MIGRATION,
            encode_marker(Marker("m", "etcd://h/p", is_moved=True)),
            "the cluster was moved to etcd://h/p",
        ),
        (keys.MIGRATION, b"{", "this cannot be read"),
    ],
    ids=["a newer controller led", "the cluster was moved", "the mark of a move cannot be read"],
)
def test_key_that_is_written_between_an_election_and_its_claim_is_heeded(key: str, value: bytes, said: str) -> None:
    """The controller gives up what it won, and says why it stands by."""
    cluster = Cluster()
    cluster.run()
    cluster.controllers.pop().close()
    store = FaultStore(MemoryStore(cluster.server))
    older = cluster.another(2, store)

    def write_it(call: Call, _: object) -> tuple[()]:
        if call.name == "commit" and TOKEN_KEY in call.keys and not written:
            written.append(1)
            cluster.put(key, value)
        return ()

    written: list[int] = []
    store.play(write_it)
    cluster.wait(1000)
    assert written
    assert not older.is_active
    assert said in cluster.findings()[key]
    assert not cluster.has(LEADER_KEY)
