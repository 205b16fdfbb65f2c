"""A broker in a process of its own: it registers at a gateway, beats, and does what the controller orders by TCP.

    python examples/remote/broker.py --gateway 127.0.0.1:9092 --id 1 --rack a

Its logs are empty, so every follower is in sync; the rest is as it has to be. SIGTERM hands leadership over
first, where another can take it before --patience is over.
"""

import argparse
import asyncio
import contextlib
import io
import signal
import uuid
from typing import Any

from kafka.protocol.api_header import RequestHeader
from kafka.protocol.consumer.fetch import FetchRequest, FetchResponse
from kafka.protocol.metadata.api_versions import ApiVersionsRequest, ApiVersionsResponse

from kedge.gateway import messages as m

NOT_LEADER, STALE_CONTROLLER_EPOCH, STORAGE_ERROR, FENCED_LEADER_EPOCH, STALE_BROKER_EPOCH = 6, 11, 56, 74, 77
ANSWER_S = 30.0
FETCH, FetchTopic, Fetched = 11, FetchRequest.FetchTopic, FetchResponse.FetchableTopicResponse
TopicError, TopicData = m.LeaderAndIsrResponse.LeaderAndIsrTopicError, m.AlterPartitionRequest.TopicData


class Broker:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.id, self.gateway = options, options.id, options.gateway.rsplit(":", 1)
        self.incarnation, self.epoch, self.controller_epoch = uuid.uuid4(), -1, -1
        self.logs: dict[tuple[str, int], Any] = {}  # what is on "disk": topic and partition -> the topic's id
        self.roles: dict[tuple[str, int], Any] = {}  # what LeaderAndIsr said last
        self.peers: dict[int, tuple[str, int]] = {}
        self.serving: dict[Any, asyncio.StreamWriter] = {}
        self.served = {  # one version of each
            18: (ApiVersionsRequest, 0, self.api_versions),
            1: (FetchRequest, FETCH, self.fetch),
            4: (m.LeaderAndIsrRequest, 7, self.leader_and_isr),
            5: (m.StopReplicaRequest, 4, self.stop_replica),
            6: (m.UpdateMetadataRequest, 8, self.update_metadata),
        }

    async def frame(self, reader: asyncio.StreamReader) -> bytes:
        return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.serving[asyncio.current_task()] = writer
        with contextlib.closing(writer), contextlib.suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await self.frame(reader)
                header = RequestHeader.decode(io.BytesIO(frame), flexible=False)
                request, version, answer = self.served[header.request_api_key]
                response = await answer(request.decode(frame, version=version, header=True))
                response.with_header(header.correlation_id)
                writer.write(response.encode(header=True, framed=True))
        del self.serving[asyncio.current_task()]

    async def api_versions(self, _: Any) -> Any:
        rows = [ApiVersionsResponse.ApiVersion(key, v, v, version=0) for key, (_, v, _) in self.served.items()]
        return ApiVersionsResponse(version=0, api_keys=rows)

    def refuse(self, order: Any) -> int:
        """The error of a stale order. The epochs of any other are the present ones."""
        if order.controller_epoch < self.controller_epoch or order.broker_epoch < self.epoch:
            return STALE_CONTROLLER_EPOCH if order.controller_epoch < self.controller_epoch else STALE_BROKER_EPOCH
        self.controller_epoch, self.epoch = order.controller_epoch, order.broker_epoch
        return 0

    async def leader_and_isr(self, order: Any) -> Any:
        if error := self.refuse(order):
            return m.LeaderAndIsrResponse(version=7, error_code=error)
        named = {(t.topic_name, p.partition_index): (t, p) for t in order.topic_states for p in t.partition_states}
        if order.request_type == 2:  # full: what is not named is not served any more
            self.roles = {key: role for key, role in self.roles.items() if key in named}
        wrong = []
        for key, (topic, p) in named.items():
            if self.logs.get(key) != topic.topic_id and not p.is_new:
                row = TopicError.LeaderAndIsrPartitionError(key[1], STORAGE_ERROR, version=7)
                wrong.append(TopicError(topic.topic_id, [row], version=7))
            elif key not in self.roles or p.leader_epoch >= self.roles[key].leader_epoch:
                self.logs[key], self.roles[key] = topic.topic_id, p
                print("leads" if p.leader == self.id else "follows", *key, "targets", p.target_replicas, flush=True)
        return m.LeaderAndIsrResponse(version=7, topics=wrong)

    async def update_metadata(self, order: Any) -> Any:
        if not (error := self.refuse(order)):
            self.peers = {each.id: (each.endpoints[0].host, each.endpoints[0].port) for each in order.live_brokers}
        return m.UpdateMetadataResponse(version=8, error_code=error)

    async def stop_replica(self, order: Any) -> Any:
        error, wrong = self.refuse(order), []
        for topic, p in [(t, p) for t in order.topic_states for p in t.partition_states if not error]:
            key = topic.topic_name, p.partition_index
            if self.logs.get(key) != topic.topic_id:
                continue
            if key in self.roles and p.leader_epoch < self.roles[key].leader_epoch:  # in silence it would be "deleted"
                wrong.append(m.StopReplicaResponse.StopReplicaPartitionError(*key, FENCED_LEADER_EPOCH, version=4))
                continue
            self.roles.pop(key, None)
            if p.delete_partition:
                del self.logs[key]
                print("deleted", *key, flush=True)
        return m.StopReplicaResponse(version=4, error_code=error, partition_errors=wrong)

    async def fetch(self, request: Any) -> Any:
        """Who fetches joins the isr. Where that is refused, an order is on its way that says otherwise."""
        key = request.topics[0].topic, request.topics[0].partitions[0].partition  # `live` asks for one at a time
        role: Any = self.roles.get(key)
        leads = role is not None and role.leader == self.id
        if leads and request.replica_id in role.replicas and request.replica_id not in role.isr:
            change = (key[1], role.leader_epoch, [*role.isr, request.replica_id], 0, role.partition_epoch)
            wanted = TopicData(self.logs[key], [TopicData.PartitionData(*change, version=2)], version=2)
            answer = await self.ask(self.gateway, m.AlterPartitionRequest(self.id, self.epoch, [wanted], version=2))
            for p in (p for t in answer.topics for p in t.partitions if not p.error_code):
                role.isr, role.partition_epoch = p.isr, p.partition_epoch
        row = Fetched.PartitionData(version=FETCH, partition_index=key[1], error_code=0 if leads else NOT_LEADER)
        return FetchResponse(version=FETCH, responses=[Fetched(version=FETCH, topic=key[0], partitions=[row])])

    async def ask(self, address: Any, request: Any) -> Any:
        async with asyncio.timeout(ANSWER_S):  # TimeoutError is an OSError
            reader, writer = await asyncio.open_connection(*address)
            with contextlib.closing(writer):
                request.with_header(1, f"broker-{self.id}")
                writer.write(request.encode(header=True, framed=True))
                return request.header.get_response_class().decode(await self.frame(reader), header=True)

    async def beat(self, port: int, leaving: asyncio.Event) -> bool:
        beat = m.BrokerHeartbeatRequest(self.id, self.epoch, version=1, want_shut_down=leaving.is_set())
        answer = await self.ask(self.gateway, beat)
        if answer.error_code == STALE_BROKER_EPOCH:
            listener = m.BrokerRegistrationRequest.Listener("PLAINTEXT", "127.0.0.1", port, 0, version=4)
            who: Any = (self.id, self.options.cluster_id, self.incarnation, [listener], [], self.options.rack)
            self.epoch = (await self.ask(self.gateway, m.BrokerRegistrationRequest(*who, version=4))).broker_epoch
            print("registered under epoch", self.epoch, flush=True)
        return bool(answer.should_shut_down)  # it may go

    async def live(self) -> None:
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        leaving, may_go, patience = asyncio.Event(), False, self.options.patience
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, leaving.set)
        while not may_go and patience > 0:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):  # an absent gateway is tried again
                may_go = await self.beat(server.sockets[0].getsockname()[1], leaving)
                for (topic, partition), role in list(self.roles.items()):
                    if role.leader in self.peers and self.id not in role.isr:
                        fetch = FetchRequest(replica_id=self.id, version=FETCH)
                        asked = [FetchTopic.FetchPartition(partition, version=FETCH)]
                        fetch.topics = [FetchTopic(topic, asked, version=FETCH)]
                        await self.ask(self.peers[role.leader], fetch)
            await asyncio.sleep(self.options.beat)
            patience -= self.options.beat if leaving.is_set() else 0
        server.close()
        serving = list(self.serving)
        for writer in self.serving.values():
            writer.close()
        await asyncio.gather(*serving)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    options = {"gateway": "127.0.0.1:9092", "id": 1, "rack": "", "cluster-id": "kedge"}
    options |= {"beat": 1.0, "patience": 30.0}  # seconds
    for name, default in options.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    asyncio.run(Broker(parser.parse_args()).live())
