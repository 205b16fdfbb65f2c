"""The commands of a transcript that are requests of clients and of leaders."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Final

from kedge import (
    AlterConfigOp,
    AlterReassignmentsOptions,
    ConfigResource,
    ConfigResourceType,
    DeletePartitions,
    ElectionType,
    LogReport,
    NewPartitions,
    NewTopic,
    OpType,
    ReassignPartitionsOptions,
    ThrottledRate,
    ThrottledReplicas,
    TopicPartition,
)
from tests.rules.planting import Line, ids, name_of, read_line
from tests.runtime.programs import Programs

RESOURCES: Final = {"topics": ConfigResourceType.TOPIC, "brokers": ConfigResourceType.BROKER}


def tp_of(text: str) -> TopicPartition:
    return TopicPartition(*name_of(text))


def resource_of(text: str) -> ConfigResource:
    """`topics/t`, `brokers/1`; `brokers/`: the defaults of all."""
    kind, _, name = text.partition("/")
    return ConfigResource(RESOURCES[kind], name)


class Requests(Programs):
    """A script with requests. Each is answered below the command in whose time it is."""

    @property
    def admin(self) -> Any:
        return self.cluster.controller.admin

    def ask(self, answers: Mapping[Any, Future[Any]] | Future[Any], name: str = "") -> None:
        """The answers, each under what it is about."""
        if isinstance(answers, Future):
            self.pending.append((name, answers))
        else:
            self.pending += [(_named(what), future) for what, future in answers.items()]

    # --- moves

    def do_move(self, line: Line) -> None:
        """`move t-0=4,5 t-1=6`; `deadline_s=`, `timeout_s=`."""
        targets = {tp_of(name): ids(said) for name, said in line.options.items() if "-" in name}
        times = {"move_timeout_s": "deadline_s", "timeout_s": "timeout_s"}
        given = {name: float(line.options[option]) for name, option in times.items() if option in line.options}
        options = AlterReassignmentsOptions(**given)  # type: ignore[arg-type]
        self.ask(self.admin.alter_partition_reassignments(targets, options))

    def do_cancel(self, line: Line) -> None:
        self.ask(self.admin.alter_partition_reassignments({tp_of(word): None for word in line.words}))

    def do_rollback(self, line: Line) -> None:
        self.ask(self.admin.rollback_partition_reassignments([tp_of(word) for word in line.words]))

    def do_isr(self, line: Line) -> None:
        """`isr t-0 1,2`: the leader says who is in sync."""
        self.ask(self.cluster.isr(ids(line.words[1]), *name_of(line.words[0])), "isr")

    def do_isr_at(self, line: Line) -> None:
        """The leader says so by what it was sent, whatever the key holds: broker 1, under the epochs that are named."""
        epoch = int(line.options["epoch"])
        said = (epoch, 0, ids(line.words[1]), self.cluster.epoch(1))
        self.ask(self.cluster.controller.alter_isr(tp_of(line.words[0]), 1, *said), "isr")

    def do_report(self, line: Line) -> None:
        """`report t-0 1 epoch=0 start=5 end=9`: what the log of a broker holds, all of it committed."""
        numbers = [int(line.options[name]) for name in ("epoch", "start", "end", "end")]
        self.cluster.controller.report_log(LogReport(*name_of(line.words[0]), int(line.words[1]), *numbers))

    def do_complete(self, line: Line) -> None:
        """Every target of these partitions is in sync, says the leader."""
        for word in line.words:
            state = self.cluster.state(*name_of(word))
            joined = [b for b in state["targetReplicas"] if b not in state["isr"]]
            self.ask(self.cluster.isr([*state["isr"], *joined], *name_of(word)), "isr")

    def do_elect(self, line: Line) -> None:
        kind = ElectionType.UNCLEAN if "unclean" in line.words else ElectionType.PREFERRED
        named = [tp_of(word) for word in line.words if "-" in word]
        self.ask(self.admin.elect_leaders(kind, named), "election")

    # --- topics and brokers

    def do_create(self, line: Line) -> None:
        """`create t 1,2/2,3 retention.ms=5`."""
        assignments = [ids(one) for one in line.words[1].split("/")]
        self.ask(
            self.admin.create_topics({line.words[0]: NewTopic(replica_assignments=assignments, configs=line.options)})
        )

    def do_expand(self, line: Line) -> None:
        self.ask(self.admin.create_partitions({line.words[0]: NewPartitions(int(line.words[1]))}))

    def do_delete(self, line: Line) -> None:
        self.ask(self.admin.delete_topics(line.words))

    def do_reduce(self, line: Line) -> None:
        """`reduce t 1`; `now`: at once."""
        request = DeletePartitions(int(line.words[1]), "now" in line.words)
        self.ask(self.admin.delete_partitions({line.words[0]: request}))

    def do_forget(self, line: Line) -> None:
        self.ask(self.admin.forget_broker(int(line.words[0])), f"forget {line.words[0]}")

    def do_shut_down(self, line: Line) -> None:
        broker = int(line.words[0])
        timeout_s = float(line.options.get("timeout_s", 60))
        epoch = self.cluster.epoch(broker)
        self.ask(self.cluster.controller.controlled_shutdown(broker, epoch, timeout_s=timeout_s), "shutdown")

    # --- configs

    def do_set(self, _: Line) -> None:
        """`set topics/t a=1 b=2; brokers/1 c=3`."""
        resources = [read_line(f"set {part}")[1] for part in self.text.removeprefix("set ").split("; ")]
        ops = {
            resource_of(one.words[0]): [AlterConfigOp(name, value) for name, value in one.options.items()]
            for one in resources
        }
        self.ask(self.admin.incremental_alter_configs(ops))

    def do_configs(self, line: Line) -> None:
        """Describe the configs of a resource."""
        future = self.admin.describe_configs([resource_of(line.words[0])])[resource_of(line.words[0])]
        self.ask(future, f"configs of {line.words[0]}")

    def do_unset(self, line: Line) -> None:
        ops = [AlterConfigOp(name, None, OpType.DELETE) for name in line.words[1:]]
        self.ask(self.admin.incremental_alter_configs({resource_of(line.words[0]): ops}))

    def do_replace(self, line: Line) -> None:
        """All configs, by these."""
        self.ask(self.admin.alter_configs({resource_of(line.words[0]): line.options}))

    # --- throttles

    def do_reassign(self, line: Line) -> None:
        """`reassign t-0=4,5 throttle=1000`; `only`: validate; `stays`: the throttle is not removed."""
        targets = [(tp_of(name), ids(said)) for name, said in line.options.items() if "-" in name]
        throttle = int(line.options["throttle"]) if "throttle" in line.options else None
        stays = "stays" not in line.words
        options = ReassignPartitionsOptions(
            validate_only="only" in line.words,
            throttle=throttle,
            auto_remove_throttle=stays,
            timeout_s=float(line.options.get("timeout_s", 60)),
        )
        self.ask(self.admin.reassign_partitions(targets, options))

    def do_reassign_pairs(self, line: Line) -> None:
        """`reassign-pairs t-0:4 t-0:5`, as the wire has them: a mapping cannot name a partition twice."""
        pairs = [word.split(":") for word in line.words]
        self.ask(self.admin.reassign_partitions([(tp_of(name), ids(said)) for name, said in pairs]))

    def do_rates(self, line: Line) -> None:
        """`rates 1=5000 2=6000/7000`; `reassignment`: of the other family."""
        wanted = {}
        for broker, said in line.options.items():
            leader, _, follower = said.partition("/")
            wanted[int(broker)] = ThrottledRate(int(leader), int(follower or leader))
        family = "reassignment" if "reassignment" in line.words else "replication"
        stays = "stays" not in line.words
        result = self.admin.alter_interbroker_throttled_rates(wanted, family=family, auto_remove_throttle=stays)
        self.ask(result if wanted else result.all(), "rates")

    def do_lists(self, line: Line) -> None:
        """`lists t-0=1/2,3`: the throttled replicas on each side."""
        wanted = {}
        for name, said in line.options.items():
            leaders, followers = map(ids, said.split("/"))
            wanted[tp_of(name)] = ThrottledReplicas(leaders, followers)
        stays = "stays" not in line.words
        self.ask(self.admin.alter_interbroker_throttled_replicas(wanted, auto_remove_throttle=stays), "lists")


def _named(what: Any) -> str:
    if isinstance(what, TopicPartition):
        return f"{what.topic}-{what.partition}"
    if isinstance(what, ConfigResource):
        kind = next(kind for kind, of in RESOURCES.items() if of is what.type)
        return f"{kind}/{what.name}"
    return str(what)
