"""The election beside Kafka brokers: `/controller` stays, `/kedge/leader` is held, a Kafka controller is not fought."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from kedge import (
    BrokerRegistration,
    Controller,
    DeletePartitions,
    InvalidRequest,
    MemoryServer,
    MemoryStore,
    NewTopic,
    Settings,
    ThrottledRate,
    TopicDeletionDisabled,
    TopicPartition,
)
from kedge.controller.codec import handed_back, keys
from kedge.controller.codec.small import encode_controller
from kedge.controller.runtime.hand_back import hand_back
from kedge.stores.base import ABSENT, PRESENT, Conflict, Delete, Entry, Invalid, Put, as_read
from kedge.stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY
from kedge.stores.tree import read_tree
from tests.kit.data import DATA
from tests.runtime.world import Brokers

CALL_S = 5.0
WITHOUT = Settings(kafka_brokers=True)
DEPOSING = Settings(kafka_brokers=True, depose_kafka_controller=True)
Make = Callable[..., Controller]


@pytest.fixture
def server() -> MemoryServer:
    return MemoryServer()


@pytest.fixture
def make(server: MemoryServer) -> Iterator[Make]:
    """A controller that is driven by `poll`; closed after the test."""
    made: list[Controller] = []

    def controller(node_id: int = 101, settings: Settings = WITHOUT) -> Controller:
        found = Controller(MemoryStore(server), node_id, Brokers(), settings=settings)
        made.append(found)
        return found

    yield controller
    for each in made:
        each.close()


def poll(*controllers: Controller) -> None:
    for _ in range(50):
        for controller in controllers:
            controller.poll_once()


def kafka_leads(server: MemoryServer) -> MemoryStore:
    """A Kafka broker becomes controller, as its own election does it."""
    broker = MemoryStore(server)
    epoch = broker.get(EPOCH_KEY, timeout_s=CALL_S)
    raised = (
        Put(EPOCH_KEY, b"1", ABSENT) if epoch is None else Put(EPOCH_KEY, b"%d" % (int(epoch.value) + 1), epoch.version)
    )
    broker.commit([Put(LEADER_KEY, encode_controller(1, 0), ABSENT, ephemeral=True), raised], timeout_s=CALL_S)
    return broker


def owners(server: MemoryServer) -> dict[str, bool | None]:
    """Whether each key of the election belongs to a session; None: it is absent."""
    store = MemoryStore(server)
    found = {key: store.get(key, timeout_s=CALL_S) for key in (LEADER_KEY, HELD_KEY)}
    store.close()
    return {key: None if entry is None else entry.owner is not None for key, entry in found.items()}


@pytest.mark.checklist(255)
def test_the_controller_key_outlives_its_controller(server: MemoryServer, make: Make) -> None:
    first, second = make(101), make(102)
    poll(first, second)
    assert first.is_active
    assert owners(server) == {LEADER_KEY: False, HELD_KEY: True}
    first.close()
    assert owners(server) == {LEADER_KEY: False, HELD_KEY: None}
    with pytest.raises(Conflict):
        kafka_leads(server)
    poll(second)
    assert second.is_active
    assert json.loads(server.table.rows[LEADER_KEY][0])["brokerid"] == 102


def test_a_controller_stands_by_while_a_broker_leads(server: MemoryServer, make: Make) -> None:
    broker = kafka_leads(server)
    controller = make()
    poll(controller)
    assert not controller.is_active
    assert controller.active_id == 1
    assert "as a Kafka broker does" in controller.describe().findings[LEADER_KEY]
    broker.close()
    controller = make(102)
    poll(controller)
    assert controller.is_active


def test_a_broker_is_deposed_on_demand(server: MemoryServer, make: Make) -> None:
    kafka_leads(server)
    controller = make(101, DEPOSING)
    poll(controller)
    assert controller.is_active
    assert owners(server) == {LEADER_KEY: False, HELD_KEY: True}


def kraft_leads(server: MemoryServer) -> None:
    """A controller of KRaft begins a migration, or deposes what led before: by a key without a session."""
    store = MemoryStore(server)
    shown, epoch = (store.get(key, timeout_s=CALL_S) for key in (LEADER_KEY, EPOCH_KEY))
    value = b'{"version":2,"brokerid":3000,"timestamp":"1","kraftControllerEpoch":5}'
    number = 1 if epoch is None else int(epoch.value) + 1
    ops = [Put(LEADER_KEY, value, as_read(shown)), Put(EPOCH_KEY, b"%d" % number, as_read(epoch))]
    store.commit(ops, timeout_s=CALL_S)
    store.close()


@pytest.mark.checklist(256)
@pytest.mark.parametrize("settings", [WITHOUT, DEPOSING], ids=["standing by", "deposing"])
def test_a_cluster_that_migrates_to_kraft_is_refused_with_what_to_do(
    server: MemoryServer, make: Make, settings: Settings
) -> None:
    """Also after --take-over, and by a controller that led before the migration."""
    kraft_leads(server)
    controller = make(101, settings)
    poll(controller)
    assert not controller.is_active
    assert controller.active_id == 3000
    assert "only controls brokers in ZooKeeper mode" in controller.describe().findings[LEADER_KEY]
    assert server.table.rows[EPOCH_KEY][0] == b"1"
    with pytest.raises(Invalid, match="KRaft's controller holds it, so there is nothing to hand back"):
        hand_back(MemoryStore(server), CALL_S)


def test_a_controller_gives_way_to_kraft(server: MemoryServer, make: Make) -> None:
    controller = make()
    poll(controller)
    assert controller.active_id == 101
    kraft_leads(server)
    poll(controller)
    assert controller.active_id == 3000
    assert json.loads(server.table.rows[LEADER_KEY][0])["brokerid"] == 3000
    assert "KRaft" in controller.describe().findings[LEADER_KEY]


def test_a_controller_gives_way_when_the_key_was_taken(server: MemoryServer, make: Make) -> None:
    """Another client deletes `/controller`, and a broker is faster."""
    controller = make()
    poll(controller)
    other = MemoryStore(server)
    other.commit([Delete(LEADER_KEY, PRESENT)], timeout_s=CALL_S)
    kafka_leads(server)
    poll(controller)
    assert not controller.is_active
    assert owners(server) == {LEADER_KEY: True, HELD_KEY: None}


def test_a_deleted_controller_key_is_put_again(server: MemoryServer, make: Make) -> None:
    controller = make()
    poll(controller)
    before = controller.controller_epoch
    MemoryStore(server).commit([Delete(LEADER_KEY, PRESENT)], timeout_s=CALL_S)
    poll(controller)
    assert controller.is_active
    assert controller.controller_epoch != before
    assert owners(server) == {LEADER_KEY: False, HELD_KEY: True}


def test_moves_are_handed_back_in_the_form_of_kafka(server: MemoryServer, make: Make) -> None:
    controller, standby = make(101, DEPOSING), make(102)
    poll(controller, standby)
    for broker in (1, 2, 3):
        controller.register_broker(BrokerRegistration(broker))
    poll(controller)
    controller.admin.create_topics({"t": NewTopic(replica_assignments=[(1, 2), (2, 3)])})
    poll(controller)
    controller.admin.alter_partition_reassignments({TopicPartition("t", 0): [3, 2]})
    poll(controller)
    store = MemoryStore(server)
    assert hand_back(store, CALL_S).moves == 1
    poll(controller, standby)
    assert not controller.is_active
    assert not standby.is_active
    assert "handed back" in standby.describe().findings[keys.HANDED_BACK]
    assert owners(server) == {LEADER_KEY: None, HELD_KEY: None}
    topic = json.loads(server.table.rows[keys.topic("t")][0])
    assert topic["partitions"] == {"0": [3, 2, 1], "1": [2, 3]}
    assert (topic["adding_replicas"], topic["removing_replicas"]) == ({"0": [3]}, {"0": [1]})
    assert hand_back(store, CALL_S).moves is None  # again: nothing changes
    again = make(103, DEPOSING)
    poll(again)
    assert again.is_active
    assert keys.HANDED_BACK not in server.table.rows


# --- handing back what Kedge does not lead


def kafkas_tree(server: MemoryServer) -> MemoryStore:
    """The tree of three Kafka brokers, of which 3 is the controller, and the session that holds its ephemeral keys."""
    broker = MemoryStore(server)
    recorded = read_tree(DATA / "kafka_3_9_tree_moving.json")
    puts = [Put(e.key, e.value, ABSENT, ephemeral=e.ephemeral) for e in recorded if e.value is not None]
    broker.commit(puts, timeout_s=CALL_S)
    return broker


def kedge_stands_by(server: MemoryServer) -> None:
    kafkas_tree(server)
    poll(Controller(MemoryStore(server), 101, Brokers(), settings=WITHOUT))


def kafka_took_over(server: MemoryServer) -> None:
    """An operator deleted `/controller`, and the controller of Kedge does not know it yet: it holds its key."""
    poll(Controller(MemoryStore(server), 101, Brokers(), settings=WITHOUT))
    MemoryStore(server).commit([Delete(LEADER_KEY, PRESENT)], timeout_s=CALL_S)
    kafka_leads(server)


@pytest.mark.parametrize(
    "begin, why",
    [
        (kafkas_tree, r"controller 3 leads: it holds /controller by its session.*nothing was written"),
        (kedge_stands_by, "controller 3 leads"),
        (kafka_took_over, "controller 1 leads"),
        (
            lambda server: kafkas_tree(server).close(),
            "no controller leads, and the first broker that starts takes /controller",
        ),
        (lambda _: None, r"no cluster is here, .*: check the chroot"),
    ],
    ids=["Kafka leads", "Kedge stands by", "Kafka took over", "nobody leads", "empty"],
)
def test_what_kafka_leads_is_not_handed_back(
    server: MemoryServer, begin: Callable[[MemoryServer], object], why: str
) -> None:
    """A raised epoch would leave Kafka's controller in office, unable to commit."""
    session = begin(server)
    before = dict(server.table.rows)
    with pytest.raises(Invalid, match=why):
        hand_back(MemoryStore(server), CALL_S)
    assert server.table.rows == before
    del session


def test_what_a_dead_controller_of_kedge_left_is_handed_back(server: MemoryServer, make: Make) -> None:
    """Its session ended; `/controller` stays, so no broker is elected without it."""
    controller = make()
    poll(controller)
    controller.close()
    assert hand_back(MemoryStore(server), CALL_S).moves == 0
    assert owners(server) == {LEADER_KEY: None, HELD_KEY: None}


def test_handing_back_goes_on_where_it_was_interrupted(server: MemoryServer, make: Make) -> None:
    """Kedge was deposed; then an operator deleted `/controller`, and no broker runs."""
    poll(make())
    store = MemoryStore(server)
    held, epoch = (store.get(key, timeout_s=CALL_S) for key in (HELD_KEY, EPOCH_KEY))
    begun = Put(keys.HANDED_BACK, handed_back.encode(handed_back.BEGUN), ABSENT)
    deposed = (Put(EPOCH_KEY, b"2", as_read(epoch)), begun, Delete(HELD_KEY, as_read(held)))
    store.commit((*deposed, Delete(LEADER_KEY, PRESENT)), timeout_s=CALL_S)
    assert hand_back(store, CALL_S).moves == 0
    assert server.table.rows[keys.HANDED_BACK][0] == handed_back.encode(handed_back.DONE)
    assert server.table.rows[EPOCH_KEY][0] == b"2"


def test_after_kafka_was_elected_again_it_was_handed_back_already(server: MemoryServer, make: Make) -> None:
    poll(make())
    hand_back(MemoryStore(server), CALL_S)
    kafka_leads(server)
    before = dict(server.table.rows)
    assert hand_back(MemoryStore(server), CALL_S).moves is None
    assert server.table.rows == before


class Overtaken(MemoryStore):
    """A Kafka broker is elected as soon as `/controller` was read."""

    def get(self, key: str, *, sync: bool = False, timeout_s: float) -> Entry | None:
        found = super().get(key, sync=sync, timeout_s=timeout_s)
        if key == LEADER_KEY and found is not None and found.owner is None:
            MemoryStore(self.server).commit([Delete(LEADER_KEY, PRESENT)], timeout_s=timeout_s)
            kafka_leads(self.server)
        return found


def test_a_broker_that_is_elected_meanwhile_stays_in_office(server: MemoryServer, make: Make) -> None:
    controller = make()
    poll(controller)
    controller.close()
    with pytest.raises(Conflict):
        hand_back(Overtaken(server), CALL_S)
    assert server.table.rows[EPOCH_KEY][0] == b"2"
    assert keys.HANDED_BACK not in server.table.rows


# --- what Kafka's brokers do not have


@pytest.fixture
def leading(make: Make) -> Controller:
    """It leads one broker, with topic t of two partitions."""
    controller = make()
    poll(controller)
    controller.register_broker(BrokerRegistration(1))
    poll(controller)
    created = controller.admin.create_topics({"t": NewTopic(2, 1)})
    poll(controller)
    created.all().result(CALL_S)
    return controller


@pytest.mark.checklist(256)
def test_a_reduction_is_refused_with_what_to_do(leading: Controller) -> None:
    refused = leading.admin.delete_partitions({"t": DeletePartitions(1)})
    poll(leading)
    with pytest.raises(TopicDeletionDisabled, match="create another topic with fewer partitions"):
        refused.all().result(CALL_S)


def test_rates_of_reassignments_are_refused_with_what_to_do(leading: Controller) -> None:
    refused = leading.admin.alter_interbroker_throttled_rates({1: ThrottledRate(5000, 5000)}, family="reassignment")
    poll(leading)
    with pytest.raises(InvalidRequest, match="replication"):
        refused.all().result(CALL_S)
