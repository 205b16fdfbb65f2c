"""`kedge kafka reassign-partitions`: the options of kafka-reassign-partitions.sh, and those of KIP-179 and KIP-455.

command     options and actions
plan        files of plans: read, checked, generated
execute     --execute, --cancel and --cancel-all
throttling  throttles of a reassignment, set and removed
progress    --progress and --list
verify      --verify, and what Kafka's tool prints
legacy      the actions with --zookeeper
"""

from controller.cli.reassign.command import reassign_partitions

__all__ = ["reassign_partitions"]
