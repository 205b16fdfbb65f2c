"""Which topics are meant by --topic: a regular expression for the whole name, or several after commas, as Kafka's tool
takes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from controller.cli.kafka.errors import Failed
from controller.cli.kafka.values import TopicState
from controller.cli.topics.asked import Asked

if TYPE_CHECKING:  # options are checked where kafka-python is not installed
    from controller.cli.kafka.cluster import Cluster


def chosen(cluster: Cluster, asked: Asked) -> dict[str, TopicState]:
    """Those that exist, by name. Raises Failed where none does, unless --if-exists."""
    found = {
        name: topic
        for name, topic in cluster.topics().items()
        if _is_meant(topic, asked) and not (asked.exclude_internal and topic.is_internal)
    }
    if not found and not asked.if_exists:
        if asked.topic_id is not None:
            raise failure(f"TopicId '{asked.topic_id}' does not exist as expected")
        if asked.topic is not None:
            raise failure(f"Topic '{asked.topic}' does not exist as expected")
    return found


def failure(problem: object, *, answered: bool = False) -> Failed:
    """As Kafka's tool says it. `answered`: see Failed."""
    return Failed(f"Error while executing topic command : {problem}", terse=True, answered=answered)


def pattern(given: str) -> re.Pattern[str]:
    """Of --topic. Raises re.error."""
    return re.compile(given.strip().replace(",", "|").replace(" ", "").strip("\"'"))


def _is_meant(topic: TopicState, asked: Asked) -> bool:
    if asked.topic_id is not None:
        return topic.topic_id == asked.topic_id
    return asked.topic is None or pattern(asked.topic).fullmatch(topic.name) is not None
