"""Settings altered on real stores: with the notification, known to the next controller."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

import pytest

from kedge import AlterConfigOp, ConfigResource, ConfigResourceType, Controller, HostResponse
from kedge.stores import ABSENT, MetadataStore, Put, open_store
from tests.real.served import Served

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]

WAIT_S = 30.0
CALL_S = 10.0
TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
BROKER = ConfigResource(ConfigResourceType.BROKER, "1")
RATE = "leader.reassignment.throttled.rate"
CHANGES = "/config/changes"


class Host:
    """A host without brokers, which remembers the settings that it heard of."""

    def __init__(self) -> None:
        self.told: dict[tuple[str, str], dict[str, str]] = {}

    def config_changed(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        self.told[kind, name] = dict(configs)

    def leader_and_isr(self, _: object) -> HostResponse:
        return HostResponse()

    update_metadata = stop_replica = leader_and_isr


def drive(controller: Controller, until: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not until():
        assert time.monotonic() < deadline_s
        controller.poll_once(0.05)


def read(store: MetadataStore, key: str) -> object:
    entry = store.get(key, sync=True, timeout_s=CALL_S)
    return None if entry is None else json.loads(entry.value)


@pytest.mark.checklist(184)
def test_settings_stand_with_their_notifications_and_outlive_the_controller(served: Served) -> None:
    """Each change under the next number, in one commit with its key; the next controller tells all of them."""
    store = open_store(served.place)
    put = "/brokers/topics/t", json.dumps({"version": 1, "partitions": {"0": [1]}}).encode()
    store.commit([Put(*put, ABSENT)], timeout_s=CALL_S)
    for number, value in enumerate(("1000", "2000")):
        host = Host()
        with Controller(open_store(served.place), number, host) as controller:
            drive(controller, lambda c=controller: c.is_active)  # type: ignore[misc]
            if number:
                drive(controller, lambda h=host: ("topics", "t") in h.told)  # type: ignore[misc]
                assert host.told["brokers", "1"] == {RATE: "1000"}
                assert host.told["topics", "t"] == {"retention.ms": "1000"}
            done = controller.admin.incremental_alter_configs(
                {TOPIC: [AlterConfigOp("retention.ms", value)], BROKER: [AlterConfigOp(RATE, value)]}
            ).all()
            drive(controller, done.done)
            done.result(0)
        assert read(store, "/config/topics/t") == {"version": 1, "config": {"retention.ms": value}}
        assert read(store, "/config/brokers/1") == {"version": 1, "config": {RATE: value}}
    names = store.children(CHANGES, timeout_s=CALL_S)
    assert names == [f"config_change_{number:010d}" for number in range(4)]
    said = [read(store, f"{CHANGES}/{name}") for name in names]
    assert said == 2 * [{"version": 2, "entity_path": path} for path in ("topics/t", "brokers/1")]
    store.close()
