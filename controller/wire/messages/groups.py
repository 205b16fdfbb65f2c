"""Messages of consumer groups that the codec lacks, as in Kafka 3.9.

* ConsumerGroupHeartbeat (68, KIP-848), which is only refused; version 1 is Kafka 4's.
* Keys and values of the records that coordinators write into `__consumer_offsets`. A key begins with its version, which
  also says its kind: 0 and 1 an offset, 2 a group. Kafka writes keys 1 and 2, and values 3.
"""

from __future__ import annotations

from ..codec import ApiData, ApiMessage
from .schemas import SCHEMAS


class ConsumerGroupHeartbeatRequest(ApiMessage, load_json=SCHEMAS):
    pass


class ConsumerGroupHeartbeatResponse(ApiMessage, load_json=SCHEMAS):
    pass


class OffsetCommitKey(ApiData, load_json=SCHEMAS):
    pass


class OffsetCommitValue(ApiData, load_json=SCHEMAS):
    pass


class GroupMetadataKey(ApiData, load_json=SCHEMAS):
    pass


class GroupMetadataValue(ApiData, load_json=SCHEMAS):
    pass
