"""`kedge reassign-partitions`: the options of kafka-reassign-partitions.sh, and those that KIP-179 and KIP-455 add.

One file an action: `generate`, `execute`, `verify`, `progress`, `listing`, `cancelling`; besides, `plan` (files of
plans and all that is checked of them), `throttling`, `directories`, and `legacy` (by the key in ZooKeeper).
"""

from controller.cli.reassign.command import reassign_partitions

__all__ = ["reassign_partitions"]
