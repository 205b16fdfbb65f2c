"""What the partitions of a cluster to measure on look like: planted or realistic.

* planted: every topic has the same number of partitions, replicas go round the brokers, every ISR is in the order of
  the replicas, every epoch is the first. Few rows differ, so whatever is kept or decoded once per distinct value costs
  next to nothing, and the figures flatter.
* realistic: as many topics and partitions in all, but the sizes of the topics are heavy-tailed, the replicas are random
  brokers out of 100, 30 % of the ISRs are in another order than the replicas, and leader epochs and controller epochs
  differ. From a fixed seed.

The first replica leads in both, and topics have the same names: `topic-000000` and so on.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

import attrs

from kedge.controller.model.values import Partition, Replicas, Topic

CONTENTS: Final = ("planted", "realistic")
FIRST_BROKER: Final = 1001
REALISTIC_BROKERS: Final = 100
REPLICATION_FACTOR: Final = 3
REORDERED_SHARE: Final = 0.3
LEADER_EPOCHS: Final = 1_000
CONTROLLER_EPOCHS: Final = 60
_SEED: Final = 1122
_TAIL: Final = 1.2  # the exponent of the Pareto distribution: the less, the heavier the tail
_LARGEST: Final = 200  # times the smallest, before all are scaled: a topic has to fit into one key


@attrs.frozen
class Made:
    """A topic, its partitions, and the controller epoch in the state key of each."""

    topic: Topic
    partitions: tuple[Partition, ...]
    controller_epochs: tuple[int, ...]


def topics_of(content: str, topics: int, partitions: int, brokers: int) -> Iterator[Made]:
    """`topics` x `partitions` in all, over `brokers` brokers if the content is planted."""
    return _planted(topics, partitions, brokers) if content == "planted" else realistic(topics, topics * partitions)


def _planted(topics: int, partitions: int, brokers: int) -> Iterator[Made]:
    for index in range(topics):
        name = f"topic-{index:06d}"
        rows = []
        for p in range(partitions):
            first = index * partitions + p
            replicas = tuple(FIRST_BROKER + (first + i) % brokers for i in range(REPLICATION_FACTOR))
            rows.append(Partition(name, p, replicas, replicas, replicas[0], 0))
        yield Made(Topic(name, f"{index:022d}"), tuple(rows), (1,) * partitions)


def realistic(
    topics: int, partitions: int, brokers: Sequence[int] = range(FIRST_BROKER, FIRST_BROKER + REALISTIC_BROKERS)
) -> Iterator[Made]:
    """Realistic content with `partitions` in all, over these brokers."""
    chance = Random(_SEED)
    for index, size in enumerate(_sizes(chance, topics, partitions)):
        name = f"topic-{index:06d}"
        rows = []
        for p in range(size):
            replicas = tuple(chance.sample(brokers, REPLICATION_FACTOR))
            isr = _reordered(chance, replicas) if chance.random() < REORDERED_SHARE else replicas
            rows.append(Partition(name, p, replicas, isr, replicas[0], chance.randrange(LEADER_EPOCHS)))
        topic_id = urlsafe_b64encode(chance.randbytes(16)).rstrip(b"=").decode()
        epochs = tuple(chance.randrange(1, CONTROLLER_EPOCHS) for _ in rows)
        yield Made(Topic(name, topic_id), tuple(rows), epochs)


def _sizes(chance: Random, topics: int, partitions: int) -> list[int]:
    """How many partitions each topic has: at least one, and `partitions` in all."""
    weights = [min(chance.paretovariate(_TAIL), _LARGEST) for _ in range(topics)]
    total = sum(weights)
    sizes = [1 + int((partitions - topics) * weight / total) for weight in weights]
    for index in range(partitions - sum(sizes)):  # what rounding down left: less than one for each topic
        sizes[index] += 1
    return sizes


def _reordered(chance: Random, replicas: Replicas) -> Replicas:
    isr = replicas
    while isr == replicas:
        isr = tuple(chance.sample(replicas, len(replicas)))
    return isr
