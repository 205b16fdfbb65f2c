"""The tree of commands as a table: where each command is, what it is for, and which extra it needs.

A new command is a module with a click command and a row here. A module is imported only when its command runs, so no
command pays for the packages of another; help and completion of a group read this table and import nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import attrs
import click
from click.shell_completion import CompletionItem

from .extras import need


@attrs.frozen
class Command:
    """`module`: where its click command is, under `attribute`. `says`: what it does, in one line of help."""

    says: str
    module: str
    attribute: str
    extra: str | None = None


@attrs.frozen
class Group:
    """Commands below one name. `says`: its line in the list of commands; `more`: what its own help adds."""

    says: str
    more: str
    commands: Mapping[str, Command]
    extra: str | None = None


def _commands(room: str, rows: Mapping[str, tuple[str, str]], extra: str | None = None) -> Mapping[str, Command]:
    """`rows`: the name of a command -> its module below `room`, and what it does."""
    attributes = {name: "list_" if name == "list" else name.replace("-", "_") for name in rows}
    return {name: Command(says, f"{room}.{module}", attributes[name], extra) for name, (module, says) in rows.items()}


KAFKA: Final = Group(
    "Administer topics, configs and reassignments of a cluster.",
    "The cluster is that of `kedge serve` or Kafka. Options and output are those of Kafka's own tools, without a JVM.",
    _commands(
        "kedge.controller.cli",
        {
            "topics": ("topics", "Manage topics as kafka-topics.sh does."),
            "configs": ("configs", "Manage configs as kafka-configs.sh does."),
            "reassign-partitions": ("reassign", "Move partitions as kafka-reassign-partitions.sh does."),
        },
    ),
)
JOURNAL: Final = Group(
    "Show, audit and replay the journal of a controller.",
    "The journal is the file that lists each decision of a controller in one JSON line.",
    _commands(
        "kedge.controller.cli",
        {
            "show": ("journal.show", "Show the lines of a journal, filtered by topic, partition, event or term."),
            "audit": ("journal.audit", "Check every line against the rules of the controller, and report violations."),
            "progress": (
                "journal.progress",
                "Show how far each move is, which moves are stuck, and the remaining time.",
            ),
            "replay": ("journal.replay", "Replay a journal step by step against the rules."),
        },
    ),
)
STORE: Final = Group(
    "Check, dump, load, compare and migrate metadata stores.",
    "URL is memory:FILE, zookeeper://HOST:PORT[,...]/CHROOT or etcd://HOST:PORT[,...]/PREFIX. Options of "
    'the store follow a "?".',
    _commands(
        "kedge.controller.cli",
        {
            "ping": ("store.check", "Check whether a store can be used, and print its version and limits."),
            "audit": (
                "store.check_tree",
                "Check the keys of a cluster for what is broken, inconsistent or left behind.",
            ),
            "diff": ("store.trees", "Print the keys that only one of two stores has, or that differ."),
            "dump": ("store.trees", "Write all keys of a store to a JSON file."),
            "load": ("store.trees", "Write the keys of a JSON file into an empty store."),
            "migrate": ("store.migrate", "Move a cluster to another store."),
        },
    ),
)
PLAN: Final = Group(
    "Plan reassignments from snapshots, and submit them in waves.",
    "The steps are collect, a plan such as drain, waves, export and submit. A snapshot is the state of a cluster at "
    "one time; a wave is the part of a plan that runs at once. TABLES is the folder of tables that the commands "
    "share.\n\n"
    "Exit code: 0 done; 1 done with findings (refused moves, violations, rejected rows); 2 the input cannot be "
    "used.",
    _commands(
        "kedge.controller.cli.plan",
        {
            "collect": ("collect", "Collect a snapshot of a cluster, from brokers, a store or files."),
            "compute-load": ("stages", "Validate collected tables, and compute the load of each replica."),
            "validate": ("stages", "Check a snapshot: racks, replication factors, dead brokers."),
            "size": ("size", "Count the brokers that each rack needs."),
            "drain": ("making", "Plan to move every replica away from some brokers."),
            "fill-brokers": ("making", "Plan to move bytes to new brokers."),
            "rebalance": ("making", "Plan to balance bytes, networks or counts over all brokers."),
            "balance-disks": ("making", "Plan to balance bytes over the log directories of each broker."),
            "fix-racks": ("making", "Plan to spread the replicas of each partition over racks."),
            "set-replication-factor": ("making", "Plan another replication factor."),
            "balance-leaders": ("making", "Plan to balance preferred leaders without moving data."),
            "demote": ("making", "Plan to take preferred leaders away from some brokers, or to give them back."),
            "reduce-partitions": ("making", "Plan which topics can do with fewer partitions."),
            "waves": ("stages", "Cut a plan into waves that respect the limits of each broker."),
            "export": ("stages", "Write a plan as JSON files of Kafka, with a rollback for each wave."),
            "submit": ("submit", "Run an exported plan wave by wave on a cluster."),
            "list": ("see", "List the snapshots in TABLES, and the plans of each."),
            "show": ("see", "Show a plan: its moves, what was refused, and its waves."),
            "is-empty": ("see", "Report what is left on brokers that were drained."),
            "compare": ("compare", "Compare the plans of earlier snapshots."),
            "forget": ("see", "Delete old snapshots with their plans."),
            "apply-policy": ("stages", "Check, plan, cut and export every cluster that a policy file names."),
        },
        "pipeline",
    ),
    "pipeline",
)
ROOT: Final[Mapping[str, Command | Group]] = {
    "serve": Command(
        "Run a cluster in one process that stock Kafka clients can use.", "kedge.controller.cli.serve", "serve", "wire"
    ),
    "kafka-controller": Command(
        "Run the controller of stock Kafka brokers in ZooKeeper mode.",
        "kedge.controller.cli.controller",
        "controller",
        "wire",
    ),
    "demo": Command(
        "Watch a broker being emptied while a controller is killed.",
        "kedge.controller.cli.demo",
        "demo",
    ),
    "kafka": KAFKA,
    "plan": PLAN,
    "journal": JOURNAL,
    "store": STORE,
    "completion": Command(
        "Print the script with which a shell completes commands.", "kedge.controller.cli.completion", "completion"
    ),
}


def load(row: Command | Group, name: str) -> click.Command:
    """The click command of a row. A missing extra ends the process with one line."""
    if row.extra is not None:
        need(row.extra)
    if isinstance(row, Group):
        return Rows(name=name, help=f"{row.says}\n\n{row.more}", rows=row.commands)
    found = getattr(import_module(row.module), row.attribute)
    assert isinstance(found, click.Command), found
    return found


class Rows(click.Group):
    """Commands that are imported when they run. Their names and help come from the table."""

    def __init__(self, *args: Any, rows: Mapping[str, Command | Group], **more: Any) -> None:
        super().__init__(*args, **more)
        self._rows = rows

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click asks
        return list(self._rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as click asks
        row = self._rows.get(cmd_name)
        return None if row is None else load(row, cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """From the table: click would import every command that may be meant, at each key."""
        rows = [(name, row) for name, row in self._rows.items() if name.startswith(incomplete)]
        offers = [CompletionItem(name, help=row.says) for name, row in rows]
        return offers + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as click asks
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.says) for name, row in self._rows.items()])
