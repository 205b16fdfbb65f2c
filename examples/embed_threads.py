"""A broker process that lets the controller run on threads of its own: three processes in one, each with its own
broker, its own controller and its own client of one store. The active one is closed, a stand-by takes over."""

from __future__ import annotations

import threading

from kedge import (
    BrokerRegistration,
    Controller,
    HostResponse,
    LeaderAndIsrRequest,
    MemoryServer,
    MemoryStore,
    NewTopic,
    StopReplicaRequest,
    UpdateMetadataRequest,
)

TIMEOUT_S = 10.0


class Process:
    """What would be one broker's process."""

    def __init__(self, server: MemoryServer, broker_id: int, cluster: dict[int, Process]) -> None:
        self.cluster = cluster
        self.leads: set[tuple[str, int]] = set()
        self.told = threading.Condition()
        self.controller = Controller(MemoryStore(server), node_id=broker_id, host=self)
        self.broker_id = broker_id

    def start(self) -> None:
        """From here on it is called, so a sender must find it in `cluster`."""
        self.controller.start()
        self.controller.register_broker(BrokerRegistration(self.broker_id, rack=f"rack-{self.broker_id % 3}"))

    # In one process per broker these calls would travel to the broker that the request names.
    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        self.cluster[request.broker_id].obey(request)
        return HostResponse()

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return HostResponse()

    def is_leading(self) -> bool:
        return bool(self.leads)

    def obey(self, request: LeaderAndIsrRequest) -> None:
        with self.told:
            for partition in request.partitions:
                mine = (partition.topic, partition.partition)
                (self.leads.add if partition.leader == request.broker_id else self.leads.discard)(mine)
            self.told.notify_all()


def active(cluster: dict[int, Process]) -> Process:
    while True:
        for process in cluster.values():
            if process.controller.is_active and len(process.controller.describe().live_brokers) == len(cluster):
                return process


def main() -> None:
    server = MemoryServer()
    cluster: dict[int, Process] = {}
    for broker_id in (1, 2, 3):
        cluster[broker_id] = Process(server, broker_id, cluster)
    for process in cluster.values():
        process.start()
    first = active(cluster)
    created = first.controller.admin.create_topics({"orders": NewTopic(num_partitions=3, replication_factor=2)})
    print(created.all().result(TIMEOUT_S)["orders"])
    for process in cluster.values():
        with process.told:
            assert process.told.wait_for(process.is_leading, TIMEOUT_S)

    first_id = next(broker_id for broker_id, process in cluster.items() if process is first)
    first.controller.close()
    rest = {broker_id: process for broker_id, process in cluster.items() if process is not first}
    second = active(rest)
    print(f"{first_id} closed, {second.controller.active_id} leads under epoch {second.controller.controller_epoch}")
    for process in rest.values():
        process.controller.close()


if __name__ == "__main__":
    main()
