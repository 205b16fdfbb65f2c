"""Records: what changed, and what follows from it, kind by kind.

A Decision has one record for each partition that it changes: `PartitionChanged`. A record holds the value before and
after the change, so that it can be undone. The methods are described at `Record`.
"""

from .brokers import BrokerAskedAgain as BrokerAskedAgain
from .brokers import BrokerForgotten as BrokerForgotten
from .brokers import BrokerLeft as BrokerLeft
from .brokers import BrokerRegistered as BrokerRegistered
from .brokers import BrokerShutsDown as BrokerShutsDown
from .brokers import DeathWorkedOff as DeathWorkedOff
from .brokers import DeleteIntended as DeleteIntended
from .brokers import DiskGone as DiskGone
from .brokers import IntentDropped as IntentDropped
from .brokers import IntentsKeyEmptied as IntentsKeyEmptied
from .brokers import RegistrationKnown as RegistrationKnown
from .brokers import RegistrationUnread as RegistrationUnread
from .brokers import ReplicaDeleted as ReplicaDeleted
from .configs import ChangePurged as ChangePurged
from .configs import ConfigChanged as ConfigChanged
from .configs import ConfigsAltered as ConfigsAltered
from .found import BadKey as BadKey
from .found import ForeignChange as ForeignChange
from .found import KeyAdopted as KeyAdopted
from .found import StateKeyAdopted as StateKeyAdopted
from .line import LineContext as LineContext
from .orders import DROPPED as DROPPED
from .orders import LegacyEntryRemoved as LegacyEntryRemoved
from .orders import LegacyKeyBroken as LegacyKeyBroken
from .orders import LegacyKeyChanged as LegacyKeyChanged
from .orders import LegacyKeyRemoved as LegacyKeyRemoved
from .orders import LegacyKeyRewritten as LegacyKeyRewritten
from .orders import LegacyPlanWritten as LegacyPlanWritten
from .orders import LegacySubmitted as LegacySubmitted
from .orders import NotificationWorkedOff as NotificationWorkedOff
from .partitions import COMPLETED as COMPLETED
from .partitions import PartitionChanged as PartitionChanged
from .partitions import Step as Step
from .publication import Publication as Publication
from .reductions import PartitionPurged as PartitionPurged
from .reductions import ReductionChanged as ReductionChanged
from .reductions import ReductionRefused as ReductionRefused
from .throttles import ThrottleChanged as ThrottleChanged
from .throttles import ThrottleEvent as ThrottleEvent
from .throttles import ThrottlePlanRuns as ThrottlePlanRuns
from .throttles import ThrottlesEnded as ThrottlesEnded
from .topics import DeletionKeyLost as DeletionKeyLost
from .topics import DeletionRefused as DeletionRefused
from .topics import KeysRewritten as KeysRewritten
from .topics import PartitionsAdded as PartitionsAdded
from .topics import TopicChanged as TopicChanged
from .topics import TopicCreated as TopicCreated
from .topics import TopicDeleted as TopicDeleted
from .topics import TopicDeletionStarted as TopicDeletionStarted
from .topics import TopicFound as TopicFound
