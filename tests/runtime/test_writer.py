"""What a batch writes of partitions: most of all keys, so that they have a short way, which must not part from the one
that all kinds of keys have."""

from __future__ import annotations

import attrs
import hypothesis.strategies as st
import pytest
from hypothesis import given

from kedge.controller.keys.base import KeyContext
from kedge.controller.keys.states import StateKeys
from kedge.controller.keys.table import KeyKinds
from kedge.controller.model.values import LEADER_DURING_DELETE, NO_LEADER, Partition, Settings, Topic
from kedge.controller.records import PartitionChanged
from kedge.controller.runtime.writer import FIXED_BYTES, Writer
from kedge.controller.state import ClusterState, DirtyKey, apply
from kedge.stores import MemoryStore
from kedge.stores.base import Version
from tests.codec.strategies import PARTITIONS

DIRTY_KEY: DirtyKey = ("state", 0)
WITHOUT_STATE = st.builds(
    lambda partition, leader: attrs.evolve(partition, isr=(), leader=leader, move=None),
    PARTITIONS,
    st.sampled_from([NO_LEADER, LEADER_DURING_DELETE]),
)


def holding(partition: Partition, version: int = 0, generation: int = -1) -> ClusterState:
    """A state with this partition alone, which a batch has changed; its key stands so."""
    state = ClusterState(1, 7, Settings())
    state.add_partition(state.add_topic(Topic("t", "i"), {}), partition, version, generation)
    apply(state, PartitionChanged(partition, partition))
    state.batch.dirty_keys.pop(("parent", ("t", 0)), None)  # of a stopped partition without a state key
    return state


@pytest.mark.slow
@given(PARTITIONS | WITHOUT_STATE)
def test_a_state_key_is_reckoned_in_a_batch_as_by_itself(partition: Partition) -> None:
    """To the byte: one less, and the batch would outgrow the store."""
    state = holding(partition)
    writer = Writer(KeyKinds(KeyContext(state, MemoryStore())))
    bytes_max = FIXED_BYTES + writer.cost_max(DIRTY_KEY)
    assert writer.fits(state.batch, bytes_max)
    assert not writer.fits(state.batch, bytes_max - 1)


@pytest.mark.slow
@given(PARTITIONS | WITHOUT_STATE, st.sampled_from([0, 1, 77]))
def test_a_state_key_is_written_in_a_batch_as_by_itself(partition: Partition, version: int) -> None:
    """The same key, value and expectation; nothing where there is nothing to write."""
    state = holding(partition, version)
    kind = StateKeys(KeyContext(state, MemoryStore()))
    dirty_keys, ops = Writer(KeyKinds(KeyContext(state, MemoryStore()))).ops(state.batch, 3)
    op = kind.op(0, kind.key(0))
    assert ops == ([] if op is None else [op])
    assert dirty_keys == ([] if op is None else [DIRTY_KEY])


@pytest.mark.parametrize("stood, generation", [(0, -1), (5, 0), (5, 8)])
@pytest.mark.parametrize("left", [9, None])
def test_where_a_state_key_stands_is_known_after_a_batch_as_by_itself(
    stood: int, generation: int, left: int | None
) -> None:
    """Its version, and how often it was written since it was made."""
    partition = Partition("t", 0, (1, 2), (1, 2), 1, 3)
    batch, alone = holding(partition, stood, generation), holding(partition, stood, generation)
    writer = Writer(KeyKinds(KeyContext(batch, MemoryStore())))
    dirty_keys, ops = writer.ops(batch.batch, 3)
    writer.committed(dirty_keys, ops, [None if left is None else Version(left)], 3)
    kind = StateKeys(KeyContext(alone, MemoryStore()))
    kind.committed(0, kind.key(0), left or 0)
    assert batch.key_version("t", 0) == alone.key_version("t", 0)
    assert batch.key_version("t", 0).generation == (-1 if left is None else generation + 1)
