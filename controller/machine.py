"""The machine: event -> Decision by one table. Records are applied as soon as they are decided.

It reads no clock and no store, and starts no thread: the same events on the same state give the same records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .model import events as e
from .model.events import Decision, Event, Reason
from .rules import (
    brokers,
    config_changes,
    deletion,
    foreign_writes,
    forgetting,
    isr,
    leader_election,
    legacy,
    preferred,
    reassignment,
    shutdown,
    topics,
)
from .rules.reduction import clock as reduction_clock
from .rules.reduction import keys as reduction_keys
from .rules.reduction import partitions as retirement
from .rules.reduction import purge
from .rules.reduction import requests as reduction
from .rules.throttling import due as throttle_due
from .rules.throttling import plans as throttle_plans
from .rules.throttling import requests as throttle_requests
from .state import ClusterState, apply_all

Rule = Callable[[Any, Any], Decision]

DUE: Final[dict[Reason, Rule]] = {
    Reason.CHECK: leader_election.partition_due,
    Reason.DIED: leader_election.replica_died,
    Reason.DEADLINE: reassignment.move_deadline,
    Reason.PREFERRED: preferred.preferred_due,
    Reason.STRAY: foreign_writes.stray_isr_found,
    Reason.PLANNED: legacy.legacy_entry_due,
    Reason.RETIRE: retirement.retirement_due,
    Reason.STOP: deletion.partition_deletion_due,
    Reason.ERASE: deletion.state_key_due,
}

RULES: Final[dict[type[Event], Rule]] = {
    e.AlterReassignment: reassignment.alter_reassignment,
    e.NothingDue: lambda _state, _event: Decision(),
    e.ForeignTargetFound: reassignment.foreign_target_found,
    e.ElectLeader: leader_election.elect_leader,
    e.PartitionDue: lambda view, event: DUE[event.reason](view, event),
    e.CreateTopic: topics.create_topic,
    e.CreatePartitions: topics.create_partitions,
    e.DeleteTopic: deletion.delete_topic,
    e.AlterConfigs: config_changes.alter_configs,
    e.ChangesDue: config_changes.changes_due,
    e.DeletePartitions: reduction.delete_partitions,
    e.ReductionKeyRead: reduction_keys.reduction_key_read,
    e.ReductionDue: reduction_keys.reduction_due,
    e.ReductionKeyDue: reduction_keys.reduction_key_due,
    e.RetirementsDue: reduction_clock.retirements_due,
    e.RetirementOver: retirement.retirement_over,
    e.PurgeDue: purge.purge_due,
    e.ForgetBroker: forgetting.forget_broker,
    e.ForgetIntent: forgetting.forget_intent,
    e.ForgettingDone: forgetting.forgetting_done,
    e.AlterIsr: isr.alter_isr,
    e.BrokerGone: brokers.broker_gone,
    e.DeathDone: brokers.death_done,
    e.BrokerCame: brokers.broker_came,
    e.BrokerRedescribed: brokers.broker_redescribed,
    e.BrokerUnread: brokers.broker_unread,
    e.BrokerKnown: brokers.broker_known,
    e.DiskReported: brokers.disk_reported,
    e.DeletionAcknowledged: brokers.deletion_acknowledged,
    e.TopicDeletionDue: deletion.topic_deletion_due,
    e.TopicLogsDue: deletion.topic_logs_due,
    e.TopicGoneDue: deletion.topic_gone_due,
    e.DeletionKeyRead: deletion.deletion_key_read,
    e.TopicKeyDue: foreign_writes.topic_key_due,
    e.KafkaMoveFound: foreign_writes.kafka_move_found,
    e.TopicIdMissing: foreign_writes.topic_id_missing,
    e.IntentsDue: foreign_writes.intents_due,
    e.IntentDue: foreign_writes.intent_due,
    e.IntentsKeyDue: foreign_writes.intents_key_due,
    e.StateKeyRead: foreign_writes.state_key_read,
    e.TopicKeyRead: foreign_writes.topic_key_read,
    e.LegacyKeyRead: legacy.legacy_key_read,
    e.LegacyPlanDue: legacy.legacy_plan_due,
    e.LegacyKeyDue: legacy.legacy_key_due,
    e.ShutdownAsked: shutdown.shutdown_asked,
    e.ReplicaLeaves: shutdown.replica_leaves,
    e.ShutdownDecided: shutdown.shutdown_decided,
    e.RebalanceDue: preferred.rebalance_due,
    e.PreferredElectionPut: preferred.preferred_election_put,
    e.ConfigKeyRead: foreign_writes.config_key_read,
    e.BrokerConfigRead: foreign_writes.broker_config_read,
    e.LogDirNotified: foreign_writes.log_dir_notified,
    e.NotificationDone: foreign_writes.notification_done,
    e.ReassignPartitions: throttle_requests.reassign_partitions,
    e.AlterThrottledRates: throttle_requests.alter_rates,
    e.AlterThrottledReplicas: throttle_requests.alter_replicas,
    e.ThrottleDue: throttle_due.throttle_due,
    e.ThrottlePlanDue: throttle_plans.plan_due,
    e.ThrottleRemovalDue: throttle_due.removal_due,
}


def decide(state: ClusterState, event: Event) -> Decision:
    """The Decision of the rules for `event`; the state is not changed."""
    decision = RULES[type(event)](state, event)
    return legacy.add_consequences(state, event, decision) if state.legacy.is_there else decision


def step(state: ClusterState, event: Event) -> Decision:
    """Decide `event`, and apply the records to the state and its batch."""
    had_moves = bool(state.moves)
    was_reassigning = had_moves or state.is_reassigning
    decision = decide(state, event)
    if decision.records:
        apply_all(state, decision.records)
    if had_moves and state.moves and not isinstance(event, e.KeyRead):
        return decision  # the usual case: moves continue
    return throttle_due.add_consequences(state, event, decision, was_reassigning=was_reassigning)
