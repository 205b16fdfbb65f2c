"""The schemas of `kedge.controller.wire.messages`, one file a message, in the notation of Kafka's own, which the codec
reads (`apiKey`, `versions`, `nullableVersions`, `taggedVersions`). The codec finds a file by the name of its class.
`kafkaName` is given where a field could not keep Kafka's name: `type` is taken by the codec.

Kedge's additions to a message of Kafka are tagged fields with numbers from 20000 up, so that they do not collide with
Kafka's fields and other peers ignore them: 20000 StatusCode, 20001 TargetReplicas, 20002 TopicId.
"""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = __name__
"""The place where the codec looks for the files: the name of this package."""
