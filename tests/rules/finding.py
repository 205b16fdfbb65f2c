"""The commands of a transcript that a takeover begins with, that make one Decision at a time, and that only look."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from kedge.controller.model import events as e
from kedge.controller.model.throttles import KINDS
from kedge.controller.model.values import Broker, BrokerRegistration, Move
from kedge.controller.rules.brokers import expand_deaths
from kedge.controller.rules.reassignment import describe_move, expand_cancel
from kedge.controller.rules.reduction.configs import interval_ms
from kedge.controller.rules.takeover import deletion_goes_on, reduction_found
from kedge.controller.runtime.jobs import jobs_of
from tests.rules.planting import Line, ids, name_of
from tests.rules.script import Script
from tests.rules.telling import lines


class Finding(Script):
    """A script with what is found, and with Decisions one by one."""

    # --- one Decision at a time

    def do_next(self, line: Line) -> list[str]:
        """The first of the events that wait is decided, or the one of this number."""
        return list(self.step(self._taken(line)))

    def _taken(self, line: Line) -> e.Event:
        return self.waiting.pop(int(line.words[0]) - 1 if line.words else 0)

    def do_drop(self, line: Line) -> list[str]:
        """It was refused instead."""
        following = self._taken(line).dropped()
        return [] if following is None else list(self.step(following))

    def do_rest(self, line: Line) -> list[str]:
        """All that wait, and what follows on them."""
        left = []
        while self.waiting:
            left += self.do_next(Line([], line.options))
        return left

    def do_commit(self, _: Line) -> None:
        """All that was decided is in the store."""
        self.world.commit()

    def do_throttledue(self, line: Line) -> e.Event:
        return e.ThrottleDue(self.world.now_ms, KINDS[line.words[0] == "brokers"], line.words[1])

    def do_over(self, line: Line) -> e.Event:
        """`over t-2 3`: the log of t-2 was empty under the leader epoch 3."""
        return e.RetirementOver(self.world.now_ms, *name_of(line.words[0]), int(line.words[1]))

    # --- a takeover

    def _each(self, events: Iterable[e.Event]) -> list[str]:
        """Each event for itself, with what follows on it."""
        left = [line for event in events for line in lines(self.world.state, self.world.run(event))]
        return left or ["nothing"]

    def do_deaths(self, line: Line) -> list[str]:
        """`deaths 1 3 returned=1:78`: a takeover finds that these died, and one of them again under that epoch."""
        state, dead, returned = self.world.state, dict.fromkeys(map(int, line.words), 1), {}
        if "returned" in line.options:
            broker, epoch = map(int, line.options["returned"].split(":"))
            returned = {broker: Broker(BrokerRegistration(broker), epoch)}
        for broker in dead:
            del state.brokers[broker]
        state.load_dying(dead)
        return self._each(job.event for job in jobs_of(expand_deaths(state, dead, returned, self.world.now_ms), None))

    def do_reductionfound(self, line: Line) -> list[str]:
        """`reductionfound t 1:500`: a takeover finds the key of a reduction."""
        read, state = self.do_reductionkey(line), self.world.state
        assert isinstance(read, e.ReductionKeyRead)
        taken, due = reduction_found(state, read)
        if taken is not None:
            state.versions.put(taken.at.path, taken.at.version)
            state.load_reduction(taken.topic, taken.entries, taken.extra)
        return [f"in force {'not yet' if taken is None else list(taken.entries)}", *self._each(due)]

    def do_deletionfound(self, line: Line) -> list[str]:
        """Whether a takeover goes on with the deletion of this topic."""
        return ["goes on" if deletion_goes_on(self.world.state, line.words[0]) else "is refused"]

    def do_ignored(self, line: Line) -> e.Event:
        """`ignored t-0 4,5 origin=1,2`: a move that was set before another controller led, which ignored it."""
        move = Move(ids(line.words[1]), ids(line.options["origin"]), int(line.options.get("started", 500)))
        return e.ForeignTargetFound(self.world.now_ms, *name_of(line.words[0]), move)

    # --- what is listed

    def do_listing(self, line: Line) -> list[str]:
        """The move of a partition as it is listed."""
        move = describe_move(self.world.state, self.world.partition(*name_of(line.words[0])))
        if move is None:
            return ["not moving"]
        return [f"{field} {value}" for field, value in attrs.asdict(move, recurse=False).items()]

    def do_stop(self, line: Line) -> list[str]:
        """`stop t`, `stop`: the moves of a topic, of all topics are cancelled."""
        topic = line.words[0] if line.words else None
        return self._each(expand_cancel(self.world.state, topic, self.world.now_ms, force=False))

    def do_interval(self, _: Line) -> list[str]:
        """How often read-only partitions are checked."""
        return [f"{interval_ms(self.world.state)} ms"]
