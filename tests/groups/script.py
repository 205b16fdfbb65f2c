"""Transcripts of a coordinator: lines of commands, below each what the coordinator answered and wrote.

`new` begins with a coordinator without groups, `reload` with another one that has the log of the last. `stable a b`:
members with these client ids are in a stable generation, each with its client id as the assignment. A word
`name=value` is an option. Everything is about the group `g`, unless `group=` names another. `hold` keeps appends under
way until `write` or `fail`. Comments (#) and blank lines stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from kedge.controller.coordinators import CoordinatorError
from kedge.controller.groups.records import Committed, GroupRecord, OffsetRecord, Record
from kedge.controller.groups.replies import (
    Described,
    DescribedConsumers,
    FetchedOffsets,
    Joined,
    Left,
    OffsetErrors,
    Reply,
    Synced,
)
from kedge.controller.groups.requests import (
    Commit,
    DeleteGroup,
    DeleteOffsets,
    Describe,
    FetchOffsets,
    GroupRequest,
    Heartbeat,
    Leave,
    Leaving,
    Sync,
)
from kedge.controller.model.values import TopicPartition
from tests.groups.driving import REBALANCE_MS, SESSION_MS, Driven

SETTINGS = {"delay": "initial_rebalance_delay_ms", "metadata": "metadata_bytes_max", "members": "members_max"}
SETTINGS |= {"retention": "offsets_retention_ms", "check": "offsets_check_ms"}


@attrs.frozen
class Line:
    """`name=value` of a command are its `options`, the rest its `words`."""

    words: list[str]
    options: dict[str, str]

    def number(self, name: str, default: int) -> int:
        return int(self.options.get(name, default))

    @property
    def member(self) -> tuple[int, str, str | None]:
        """Generation, member id and instance id of a request."""
        return self.number("gen", -1), self.options.get("as", ""), self.options.get("instance")


class Script:
    """A coordinator, and the commands for it."""

    driven: Driven

    def play(self, text: str) -> str:
        """The transcript with its commands, and what follows from them."""
        played = []
        for line in text.splitlines():
            if line.startswith("  "):
                continue
            played.append(line)
            if line and not line.startswith("#"):
                played += [f"  {out}" for out in self._command(line)]
        return "\n".join(played) + "\n"

    def _command(self, text: str) -> Iterator[str]:
        verb, *rest = text.split()
        words = [word for word in rest if "=" not in word]
        line = Line(words, dict(word.split("=", 1) for word in rest if "=" in word))
        if verb in {"new", "reload"}:
            self.driven = self._new(self.driven if verb == "reload" else None, line)
            yield from [self._group(line)] if verb == "reload" else ()
        elif verb == "stable":
            self.driven.stable(*line.words, **self._brought(line))
        else:
            self.driven.heard, length = {}, len(self.driven.log)
            before, held = self._group(line), len(self.driven.under_way)
            asked = getattr(self, f"do_{verb}")(line)
            if asked is not None:
                self.driven.ask(asked, line.options.get("ticket", verb))
            yield from (f"{ticket}: {told(reply)}" for ticket, reply in self.driven.heard.items())
            yield from (f"written: {record(each)}" for each in self.driven.log[length:])
            if held != len(self.driven.under_way):
                yield f"under way: {len(self.driven.under_way)}"
            if self._group(line) != before:
                yield self._group(line)

    def _new(self, before: Driven | None, line: Line) -> Driven:
        driven = Driven(() if before is None else before.log, **{SETTINGS[n]: int(v) for n, v in line.options.items()})
        if before is not None:
            driven.now_ms, driven.holds = max(driven.now_ms, before.now_ms), before.holds
        return driven

    def _group(self, line: Line) -> str:
        """The state of the group, without what answers show."""
        group = self.driven.coordinator.groups.get(line.options.get("group", "g"))
        if group is None:
            return "no group"
        parts = [f"{group.state.value} {group.generation}"]
        parts += [" ".join(f"{m}*" if m == group.leader else m for m in group.members)] if group.members else []
        parts += [f"given out {' '.join(group.pending)}"] if group.pending else []
        parts += [f"unsynced {' '.join(sorted(group.unsynced))}"] if group.unsynced else []
        return "; ".join(parts)

    # --- members

    def do_join(self, line: Line) -> None:
        more = {"requires_member_id": "needs_id" in line.words, "skips_assignment": "skips" in line.words}
        self.driven.join(
            line.words[0],
            line.options.get("as", ""),
            kind=line.options.get("type", "consumer"),
            **more,
            **self._brought(line),
        )

    def _brought(self, line: Line) -> dict[str, Any]:
        """What members bring: `protocols=name:topic+topic,name:topic`."""
        protocols = [each.partition(":") for each in line.options.get("protocols", "range:orders").split(",") if each]
        return {
            "protocols": tuple((name, topics.replace("+", ",").encode()) for name, _, topics in protocols),
            "session_timeout_ms": line.number("session", SESSION_MS),
            "rebalance_timeout_ms": line.number("rebalance", REBALANCE_MS),
            "instance_id": line.options.get("instance"),
            "client_host": line.options.get("host", ""),
        }

    def do_sync(self, line: Line) -> GroupRequest:
        generation, member_id, instance_id = line.member
        given = {word.partition(":")[0]: word.partition(":")[2].encode() for word in line.words}
        named = (line.options.get("type"), line.options.get("protocol"))
        return Sync("g", generation, member_id, given, instance_id, *named)

    def do_beat(self, line: Line) -> GroupRequest:
        return Heartbeat("g", *line.member)

    def do_leave(self, line: Line) -> GroupRequest:
        return Leave(
            "g", tuple(Leaving(*(("", word[9:]) if word.startswith("instance:") else (word,))) for word in line.words)
        )

    # --- offsets and tools

    def do_commit(self, line: Line) -> GroupRequest:
        """`orders-0:5`, or `orders-0:5:metadata`."""
        offsets = {}
        for word in line.words:
            name, offset, *metadata = word.split(":")
            epoch, commit_ms = line.number("epoch", -1), line.number("at", 0)
            offsets[partition(name)] = Committed(int(offset), epoch, "".join(metadata), commit_ms)
        return Commit(line.options.get("group", "g"), offsets, *line.member, unknown=unknown(offsets))

    def do_fetch(self, line: Line) -> GroupRequest:
        return FetchOffsets(line.options.get("group", "g"), tuple(map(partition, line.words)) or None)

    def do_delete_offsets(self, line: Line) -> GroupRequest:
        named = tuple(map(partition, line.words))
        return DeleteOffsets(line.options.get("group", "g"), named, unknown(named))

    def do_delete(self, line: Line) -> GroupRequest:
        return DeleteGroup(line.options.get("group", "g"))

    def do_describe(self, line: Line) -> GroupRequest:
        return Describe(line.options.get("group", "g"))

    def do_list(self, _: Line) -> None:
        for each in self.driven.coordinator.listed():
            self.driven.heard[each.group] = f"{each.protocol_type or '-'} {each.state.value}"

    # --- the log and the time

    def do_wait(self, line: Line) -> None:
        self.driven.wait(int(line.words[0]))

    def do_stay(self, line: Line) -> None:
        """So much time passes, in which these members send heartbeats."""
        for _ in range(int(line.words[0]) // 5_000):
            self.driven.wait(5_000)
            for member_id in line.words[1:]:
                self.driven.beat(member_id, self.driven.coordinator.groups["g"].generation)
        self.driven.heard = {k: v for k, v in self.driven.heard.items() if not k.startswith("ticket ")}

    def do_hold(self, _: Line) -> None:
        self.driven.holds = True

    def do_write(self, line: Line) -> None:
        """All that is under way, or (`first`, `last`) a part of it."""
        self._end(line, CoordinatorError.NONE)

    def do_fail(self, line: Line) -> None:
        self._end(line, CoordinatorError[line.words[0]])

    def _end(self, line: Line, error: CoordinatorError) -> None:
        driven, kept = self.driven, []
        if "first" in line.words:
            driven.under_way, kept = driven.under_way[:1], driven.under_way[1:]
        if "backwards" in line.words:
            driven.under_way.reverse()
        driven.settle(error)
        driven.under_way += kept

    def do_unload(self, _: Line) -> None:
        self.driven.heard = dict(self.driven.coordinator.unload(self.driven.now_ms).replies)

    def do_forget(self, line: Line) -> None:
        self.driven.forget({partition(name): int(ms) for name, ms in line.options.items()})


def partition(text: str) -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


def unknown(partitions: Any) -> frozenset[TopicPartition]:
    """Topics that begin with `gone` do not exist."""
    return frozenset(tp for tp in partitions if tp.topic.startswith("gone"))


# --- what is recorded


def told(reply: Reply | str) -> str:
    """An answer as one line."""
    if isinstance(reply, Joined) and reply.error is CoordinatorError.NONE:
        members = " ".join(
            f"{m.member_id}={m.metadata.decode()}" + f"({m.instance_id})" * bool(m.instance_id) for m in reply.members
        )
        skips = ", assigns nothing" if reply.skips_assignment else ""
        named = f"generation {reply.generation} {reply.protocol_type}/{reply.protocol} leader {reply.leader}"
        return f"{named}, {reply.member_id}" + (f" [{members}]" if members else "") + skips
    if isinstance(reply, Joined):
        return f"{reply.error.name} {reply.member_id}".rstrip()
    if isinstance(reply, Synced) and reply.error is CoordinatorError.NONE:
        return f"assigned {reply.assignment.decode() or 'nothing'}, {reply.protocol_type}/{reply.protocol}"
    if isinstance(reply, Left):
        return ", ".join(f"{one.member_id or one.instance_id} {error.name}" for one, error in reply.members)
    if isinstance(reply, OffsetErrors):
        return ", ".join(f"{tp} {error.name}" for tp, error in reply.errors.items())
    if isinstance(reply, FetchedOffsets):
        return ", ".join(f"{tp} {committed(c)}" for tp, c in reply.offsets.items()) or "nothing"
    if isinstance(reply, Described):
        members = " ".join(
            f"{m.member_id}({m.instance_id or '-'} {m.client_id} {m.client_host or '-'})"
            f"={m.metadata.decode()}:{m.assignment.decode()}"
            for m in reply.members
        )
        return f"{reply.state.value} {reply.protocol_type or '-'}/{reply.protocol or '-'} {members}".rstrip()
    assert not isinstance(reply, DescribedConsumers)
    return reply if isinstance(reply, str) else reply.error.name


def committed(c: Committed | None) -> str:
    if c is None:
        return "-"
    return (
        f"{c.offset}"
        + f" epoch {c.leader_epoch}" * (c.leader_epoch >= 0)
        + f" '{c.metadata}'" * bool(c.metadata)
        + f" at {c.commit_ms}"
    )


def record(one: Record) -> str:
    """A record as one line."""
    if isinstance(one, OffsetRecord):
        return f"{one.group} {one.tp} {committed(one.committed)}"
    assert isinstance(one, GroupRecord)
    if one.stored is None:
        return f"{one.group} -"
    stored = one.stored
    members = " ".join(
        f"{m.member_id}({m.instance_id or '-'} {m.rebalance_timeout_ms}/{m.session_timeout_ms} ms)"
        f"={m.subscription.decode()}:{m.assignment.decode()}"
        for m in stored.members
    )
    named = f"{stored.protocol_type}/{stored.protocol or '-'} leader {stored.leader or '-'} since {stored.state_ms}"
    return f"{one.group} {stored.generation} {named} {members}".rstrip()
