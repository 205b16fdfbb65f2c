"""What coordinators write into `__consumer_offsets`: keys and values of records, as Kafka's own. A key begins with its
version, which also says its kind: 0 and 1 an offset, 2 a group. Kafka 3.9 writes keys 1 and 2, and values 3."""

from __future__ import annotations

from kafka.protocol.api_data import ApiData

from controller.wire.messages.schemas import SCHEMAS


class OffsetCommitKey(ApiData, load_json=SCHEMAS):
    pass


class OffsetCommitValue(ApiData, load_json=SCHEMAS):
    pass


class GroupMetadataKey(ApiData, load_json=SCHEMAS):
    pass


class GroupMetadataValue(ApiData, load_json=SCHEMAS):
    pass
