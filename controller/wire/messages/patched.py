"""Messages of Kafka with additions.

* MetadataResponse has the status of partitions (KIP-694). The KIP adds an INT8 to version 10, which Kafka has used for
  something else since. So `status_code` is a tagged field (number 20000) of the partition in the flexible versions,
  from 9 up: 0 (online) where it is absent, -1 read-only. A client that does not know it ignores it, and an answer with
  only online partitions has the same bytes as Kafka's.
* Requests about moves have nullable lists of topics and partitions (`apis.reassignments`).
"""

from __future__ import annotations

import weakref
from typing import Any, Final

from kafka.protocol import admin, metadata

from ..codec import ResponseClassRegistry

Json = dict[str, Any]

STATUS_CODE: Final = {
    "name": "StatusCode",
    "type": "int8",
    "versions": "9+",
    "tag": 20000,
    "taggedVersions": "9+",
    "default": "0",
}


def _field(json: Json, name: str) -> Json:
    [found] = (field for field in json["fields"] if field["name"] == name)
    field: Json = found
    return field


class MetadataResponse(metadata.MetadataResponse):
    @classmethod
    def json_patch(cls, json: Json) -> Json:
        patched: Json = metadata.MetadataResponse.json_patch(json)
        _field(_field(patched, "Topics"), "Partitions")["fields"].append(STATUS_CODE)
        return patched


# A new response class replaces the one that kafka-python's clients read with. Theirs is put back: what a client in the
# same process understands must not depend on whether a gateway was imported.
ResponseClassRegistry.register_response_class(weakref.proxy(metadata.MetadataResponse))


def _nullable(json: Json, partitions: str) -> Json:
    topics = _field(json, "Topics")
    topics["nullableVersions"] = _field(topics, partitions)["nullableVersions"] = "0+"
    return json


class AlterPartitionReassignmentsRequest(admin.AlterPartitionReassignmentsRequest):
    @classmethod
    def json_patch(cls, json: Json) -> Json:
        return _nullable(json, "Partitions")


class ListPartitionReassignmentsRequest(admin.ListPartitionReassignmentsRequest):
    @classmethod
    def json_patch(cls, json: Json) -> Json:
        return _nullable(json, "PartitionIndexes")


PATCHED: Final[dict[str, Any]] = {
    kind.__name__: kind
    for kind in (MetadataResponse, AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest)
}
