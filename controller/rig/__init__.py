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

Time and waiting (each lets time pass, and raises `NotInTime` with a description of the present state)
    rig.until(condition, timeout_s=60, what="in words")
    rig.wait.until_replicas({tp: [4, 5, 6]}, timeout_s=...)   R is exactly this and there is no move
    rig.wait.until_quiet()        nothing happens any more
    rig.wait.until_converged()    live brokers agree with what is committed, and nothing is left to do
    rig.result(future, timeout_s=...) -> its result

Requests
    rig.admin                the `Admin` of the active controller (waits until there is one); its futures complete
                             while time passes: `rig.result(rig.admin.list_partition_reassignments())`
    rig.create_topic(name, partitions=1, replication_factor=3, replicas=None, configs=None, records=0)
                              -> [TopicPartition], with leaders, and this number of records in each
    rig.delete_topic(name, wait=True)            deleted, or (wait=False) its deletion accepted
    rig.forget_broker(3)                         the cluster no longer waits for a dead broker
    rig.reassign({tp: [..] or None})             set targets, or cancel; raises the first error
    kedge.controller.rig.outside.submit_by_key(rig, {tp: [..]})   the same, as a client that knows only the legacy key
    rig.produce(tp, records, record_bytes=None) -> how many the leader took       acks=all, at once
    rig.fill([tp, ..], records)                  adds records on all replicas in sync, without copying time
    rig.write([tp, ..], records_per_s, record_bytes=None) -> Writer, with .stop()  from now on, as time passes
    rig.producers.sent, .acknowledged(tp or None), .waiting
    rig.clients.producer(partitioner=None)       .send(topic, count, key=None, partition=None), .stream(topic, per_s,
                              keys), .sent_to, .waiting: chooses among the partitions that are online in its metadata
    rig.clients.consumer()   .assign([tp, ..]), .poll() -> {tp: [Run]}, .errors
    rig.clients.group(name, [topic, ..], members=1)   reads as time passes; .assignment, .committed(tp), .consumed
    rig.copying.rate_bytes_s = ...               may be changed at any time; .copied_bytes so far
    rig.network.config_changed("brokers", "1", {"leader.reassignment.throttled.rate": "50000"})   a controller's notice
                              to its host: brokers copy within their quotas (`kedge.controller.quota`) from now on

Inspection
    rig.partition(tp) -> Partition               as committed: replicas, isr, target_replicas, leader, leader_epoch
    rig.committed.partitions                     all of them; .partition_epochs, .topics, .intents, .history
    rig.leader(tp) -> Broker or None
    rig.brokers[1]                               .life, .epoch, .registration.rack, .log(tp), .leads(tp), .replica(tp),
                                                 .metadata, .deleted
    rig.brokers[1].log(tp)                       .end_offset, .high_watermark, .size_bytes, .runs
    rig.watch_flow(1, "leader" or "follower", family="reassignment") -> Flow    bytes that flow there from now on:
                             .bytes, .rate(window_ms=11_000), .rates(window_ms=11_000), .silent_ms()
    rig.wait.until_rate(flow, bytes_s, within=0.05)   this rate in the last 11 s
    rig.copying.flows.meters(1).metrics()        what broker 1 would export: KIP-542's bytes and throttled rates
    rig.copying.flows.bytes(1, "leader", family=None)      total so far; .brokers[1].quotas.of(side, family)
    rig.active -> Node or None; rig.nodes[101]   .controller (a `Controller`), .is_active, .state
    rig.requests(kind=None, broker=None)         the request log: `Sent` with .request, .controller_id, .outcome
    rig.timeline.lines(last=None)                the events, one line each
    rig.server                                   the MemoryServer: `MemoryStore(rig.server)` is a new client

Failures: `rig.mishaps.` and (at once; controllers have the ids 101, 102, ...)
    kill_controller(101)  restart_controller(101)  pause_controller(101, for_ms=None)  resume_controller(101)
    expire_session(101)   cut_off(101, from_="store" or a broker id)  mend(101)  plan_store_faults(101, plan)
    shut_down_broker(1, patience_ms=5_000)   by controlled shutdown; `until` its life is Life.DOWN
    kill_broker(1, at_once=True)  restart_broker(1)  bounce_broker(1)  pause_broker(1)  resume_broker(1)
    expire_broker_session(1)      lose_disk(1, tp=None)
    break_key(key, b"{")          mend_key(key): makes a key undecodable, and restores its former value
    heal()                        ends all of these
  and
    rig.network.faults = CallbackFaults(delay=.1, lose=.1, lose_reply=.1, duplicate=.1)    rig.network.slow(1, steps)
    rig.nodes[101].clock.jump(ms)
    Rig(leader_and_isr_versions={4: 2}): broker 4 knows no targets; restart_broker(4, leader_and_isr_version=3) upgrades
    it, restart_controller(101, leader_and_isr_version=2) starts a controller that knows none

A rig may begin with the tree of a real cluster: `Rig(brokers={1: "a", 2: "b", 3: "c"},
tree=kedge.stores.tree.read_tree(path))` plants it; brokers with the ids in it have logs of `tree_records` records for
replicas in sync, and empty ones for the others. `Rig(server=kedge.controller.rig.served.StoreServer(opens))` uses a
real store: keys and sessions are real; controllers and brokers can be killed, but not paused or cut off.

Every commit and every callback is checked against `kedge.controller.rig.invariants`; a violation raises
`InvariantBroken` in the step in which it happened. `rig.check_end()` adds what must hold at the end: nothing
acknowledged is lost. `python -m tests.verify explore --seeds 1..100` runs seeded failures, `python -m tests.verify
exhaust` visits every state of a small world. `kedge.controller.rig.host_suite` checks a host of your own, `python -m
kedge.controller.rig explore --host MODULE:CLASS` runs seeded failures against it, and
`kedge.controller.rig.hosted.rig.HostRig(host)` is a rig with its brokers.
"""

from ..simulated.broker import Broker, Life
from ..simulated.clock import NodeClock, VirtualClock
from ..simulated.flows import Flow
from ..simulated.log import Log, Run
from ..simulated.network import CallbackFaults, Sent
from ..simulated.timeline import Timeline
from .clients import Clients
from .controllers import NotInTime
from .invariants import InvariantBroken
from .node import Node, State
from .producers import Producers, Writer
from .rig import Rig
from .waits import describe, disagreements

__all__ = [
    "Broker",
    "CallbackFaults",
    "Clients",
    "Flow",
    "InvariantBroken",
    "Life",
    "Log",
    "Node",
    "NodeClock",
    "NotInTime",
    "Producers",
    "Rig",
    "Run",
    "Sent",
    "State",
    "Timeline",
    "VirtualClock",
    "Writer",
    "describe",
    "disagreements",
]
