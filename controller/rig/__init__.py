"""The test kit: a cluster in one process, with real controllers, simulated brokers, virtual time and seeded failures.

    >>> from kedge import TopicPartition
    >>> from kedge.controller.rig import Rig
    >>> rig = Rig(seed=1, brokers={1: "a", 2: "b", 3: "c", 4: "a"}, copy_rate_bytes_s=10_000_000)
    >>> orders = rig.create_topic("orders", replicas=[[1, 2], [2, 3]], records=5_000)
    >>> rig.reassign({TopicPartition("orders", 0): [3, 4]})  # accepted when this returns, not finished
    >>> rig.wait.until_replicas({TopicPartition("orders", 0): [3, 4]}, timeout_s=60)
    >>> rig.wait.until_converged()
    >>> rig.brokers[1].log(TopicPartition("orders", 0)) is None  # the old replica was deleted
    True

Nothing happens by itself: `step()` lets one tick of virtual time pass (`tick_ms`, 10 by default), `run(ms)` many,
`until(condition, timeout_s=..., what=...)` as many as it takes. No thread is started, no wall clock read, no port
opened; a step takes about 0.1 ms. The same seed and the same calls give the same run, to the byte
(`rig.timeline.trace` is its hash).

    rig                 time, requests of operators and producers      `rig`, `controllers`, `parts`
    rig.wait            waits with a deadline                          `waits`
    rig.mishaps         failures                                       `mishaps`, `controller_mishaps`
    rig.clients         producers, consumers and groups                `clients`
    rig.committed       the store, decoded, with its history           `committed`
    rig.brokers         the simulated brokers and their logs           `kedge.controller.simulated.broker`
    rig.network         callbacks: delayed, lost, doubled              `kedge.controller.simulated.network`
    rig.copying         how fast followers copy, and what flowed       `kedge.controller.simulated.copying`
    rig.nodes           controllers with the ids 101, 102, ...         `node`
    rig.server          the MemoryServer: `MemoryStore(rig.server)` is a new client

`Rig(server=kedge.controller.rig.served.StoreServer(opens))` uses a real store: keys and sessions are real; controllers
and brokers can be killed, but not paused or cut off.

Every commit and every callback is checked against `kedge.controller.rig.invariants`; a violation raises
`InvariantBroken` in the step in which it happened. `rig.check_end()` adds what must hold at the end.
`python -m tests.verify explore --seeds 1..100` runs seeded failures, `python -m tests.verify exhaust` visits every
state of a small world. `host_suite`, `host_seeds` and `hosted` check a host of your own.
"""

from ..simulated.broker import Broker as Broker
from ..simulated.broker import Life as Life
from ..simulated.clock import NodeClock as NodeClock
from ..simulated.clock import VirtualClock as VirtualClock
from ..simulated.flows import Flow as Flow
from ..simulated.log import Log as Log
from ..simulated.log import Run as Run
from ..simulated.network import CallbackFaults as CallbackFaults
from ..simulated.network import Sent as Sent
from ..simulated.timeline import Timeline as Timeline
from .clients import Clients as Clients
from .controllers import NotInTime as NotInTime
from .invariants import InvariantBroken as InvariantBroken
from .node import Node as Node
from .node import State as State
from .producers import Producers as Producers
from .producers import Writer as Writer
from .rig import Rig as Rig
from .waits import describe as describe
from .waits import disagreements as disagreements
