"""`kedge kafka reassign-partitions`: the options of kafka-reassign-partitions.sh, and those of KIP-179 and KIP-455.

command     the options, and which action they mean
plan        files of plans: read, checked, generated
execute     --execute, --cancel and --cancel-all; directories of replicas
throttling  throttles of a reassignment, set and removed
progress    --progress and --list: what is moving
watching    --verify, and --watch until a plan is done
texts       what Kafka's tool prints
legacy      the same by the key in ZooKeeper
"""

from controller.cli.reassign.command import reassign_partitions

__all__ = ["reassign_partitions"]
