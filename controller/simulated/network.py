"""The connections of controllers and brokers: callbacks that take time, get lost, or arrive twice and late; and cuts.

* A round of callbacks starts at the step after it was sent, or later by the faults; per broker and controller one at a
  time, as in the dispatcher. A paused broker delays only its own rounds.
* A lost or duplicated callback may arrive later, after newer requests. This excludes UpdateMetadata and `full` requests
  of the newest controller: nothing in them distinguishes an older from a newer one of the same controller epoch, so a
  host over a real network has to keep their order (one connection, one at a time), and so does this one.
* The last settings are kept, and every broker that runs or starts knows them at once, as Kafka's brokers do, which read
  them from the store themselves.
"""

from __future__ import annotations

import contextlib
import random
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol, TypeAlias

import attrs

from ..model.host import Host, HostResponse, LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from ..model.values import TopicPartition
from ..runtime.executors import Call
from .broker import Life
from .timeline import Timeline

Request: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
Fate: TypeAlias = Literal["arrives", "lost", "late", "unheard", "doubled"]
"""The fate of a callback: late = not now, but possibly once later; unheard = it arrives, its answer does not; doubled =
it arrives, and possibly once more."""
REQUESTS_MAX: Final = 100_000


class Receiver(Protocol):
    """A broker as the network reaches it: simulated, or of a host under test."""

    @property
    def broker_id(self) -> int: ...

    @property
    def life(self) -> Life: ...

    @property
    def is_up(self) -> bool: ...

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> HostResponse: ...

    def update_metadata(self, request: UpdateMetadataRequest) -> HostResponse: ...

    def stop_replica(self, request: StopReplicaRequest) -> HostResponse: ...

    def config_changed(self, kind: str, name: str, configs: Mapping[str, str]) -> Mapping[str, str]: ...


class CutOffError(ConnectionError):
    """The connection between the two is cut at present."""


@attrs.frozen
class CallbackFaults:
    """The probability of each fault, per callback. `late_steps_max`: the longest delay of a late callback."""

    delay: float = 0.0
    lose: float = 0.0  # never arrives, or late
    lose_reply: float = 0.0  # arrives, but the controller gets an error
    duplicate: float = 0.0  # arrives now and once more, late
    late_steps_max: int = 50


@attrs.frozen
class Sent:
    """A callback in the request log. `outcome`: "ok", the error that the broker answered, or its fault. `revision`:
    that of the store when its round was sent."""

    at_ms: int
    controller_id: int
    broker_id: int
    request: Request
    revision: int
    outcome: str


@attrs.define(eq=False)
class _Round:
    due: int
    controller: object
    controller_id: int
    broker: int
    revision: int
    call: Call


class Network:
    """All callbacks in transit. `faults` may be replaced at any time; `observe` gets every request that arrives."""

    def __init__(
        self,
        brokers: Mapping[int, Receiver],
        chance: random.Random,
        timeline: Timeline,
        revision: Callable[[], int],
        requests_max: int = REQUESTS_MAX,
    ) -> None:
        self.faults = CallbackFaults()
        self.requests: deque[Sent] = deque(maxlen=requests_max)
        self.purged: list[TopicPartition] = []  # partitions reported to hosts as purged, possibly more than once
        self.observe: Callable[[Sent], None] = lambda _: None
        self.observe_purge: Callable[[TopicPartition], None] = lambda _: None
        self.brokers = brokers
        self._chance = chance
        self._timeline = timeline
        self._revision = revision
        self._rounds: list[_Round] = []
        self._late: list[tuple[int, Request, int]] = []
        self._cuts: set[tuple[int, int]] = set()
        self._slow: dict[int, int] = {}  # broker -> the step until which its rounds wait
        self._newest_controller_epoch = 0
        self.fates: deque[Fate] = deque()  # of the next callbacks, one each; without an entry, chance decides
        self.now = 0
        self.revision_sent = 0  # of the round that runs at present
        self.settings: dict[tuple[str, str], Mapping[str, str]] = {}  # kind and name of an entity -> its settings

    # --- steering

    def cut(self, controller_id: int, broker: int) -> None:
        """Nothing passes between the two any more."""
        self._cuts.add((controller_id, broker))

    def mend(self, controller_id: int | None = None, broker: int | None = None) -> None:
        """Mend the cuts of that controller, of that broker, or all."""
        self._cuts = {
            (c, b) for c, b in self._cuts if (controller_id, broker) not in ((c, b), (c, None), (None, b), (None, None))
        }

    def is_cut(self, controller_id: int, broker: int) -> bool:
        return (controller_id, broker) in self._cuts

    def slow(self, broker: int, steps: int) -> None:
        """The next rounds to `broker` take `steps` steps."""
        self._slow[broker] = self.now + steps

    def partition_purged(self, tp: TopicPartition) -> None:
        """A host gets the notice that a partition is gone for good."""
        self.purged.append(tp)
        self.observe_purge(tp)

    def repeat(self, broker: int) -> None:
        """The last LeaderAndIsr that arrived at the broker arrives once more, if it may (see the top of the module)."""
        for sent in reversed(self.requests):
            if sent.broker_id == broker and isinstance(sent.request, LeaderAndIsrRequest):
                self._late.append((self.now + 1, sent.request, sent.revision))
                return

    @property
    def is_quiet(self) -> bool:
        return not self._rounds and not self._late

    # --- rounds

    def submit(self, controller: object, controller_id: int, broker: int, call: Call) -> None:
        """Send a round. `controller` is the process that sent it: if it dies first, nothing is sent."""
        due = self.now + 2  # the present step counts as one when the earlier callbacks are delivered
        if self.faults.delay and self._chance.random() < self.faults.delay:
            due += self._chance.randint(1, self.faults.late_steps_max)
        self._rounds.append(_Round(due, controller, controller_id, broker, self._revision(), call))

    def step(self, is_running: Callable[[object], bool | None]) -> bool:
        """Deliver what is due; returns whether there was anything. `is_running`: None for a controller that is gone for
        good, False for a paused one."""
        self.now += 1
        moved = self._deliver_late()
        rounds, self._rounds = self._rounds, []
        for one in rounds:
            running = is_running(one.controller)
            if running is None:
                continue
            if not running or one.due > self.now or self._holds(one.broker):
                self._rounds.append(one)
                continue
            self.revision_sent = one.revision
            one.call()
            moved = True
        return moved

    # --- settings

    def config_changed(self, kind: str, name: str, configs: Mapping[str, str]) -> None:
        """A notice of a controller: `configs` are all settings of the entity from now on."""
        if configs or (kind, name) in self.settings:
            self.settings[kind, name] = dict(configs)
        for broker in self.brokers.values():
            if broker.life is not Life.DOWN:
                self._tell_settings(broker, kind, name, configs)

    def started(self, broker: Receiver) -> None:
        """A broker that starts reads its settings."""
        for (kind, name), configs in self.settings.items():
            self._tell_settings(broker, kind, name, configs)

    def _tell_settings(self, broker: Receiver, kind: str, name: str, configs: Mapping[str, str]) -> None:
        for setting, reason in broker.config_changed(kind, name, configs).items():
            self._timeline.say(f"broker {broker.broker_id}", f"passes over {setting} of {kind} {name}: {reason}")

    # --- one by one, for callers that choose the order themselves

    @property
    def under_way(self) -> list[tuple[int, int]]:
        """Controller and broker of every round in transit."""
        return [(one.controller_id, one.broker) for one in self._rounds]

    @property
    def late(self) -> int:
        """How many lost or already delivered requests may still arrive."""
        return len(self._late)

    def let_in(self, controller_id: int, broker: int, *fates: Fate) -> bool:
        """Deliver the oldest round of the two; `fates`: of its first callbacks. Returns whether each of them was
        used."""
        one = next(o for o in self._rounds if (o.controller_id, o.broker) == (controller_id, broker))
        self._rounds.remove(one)
        self.fates.extend(fates)
        self.revision_sent = one.revision
        one.call()
        met = not self.fates
        self.fates.clear()
        return met

    def let_in_late(self, place: int) -> None:
        """Deliver one of the late requests, unless that is no longer allowed (see the top of the module)."""
        _, request, revision = self._late.pop(place)
        broker = self.brokers.get(request.broker_id)
        if broker is not None and broker.is_up and self._may_be_late(request):
            self._obey(broker, request, revision, "late")

    def forget(self, is_running: Callable[[object], bool | None]) -> None:
        """Drop the rounds of processes that are gone."""
        self._rounds = [one for one in self._rounds if is_running(one.controller) is not None]

    def _holds(self, broker: int) -> bool:
        found = self.brokers.get(broker)
        return self._slow.get(broker, 0) > self.now or (found is not None and found.life is Life.PAUSED)

    def _deliver_late(self) -> bool:
        due = [late for late in self._late if late[0] <= self.now]
        self._late = [late for late in self._late if late[0] > self.now]
        for _, request, revision in due:
            broker = self.brokers.get(request.broker_id)
            if broker is not None and broker.is_up and self._may_be_late(request):
                with contextlib.suppress(CutOffError):  # no caller waits for the answer
                    self._obey(broker, request, revision, "late")
        return bool(due)

    def _may_be_late(self, request: Request) -> bool:
        if request.controller_epoch < self._newest_controller_epoch:
            return True
        return not isinstance(request, UpdateMetadataRequest) and not getattr(request, "full", False)

    # --- one callback

    def call(self, controller_id: int, request: Request) -> HostResponse:
        """A callback of a controller. Raises where the broker cannot be reached or its answer is lost."""
        self._newest_controller_epoch = max(self._newest_controller_epoch, request.controller_epoch)
        broker = self.brokers.get(request.broker_id)
        if broker is None or broker.life is Life.DOWN or self.is_cut(controller_id, request.broker_id):
            self._note(request, self.revision_sent, "unreachable")
            raise CutOffError(f"broker {request.broker_id} cannot be reached")
        if self.fates:
            return self._befalls(self.fates.popleft(), broker, request)
        if self._happens(self.faults.lose):
            if self._chance.random() < 0.5:
                self._send_late(request)
            self._note(request, self.revision_sent, "lost")
            raise CutOffError("injected: the request was lost")
        response = self._obey(broker, request, self.revision_sent, None)
        if self._happens(self.faults.duplicate):
            self._send_late(request)
        if self._happens(self.faults.lose_reply):
            raise CutOffError("injected: the answer was lost")
        return response

    def _befalls(self, fate: Fate, broker: Receiver, request: Request) -> HostResponse:
        if fate in {"late", "doubled"}:
            self._late.append((self.now + 1, request, self.revision_sent))
        if fate in {"late", "lost"}:
            self._note(request, self.revision_sent, "lost")
            raise CutOffError("injected: the request was lost")
        response = self._obey(broker, request, self.revision_sent, None)
        if fate == "unheard":
            raise CutOffError("injected: the answer was lost")
        return response

    def _happens(self, likelihood: float) -> bool:
        return likelihood > 0 and self._chance.random() < likelihood

    def _send_late(self, request: Request) -> None:
        due = self.now + self._chance.randint(1, self.faults.late_steps_max)
        self._late.append((due, request, self.revision_sent))

    def _obey(self, broker: Receiver, request: Request, revision: int, how: str | None) -> HostResponse:
        response = delivered(broker, request)
        outcome = response.error.name if response.error else "ok"
        self._note(request, revision, outcome if how is None else f"{how}, {outcome}", response)
        return response

    def _note(self, request: Request, revision: int, outcome: str, response: HostResponse | None = None) -> None:
        sent = Sent(self.now, request.controller_id, request.broker_id, request, revision, outcome)
        self.requests.append(sent)
        if not self._timeline.is_mute:
            said = f"-> broker {request.broker_id} {in_words(sent, response)}"
            self._timeline.say(f"controller {request.controller_id}", said)
        self.observe(sent)


def delivered(broker: Receiver | Host, request: Request) -> HostResponse:
    if isinstance(request, LeaderAndIsrRequest):
        return broker.leader_and_isr(request)
    if isinstance(request, UpdateMetadataRequest):
        return broker.update_metadata(request)
    return broker.stop_replica(request)


def in_words(sent: Sent, response: HostResponse | None = None) -> str:
    request = sent.request
    if isinstance(request, LeaderAndIsrRequest):
        said = ", ".join(
            f"{p.topic}-{p.partition} leader {p.leader}/{p.leader_epoch} isr {list(p.isr)}/{p.partition_epoch}"
            + ("" if p.target_replicas is None else f" T {list(p.target_replicas)}")
            for p in request.partitions
        )
        name = "LeaderAndIsr full" if request.full else "LeaderAndIsr"
    elif isinstance(request, UpdateMetadataRequest):
        said = ", ".join(
            f"{p.topic}-{p.partition} {p.leader}/{p.leader_epoch}/{p.partition_epoch}" for p in request.partitions
        )
        said = f"live {[peer.broker_id for peer in request.live_brokers]} {said}"
        name = "UpdateMetadata"
    else:
        said = ", ".join(f"{p.topic}-{p.partition} epoch {p.leader_epoch}" for p in request.partitions)
        name = "StopReplica delete"
    errors = "" if response is None else "".join(f"; {tp} {code.name}" for tp, code in response.errors.items())
    return f"{name}[{request.controller_epoch}] {said} => {sent.outcome}{errors}"
