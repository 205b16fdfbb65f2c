"""The schemas of `controller.wire.messages`, one file a message, in the notation of Kafka's own, which the codec reads
(`apiKey`, `versions`, `nullableVersions`, `taggedVersions`). The codec finds a file by the name of its class.
`kafkaName` stands where a field could not keep Kafka's name: `type` is taken by the codec.

What is ours in a message of Kafka's is a tagged field with a number from 20000 up, so that no field of Kafka's is in
the way and a peer that does not know it passes over it: 20000 StatusCode, 20001 TargetReplicas, 20002 TopicId.
"""

from __future__ import annotations

from typing import Final

SCHEMAS: Final = __name__
"""Where the codec looks for the files: the name of this package."""
