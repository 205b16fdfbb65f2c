"""Records: small immutable values that say what changed. Nouns in the past tense, the journal's event names.

A record holds what stood before and what stands after, so that it can be undone without asking anyone. Most are about
one partition and differ only in name: `PartitionRecord`. How a record is applied, undone and journalled, and which keys
and brokers it makes dirty, stands in the tables of `controller.state.tables`.
"""

from controller.model.records.base import (
    KeyVersion,
    KeyVersions,
    PartitionRecord,
    Record,
)
from controller.model.records.brokers import (
    BrokerAskedAgain,
    BrokerForgotten,
    BrokerLeft,
    BrokerRegistered,
    BrokerShutsDown,
    DeathWorkedOff,
    DeleteIntended,
    DiskGone,
    IntentDropped,
    IntentsKeyEmptied,
    ReplicaDeleted,
)
from controller.model.records.found import (
    BadKey,
    ForeignChange,
    KeyVersionFound,
)
from controller.model.records.orders import (
    KeyConsumed,
    LegacyEntryRemoved,
    LegacyKeyBroken,
    LegacyKeyChanged,
    LegacyKeyRemoved,
    LegacyKeyRewritten,
    LegacySubmitted,
)
from controller.model.records.partitions import (
    IsrChanged,
    IsrShrunk,
    LeaderElected,
    ReplicasChanged,
    ReplicasGrown,
    StateFound,
    TargetCleared,
    TargetReplaced,
    TargetSet,
)
from controller.model.records.topics import (
    ConfigChanged,
    DeletionKeyFound,
    DeletionRefused,
    KeysRewritten,
    PartitionsAdded,
    PartitionStopped,
    StateKeyRemoved,
    TopicChanged,
    TopicCreated,
    TopicDeleted,
    TopicDeletionStarted,
    TopicFound,
)

__all__ = [
    "BadKey",
    "BrokerAskedAgain",
    "BrokerForgotten",
    "BrokerLeft",
    "BrokerRegistered",
    "BrokerShutsDown",
    "ConfigChanged",
    "DeathWorkedOff",
    "DeleteIntended",
    "DeletionKeyFound",
    "DeletionRefused",
    "DiskGone",
    "ForeignChange",
    "IntentDropped",
    "IntentsKeyEmptied",
    "IsrChanged",
    "IsrShrunk",
    "KeyConsumed",
    "KeyVersion",
    "KeyVersionFound",
    "KeyVersions",
    "KeysRewritten",
    "LeaderElected",
    "LegacyEntryRemoved",
    "LegacyKeyBroken",
    "LegacyKeyChanged",
    "LegacyKeyRemoved",
    "LegacyKeyRewritten",
    "LegacySubmitted",
    "PartitionRecord",
    "PartitionStopped",
    "PartitionsAdded",
    "Record",
    "ReplicaDeleted",
    "ReplicasChanged",
    "ReplicasGrown",
    "StateFound",
    "StateKeyRemoved",
    "TargetCleared",
    "TargetReplaced",
    "TargetSet",
    "TopicChanged",
    "TopicCreated",
    "TopicDeleted",
    "TopicDeletionStarted",
    "TopicFound",
]
