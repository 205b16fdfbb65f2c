"""The coordinators of groups in a live cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

import attrs

from ..coordinators import OFFSETS_TOPIC, CoordinatorError
from ..groups import Coordinator, refused
from ..groups.consumer.values import Topic, Topics
from ..groups.records import GroupCodec
from ..groups.replies import Reply
from ..groups.requests import Commit, DeleteOffsets, FetchOffsets, GroupRequest, GroupSettings
from ..model.values import TopicPartition
from .coordinators import Coordinators
from .led import Led


@attrs.define(eq=False)
class LiveGroups(Coordinators[Coordinator, GroupCodec]):
    """One for each partition of `__consumer_offsets`."""

    topic: ClassVar[str] = OFFSETS_TOPIC
    settings: GroupSettings = attrs.field(factory=GroupSettings)
    _topics: dict[int, tuple[int, Topics]] = attrs.field(factory=dict, init=False)
    _topic_ids: dict[TopicPartition, str] = attrs.field(factory=dict, init=False)
    _gone_ids: set[str] = attrs.field(factory=set, init=False)
    _replaced_ms: dict[TopicPartition, int] = attrs.field(factory=dict, init=False)

    def begin(self, codec: GroupCodec, settings: GroupSettings | None = None) -> None:
        """Answer requests from now on. `codec`: for the records."""
        self._codec = codec
        self.settings = settings or self.settings

    def transaction_ended(self, partition: int, producer_id: int, *, is_commit: bool) -> None:
        """The marker of the producer's transaction is in this partition. Called by the thread that steps."""
        for led in [led for place, led in self._led.items() if place[1] == partition]:
            self._turn(led, led.coordinator.transaction_ended, producer_id, self._now_ms(), is_commit=is_commit)

    def _made(self, codec: GroupCodec) -> Coordinator:
        return Coordinator(self.settings, codec, self._held)

    def _name_in(self, asked: GroupRequest) -> str:
        return asked.group

    def _refused(self, asked: GroupRequest) -> Reply:
        return refused(asked, CoordinatorError.NOT_COORDINATOR)

    def _prepared(self, led: Led[Coordinator], asked: GroupRequest) -> GroupRequest:
        led.coordinator.topics = self._topics_by(led)
        if isinstance(asked, FetchOffsets):
            self._forget(led, self._topic_ids if asked.wanted is None else asked.wanted)
        if isinstance(asked, Commit):
            self._forget(led, asked.offsets)
            return attrs.evolve(asked, unknown=self._unknown(asked.offsets))
        if isinstance(asked, DeleteOffsets):
            return attrs.evolve(asked, unknown=self._unknown(asked.partitions))
        return asked

    def _loaded(self, led: Led[Coordinator]) -> None:
        led.coordinator.topics = self._topics_by(led)
        self._turn(led, led.coordinator.forget, self._replaced_ms, self._now_ms())

    def _topics_by(self, led: Led[Coordinator]) -> Topics:
        """The topics by the metadata of the coordinator's broker; those of before until it has some, after a start."""
        broker = self.brokers[led.broker_id]
        version, topics = self._topics.get(led.broker_id, (-1, Topics()))
        if version == broker.topics_version or led.tp not in broker.metadata:
            return topics
        counts = Counter((tp.topic, said.topic_id) for tp, said in broker.metadata.items())
        topics = Topics({name: Topic(topic_id, count) for (name, topic_id), count in counts.items()})
        self._topics[led.broker_id] = (broker.topics_version, topics)
        return topics

    def _forget(self, led: Led[Coordinator], partitions: Iterable[TopicPartition]) -> None:
        """Drop the offsets of a topic that was deleted and created again under its name. A broker that lags may still
        report the former topic."""
        metadata, replaced = self.brokers[led.broker_id].metadata, []
        for tp in list(partitions):
            said = metadata.get(tp)
            if said is None or said.topic_id in self._gone_ids:
                continue
            before = self._topic_ids.setdefault(tp, said.topic_id)
            if before != said.topic_id:
                self._topic_ids[tp] = said.topic_id
                self._gone_ids.add(before)
                self._replaced_ms[tp] = self._now_ms()
                replaced.append(tp)
        for each in list(self._led.values()) if replaced else ():
            before_ms = dict.fromkeys(replaced, self._now_ms() + 1)
            self._turn(each, each.coordinator.forget, before_ms, self._now_ms())
