"""Records: small immutable values that say what changed. Named in the past tense; the journal uses the same names.

A record holds the value before and after the change, so that it can be undone. A Decision has one for each partition
that it changes: `PartitionChanged`. The tables of `kedge.controller.state.tables` say how a record is applied, undone
and journalled, and which keys and brokers it makes dirty.
"""

from .base import (
    KeyAt,
    KeyVersion,
    KeyVersions,
    Record,
)
from .brokers import (
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
    RegistrationKnown,
    RegistrationUnread,
    ReplicaDeleted,
)
from .configs import BrokerConfigChanged, ChangePurged, ConfigChanged, ConfigsAltered
from .found import (
    BadKey,
    ForeignChange,
    KeyAdopted,
    StateKeyAdopted,
)
from .orders import (
    LegacyEntryRemoved,
    LegacyKeyBroken,
    LegacyKeyChanged,
    LegacyKeyRemoved,
    LegacyKeyRewritten,
    LegacySubmitted,
    NotificationWorkedOff,
)
from .partitions import COMPLETED, STEPS, PartitionChanged, Step
from .reductions import (
    PartitionPurged,
    ReductionChanged,
    ReductionRefused,
)
from .throttles import LegacyPlanWritten, ThrottleChanged, ThrottleEvent, ThrottlePlanRuns, ThrottlesEnded
from .topics import (
    DeletionKeyLost,
    DeletionRefused,
    KeysRewritten,
    PartitionsAdded,
    TopicChanged,
    TopicCreated,
    TopicDeleted,
    TopicDeletionStarted,
    TopicFound,
)

__all__ = [
    "COMPLETED",
    "STEPS",
    "BadKey",
    "BrokerAskedAgain",
    "BrokerConfigChanged",
    "BrokerForgotten",
    "BrokerLeft",
    "BrokerRegistered",
    "BrokerShutsDown",
    "ChangePurged",
    "ConfigChanged",
    "ConfigsAltered",
    "DeathWorkedOff",
    "DeleteIntended",
    "DeletionKeyLost",
    "DeletionRefused",
    "DiskGone",
    "ForeignChange",
    "IntentDropped",
    "IntentsKeyEmptied",
    "KeyAdopted",
    "KeyAt",
    "KeyVersion",
    "KeyVersions",
    "KeysRewritten",
    "LegacyEntryRemoved",
    "LegacyKeyBroken",
    "LegacyKeyChanged",
    "LegacyKeyRemoved",
    "LegacyKeyRewritten",
    "LegacyPlanWritten",
    "LegacySubmitted",
    "NotificationWorkedOff",
    "PartitionChanged",
    "PartitionPurged",
    "PartitionsAdded",
    "Record",
    "ReductionChanged",
    "ReductionRefused",
    "RegistrationKnown",
    "RegistrationUnread",
    "ReplicaDeleted",
    "StateKeyAdopted",
    "Step",
    "ThrottleChanged",
    "ThrottleEvent",
    "ThrottlePlanRuns",
    "ThrottlesEnded",
    "TopicChanged",
    "TopicCreated",
    "TopicDeleted",
    "TopicDeletionStarted",
    "TopicFound",
]
