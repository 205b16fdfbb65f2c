"""A host that lives in asyncio: the controller runs on its threads, the host awaits its futures."""

from __future__ import annotations

import asyncio

from controller.model.host import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kedge import BrokerRegistration, Controller, HostResponse, MemoryStore, NewTopic, TopicPartition


class Brokers:
    """Says yes to everything; a host with logs would hand these to its loop and wait for it."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return HostResponse()

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return HostResponse()

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return HostResponse()


async def main() -> None:
    with Controller(MemoryStore(), node_id=1, host=Brokers()) as controller:
        controller.start()
        for broker_id in (1, 2, 3):
            await asyncio.to_thread(controller.register_broker, BrokerRegistration(broker_id))
        async with asyncio.timeout(10):
            while len(controller.describe().live_brokers) < 3:
                await asyncio.sleep(0.01)
        created = controller.admin.create_topics({"orders": NewTopic(num_partitions=2, replication_factor=2)})
        topic = (await asyncio.wrap_future(created.all()))["orders"]
        print(topic)
        spare = next(b for b in (1, 2, 3) if b not in topic.assignments[0])
        move = controller.admin.alter_partition_reassignments({TopicPartition("orders", 0): [spare]})
        answers = await asyncio.wrap_future(move.all())
        print(answers)
        listing = await asyncio.wrap_future(controller.admin.list_partition_reassignments())
        print(dict(listing))


if __name__ == "__main__":
    asyncio.run(main())
