"""The replication quota, for any host: how many bytes a second replicas that are not in sync may be copied with.

Rules (KIP-73, KIP-542)
* A broker has four limits: as a leader (what it sends) and as a follower (what it takes in), each for the family
  `replication` (replicas that the lists of a topic name) and the family `reassignment` (replicas that a move adds: in T
  and not in I; no list). Who is in sync is bound by none of them, clients never.
* What both families hold is bound by both limits, and its bytes count in both.
* Limits come by the names of configs, as `config_changed` of the host hands them on; they hold at once.

No thread, no clock of its own, no lock: a host calls a broker's quotas from one thread or under a lock of its own, and
gives the clock. `docs/quota.md` shows a host that uses them.

    ReplicationQuotas   a broker's: config_changed(), leader_side(), follower_side() -> Bound
    Bound               what binds one replica: is_exceeded(), delay_ms(), allowance(), record(bytes)
    ReplicationQuota    one limit: the same, and rate(); its `limit` may be changed at any time
    Rotation            whose turn it is, so that nobody starves under a limit
"""

from controller.model.throttle_configs import (
    ALL_REPLICAS,
    FAMILIES,
    SIDES,
    UNLIMITED,
    Family,
    Side,
    parse_rate,
    parse_throttled_replicas,
    rate_setting,
    replicas_setting,
)
from controller.quota.bound import Bound
from controller.quota.limit import PACE_MS, ReplicationQuota
from controller.quota.quotas import ReplicationQuotas
from controller.quota.rotation import Rotation
from controller.quota.window import SAMPLE_MS, SAMPLES, RateWindow

__all__ = [
    "ALL_REPLICAS",
    "FAMILIES",
    "PACE_MS",
    "SAMPLES",
    "SAMPLE_MS",
    "SIDES",
    "UNLIMITED",
    "Bound",
    "Family",
    "RateWindow",
    "ReplicationQuota",
    "ReplicationQuotas",
    "Rotation",
    "Side",
    "parse_rate",
    "parse_throttled_replicas",
    "rate_setting",
    "replicas_setting",
]
