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

`clients` has the quotas of clients, for gateways.
"""

from ..model.throttle_configs import ALL_REPLICAS as ALL_REPLICAS
from ..model.throttle_configs import FAMILIES as FAMILIES
from ..model.throttle_configs import SIDES as SIDES
from ..model.throttle_configs import UNLIMITED as UNLIMITED
from ..model.throttle_configs import Family as Family
from ..model.throttle_configs import Side as Side
from ..model.throttle_configs import parse_rate as parse_rate
from ..model.throttle_configs import parse_throttled_replicas as parse_throttled_replicas
from ..model.throttle_configs import rate_setting as rate_setting
from ..model.throttle_configs import replicas_setting as replicas_setting
from .bound import Bound as Bound
from .limit import PACE_MS as PACE_MS
from .limit import ReplicationQuota as ReplicationQuota
from .quotas import ReplicationQuotas as ReplicationQuotas
from .rotation import Rotation as Rotation
from .window import SAMPLE_MS as SAMPLE_MS
from .window import SAMPLES as SAMPLES
from .window import RateWindow as RateWindow
