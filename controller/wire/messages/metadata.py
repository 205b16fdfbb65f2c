"""Kafka's MetadataResponse with the status of partitions (KIP-694).

The KIP adds an INT8 to version 10, which Kafka has used for something else since. So `status_code` is a tagged field
(number 20000) of the partition in the flexible versions, from 9 up: 0 (online) where it is absent, -1 read-only. A
client that does not know it ignores it, and an answer with only online partitions has the same bytes as Kafka's.
"""

from __future__ import annotations

import weakref
from typing import Any

from kafka.protocol import metadata as kafka_metadata

from ..codec import ResponseClassRegistry

STATUS_CODE = {
    "name": "StatusCode",
    "type": "int8",
    "versions": "9+",
    "tag": 20000,
    "taggedVersions": "9+",
    "default": "0",
}


class MetadataResponse(kafka_metadata.MetadataResponse):
    @classmethod
    def json_patch(cls, json: dict[str, Any]) -> dict[str, Any]:
        patched: dict[str, Any] = kafka_metadata.MetadataResponse.json_patch(json)
        [topics] = (field for field in patched["fields"] if field["name"] == "Topics")
        [partitions] = (field for field in topics["fields"] if field["name"] == "Partitions")
        partitions["fields"].append(STATUS_CODE)
        return patched


# A new response class replaces the one that kafka-python's clients read with. Theirs is put back: what a client in the
# same process understands must not depend on whether a gateway was imported.
ResponseClassRegistry.register_response_class(weakref.proxy(kafka_metadata.MetadataResponse))
