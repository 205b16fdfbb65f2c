"""The rules for commits: fences (5), what cannot be read (10), intents (7), the legacy key (3), marks (6)."""

from __future__ import annotations

from ....stores.base import ABSENT, Check, Delete, Put
from ....stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY, Token
from ...codec import keys, legacy
from ...model.values import TopicPartition
from ..committed import Change
from ..parts import Parts
from ..server import Committed
from .case import Rules, topic_of_state, words


class CommitRules(Rules):
    """For all commits of controllers; remembers the sender of each controller epoch."""

    def __init__(self, rig: Parts) -> None:
        super().__init__(rig)
        self._leaders: dict[int, str] = {}  # controller epoch -> its sender

    # --- 5: the sender and its fence

    def fenced(self, commit: Committed, before: Token | None, epoch_before: int) -> None:
        ops = {op.key: op for op in commit.ops}
        elected = isinstance(ops.get(LEADER_KEY), Put)
        if elected:
            epoch = self.committed.controller_epoch
            self.require(epoch > epoch_before, 5, f"{commit.sender} was elected under {epoch} after {epoch_before}")
            self.require(epoch not in self._leaders, 5, f"{commit.sender} was elected under {epoch}, as another was")
            self._leaders[epoch] = commit.sender
            return
        if all(isinstance(op, Delete) and op.key in {LEADER_KEY, HELD_KEY} for op in commit.ops):
            return  # resigns
        fenced = isinstance(ops.get(TOKEN_KEY), Put) and isinstance(ops.get(EPOCH_KEY), Check)
        self.require(fenced, 5, f"{commit.sender} commits without a fence: {list(ops)}")
        token = self.committed.token
        assert token is not None
        current = self.committed.controller_epoch
        self.require(
            token.controller_epoch == current,
            5,
            f"{commit.sender} commits under {token.controller_epoch}, the controller epoch is {current}",
        )
        leader = self._leaders.get(token.controller_epoch)
        self.require(leader == commit.sender, 5, f"{commit.sender} commits under the epoch of {leader}")
        seq = 0 if before is None else before.seq
        self.require(token.seq == seq + 1, 5, f"{commit.sender}: commit {token.seq} follows on {seq}")

    # --- 10: what cannot be read

    def left_alone(self, commit: Committed, blind: set[str]) -> None:
        for op in commit.ops if blind else ():
            topic = keys.topic_of(op.key) or topic_of_state(op.key)
            if isinstance(op, Put) and topic is not None and topic not in self.committed.deleting:
                written = {op.key, keys.topic(topic)}
                self.require(not written & blind, 10, f"{commit.sender} writes {op.key}, which it could not read")

    # --- 7: intents

    def intents(self, changes: list[Change]) -> None:
        if not changes:
            return
        opened = {
            (intent.topic_id, intent.partition, intent.broker)
            for intents in self.committed.intents.values()
            for intent in intents
        }
        for change in changes:
            topic = self.committed.topic(change.tp.topic)
            topic_id = "" if topic is None else topic.topic_id
            members = set(change.after.members)
            left = set() if change.before is None else set(change.before.members) - members
            for broker in sorted(left):
                known = (
                    topic_id,
                    change.tp.partition,
                    broker,
                ) in opened or broker in change.after.brokers_without_intent
                self.require(known, 7, f"{change.tp}: {broker} leaves {words(change.before)} without an intent")

    def fresh_intents(self, commit: Committed) -> None:
        """No intent in a commit is for a broker that is a member by that commit, sent or not."""
        for op in commit.ops:
            for intent in self.committed.intents.get(op.key, ()) if isinstance(op, Put) else ():
                tp, topic = TopicPartition(intent.topic, intent.partition), self.committed.topic(intent.topic)
                partition = self.committed.partitions.get(tp)
                is_doomed = intent.topic_id in self.committed.doomed
                is_doomed |= partition is not None and partition.is_offline
                if partition is not None and topic is not None and topic.topic_id == intent.topic_id and not is_doomed:
                    stays = intent.broker in partition.members
                    self.require(
                        not stays, 4, f"{tp}: {intent.broker} must delete, but is a member: {words(partition)}"
                    )

    # --- 3: the legacy key

    def legacy_key(self, commit: Committed) -> None:
        """A controller removes entries from the key, and adds none."""
        for op in commit.ops:
            if isinstance(op, Put) and op.key == keys.REASSIGN_PARTITIONS:
                for entry in legacy.decode(op.value).entries:
                    asked = self.rig.asked_targets.get(TopicPartition(*entry.name), set())
                    self.require(entry.target in asked, 3, f"the legacy key has what was not requested: {entry}")

    # --- 6: throttles

    def marks(
        self, commit: Committed, marked: dict[str, tuple[str, ...]], changes: list[Change], *, was_news: bool
    ) -> None:
        """An owner in a mark stays there while something moves, or while the legacy key exists, unless it is deleted or
        a request replaces the mark. Moves that begin in the same commit were decided after it; so is the first handling
        of a legacy key that another program wrote (`was_news`)."""
        now = self.committed.marked
        gone = {key: [one for one in owners if one not in now.get(key, ())] for key, owners in marked.items()}
        topics = gone.get(keys.REPLICAS_REMOVAL, [])
        topics[:] = [one for one in topics if one in self.committed.topics and one not in self.committed.deleting]
        if not any(gone.values()) or self.rig.operators.may_replace:
            return
        begun = {change.tp for change in changes if _has_begun(change)}
        known = [p.tp for p in self.committed.partitions.values() if p.move is not None and p.tp not in begun]
        # What the controller could not read when it took over may move without its knowledge.
        blind = self.committed.found_blind
        moving = [str(p) for p in known if not blind & {keys.topic(p.topic), keys.state(p.topic, p.partition)}]
        self.require(not moving, 6, f"the marks lose {gone} while {moving[:5]} move")
        is_there = keys.REASSIGN_PARTITIONS in self.committed.present and not was_news
        made = {op.key for op in commit.ops if isinstance(op, Put) and op.expect == ABSENT}
        is_kept = is_there and keys.REASSIGN_PARTITIONS not in made
        self.require(not is_kept, 6, f"the marks lose {gone} while the legacy key exists")


def _has_begun(change: Change) -> bool:
    """Whether the move after this commit, if any, began in it: none ran before, or that one ended in it, too."""
    before, after = change.before, change.after
    if before is None:
        return False
    move = before.move
    return move is None or (after.move != move and after.replicas == move.target)
