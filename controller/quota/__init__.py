"""The replication quota, for any host: limits in bytes per second for copying to replicas that are not in sync.

Rules (KIP-73, KIP-542)
* A broker has four limits: as a leader (what it sends) and as a follower (what it fetches), each for the family
  `replication` (replicas in the lists of a topic) and the family `reassignment` (replicas that a move adds: in T and
  not in the ISR; no list). In-sync replicas and clients are never limited.
* A replica in both families is bound by both limits, and its bytes count in both.
* Limits are set by the names of configs, as the host's `config_changed` receives them; they apply at once.

It has no thread, clock or lock: a host calls a broker's quotas from one thread or under its own lock, and gives the
clock. `docs/quota.md` shows a host that uses them.

    ReplicationQuotas   of a broker: config_changed(), leader_side(), follower_side() -> Bound
    Bound               the limits of one replica: is_exceeded(), delay_ms(), allowance(), record(bytes)
    ReplicationQuota    one limit: the same, and rate(); its `limit` may be changed at any time
    Rotation            the order of replicas under a limit, so that none starves
"""

from ..model.throttle_configs import (
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
from .bound import Bound
from .limit import PACE_MS, ReplicationQuota
from .quotas import ReplicationQuotas
from .rotation import Rotation
from .window import SAMPLE_MS, SAMPLES, RateWindow

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
