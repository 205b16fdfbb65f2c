"""A host under test: how a test starts the brokers of a host, lets time pass for them, and inspects them.

* One `HostUnderTest` serves one case or one seed: it creates brokers without logs. It reports the real state of the
  brokers, not the requests that they got.
* Brokers may act later, on their own threads: tests wait, with a deadline, in the host's own time (`pass_time`). That
  something does not happen is checked after `quiet_ms` of it. Only an acknowledged deletion must be complete before the
  answer.
"""

from __future__ import annotations

import abc
import enum
import time
from collections.abc import Callable, Sequence

import attrs

from ...model.host import Host, PartitionMetadata
from ...model.values import TARGETS_SINCE, Replicas, TopicPartition
from ...simulated.replica import Role
from .isr_calls import IsrUpdater


class Ability(enum.Enum):
    """What a host can do, or lets the suite do to it; without one, the cases that need it are left out and counted."""

    METADATA = "metadata"  # reports what its brokers know by UpdateMetadata: `known`
    TARGETS = "targets"  # supports target_replicas: LeaderAndIsr version 3
    STRICT = "strict"  # answers 56 wherever is_new is false and there is no log, even on a disk that never failed
    RECORDS = "records"  # its leaders take records: `append`
    COPIES = "copies"  # its followers copy from its leaders
    ISR = "isr"  # its leaders request isr changes at the updater that `use` sets
    RESTART = "restart"  # the process of a broker can end and start again: `restart`
    DISKS = "disks"  # a disk can fail and be replaced: `lose_disk`, `replace_disk`
    FAILURE = "failure"  # a callback can be made to raise: `fail_next`
    CONTENTS = "contents"  # shows the records in a log, and which of them are acknowledged: `read`


@attrs.frozen
class Held:
    """A replica as it is on its broker. IDLE: it serves no requests. `isr` is checked where it leads, `end_offset`
    (records in the log) where the host declares RECORDS."""

    role: Role
    leader: int
    leader_epoch: int
    isr: Replicas = ()
    end_offset: int = 0


@attrs.frozen
class Contents:
    """The log of a replica. `records`: a value for each record, from offset 0 on; two records that `append` wrote must
    have different values. `high_watermark`: the records below it are acknowledged, as far as this broker knows."""

    records: Sequence[object]
    high_watermark: int


class HostUnderTest(abc.ABC):
    """A host, with the functions that the suite needs. One object serves one case."""

    name: str = "unnamed"
    abilities: frozenset[Ability] = frozenset()
    leader_and_isr_version: int = TARGETS_SINCE
    wait_ms: int = 20_000  # the deadline of all waiting
    quiet_ms: int = 50  # the wait before checking that something did not happen; ten times that for the isr cases

    @abc.abstractmethod
    def open(self, broker_ids: Sequence[int]) -> Host:
        """Create running brokers with these ids, without logs; returns the callbacks for all of them."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close all that was opened."""

    @abc.abstractmethod
    def registered(self, broker_id: int, epoch: int) -> None:
        """The broker was registered, or registered again, under this epoch, which is above all former ones."""

    @abc.abstractmethod
    def held(self, broker_id: int, tp: TopicPartition, topic_id: str) -> Held | None:
        """The replica of the topic with this id, serving or not; None where the broker has no log of it."""

    def pass_time(self, ms: int) -> None:
        """Let `ms` of the host's time pass, in which it acts by itself. Here: the time of the machine."""
        time.sleep(ms / 1000)

    def known(self, broker_id: int, tp: TopicPartition) -> PartitionMetadata | None:
        """Ability.METADATA: the broker's metadata of a partition, by UpdateMetadata; None if it has none."""
        raise NotImplementedError

    def append(self, broker_id: int, tp: TopicPartition, records: int) -> int:
        """Ability.RECORDS: write records to the broker as the leader; returns how many it took (0: it does not
        lead)."""
        raise NotImplementedError

    def read(self, broker_id: int, tp: TopicPartition, topic_id: str) -> Contents:
        """Ability.CONTENTS: the log of a replica for which `held` returns one, serving or not."""
        raise NotImplementedError

    def use(self, updater: IsrUpdater) -> None:
        """Ability.ISR: leaders call `updater.alter_isr` from now on. Called before the first callback."""
        raise NotImplementedError

    def restart(self, broker_id: int) -> None:
        """Ability.RESTART: the process ends and starts again, with its logs; `registered` follows."""
        raise NotImplementedError

    def lose_disk(self, broker_id: int, tp: TopicPartition) -> None:
        """Ability.DISKS: the disk with this replica fails, those of other partitions do not."""
        raise NotImplementedError

    def replace_disk(self, broker_id: int) -> None:
        """Ability.DISKS: an empty disk replaces the failed one. The broker may be restarted for it; `registered`
        follows."""
        raise NotImplementedError

    def fail_next(self, broker_id: int) -> None:
        """Ability.FAILURE: the next callback to the broker raises, before or after it was obeyed."""
        raise NotImplementedError


def made(make: Callable[[], HostUnderTest]) -> HostUnderTest:
    """A host under test with valid attributes. Raises TypeError, ValueError."""
    if not callable(make):
        raise TypeError(f"check makes a host for each case: it takes a class or a function, not {make!r:.200}")
    host = make()
    if not isinstance(host, HostUnderTest):
        raise TypeError(f"make must return a HostUnderTest, not {host!r:.200}")
    if unknown := [ability for ability in host.abilities if not isinstance(ability, Ability)]:
        raise TypeError(f"abilities are members of Ability, not {unknown[0]!r:.80}")
    if host.wait_ms <= 0 or host.quiet_ms < 0:
        raise ValueError(f"wait_ms must be above 0, quiet_ms not below it: {host.wait_ms}, {host.quiet_ms}")
    return host
