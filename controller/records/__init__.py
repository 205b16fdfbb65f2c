"""Records: what changed, and what follows from it, kind by kind.

A Decision has one record for each partition that it changes: `PartitionChanged`. A record holds the value before and
after the change, so that it can be undone. The methods are described at `Record`.
"""

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
from .configs import ChangePurged, ConfigChanged, ConfigsAltered
from .found import (
    BadKey,
    ForeignChange,
    KeyAdopted,
    StateKeyAdopted,
)
from .line import LineContext
from .orders import (
    DROPPED,
    LegacyEntryRemoved,
    LegacyKeyBroken,
    LegacyKeyChanged,
    LegacyKeyRemoved,
    LegacyKeyRewritten,
    LegacyPlanWritten,
    LegacySubmitted,
    NotificationWorkedOff,
)
from .partitions import COMPLETED, PartitionChanged, Step
from .publication import Publication
from .reductions import (
    PartitionPurged,
    ReductionChanged,
    ReductionRefused,
)
from .throttles import ThrottleChanged, ThrottleEvent, ThrottlePlanRuns, ThrottlesEnded
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
    "DROPPED",
    "BadKey",
    "BrokerAskedAgain",
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
    "KeysRewritten",
    "LegacyEntryRemoved",
    "LegacyKeyBroken",
    "LegacyKeyChanged",
    "LegacyKeyRemoved",
    "LegacyKeyRewritten",
    "LegacyPlanWritten",
    "LegacySubmitted",
    "LineContext",
    "NotificationWorkedOff",
    "PartitionChanged",
    "PartitionPurged",
    "PartitionsAdded",
    "Publication",
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
