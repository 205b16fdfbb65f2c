"""A host that lives in asyncio: the controller runs on its threads, callbacks are coroutines, answers are awaited."""

from __future__ import annotations

import asyncio

from kedge import (
    AsyncController,
    BrokerRegistration,
    Controller,
    HostOnLoop,
    HostResponse,
    LeaderAndIsrRequest,
    MemoryStore,
    NewTopic,
    StopReplicaRequest,
    TopicPartition,
    UpdateMetadataRequest,
)


class Brokers:
    """Says yes to everything; a host with logs would send the request to its broker and await the answer."""

    async def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse:
        return HostResponse()

    async def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse:
        return HostResponse()

    async def stop_replica(self, request: StopReplicaRequest) -> HostResponse:
        return HostResponse()


async def main() -> None:
    controller = AsyncController(Controller(MemoryStore(), node_id=1, host=HostOnLoop(Brokers())))
    async with controller.running():
        for broker_id in (1, 2, 3):
            await controller.register_broker(BrokerRegistration(broker_id))
        async with asyncio.timeout(10):
            while len(controller.sync.describe().live_brokers) < 3:
                await asyncio.sleep(0.01)
        created = controller.admin.create_topics({"orders": NewTopic(num_partitions=2, replication_factor=2)})
        topic = await created["orders"]
        print(topic)
        spare = next(b for b in (1, 2, 3) if b not in topic.assignments[0])
        print(await controller.admin.alter_partition_reassignments({TopicPartition("orders", 0): [spare]}))
        print(dict(await controller.admin.list_partition_reassignments()))


if __name__ == "__main__":
    asyncio.run(main())
