"""`kedge kafka reassign-partitions`: the options of kafka-reassign-partitions.sh, and those of KIP-179 and KIP-455."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ..kafka import Endpoint, action, connected, ending
from ..kafka.options import checked_servers, endpoint_options, parse_brokers
from ..options import CONNECTION, OUTPUT, Amount, Duration, command, group, json_option, option, quiet_option
from .execute import cancel, execute
from .plan import Wanted, generate, read_plan, read_topics
from .progress import list_moves, show_progress
from .verify import Request, verify

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster


ACTIONS: Final[Mapping[str, Callable[[Cluster, Request], None]]] = {
    "generate": lambda cluster, request: generate(cluster, request.the_wanted, as_json=request.as_json),
    "execute": execute,
    "verify": verify,
    "progress": show_progress,
    "list": list_moves,
    "cancel": cancel,
    "cancel_all": cancel,
}
_PLAN: Final = "reassignment_json_file"
_CONNECTING: Final = frozenset({"bootstrap_server", "command_config", "zookeeper", "as_json"})
# What each action needs, and what it may have besides.
_NEEDS: Final = {
    "generate": ("topics_to_move_json_file", "broker_list"),
    "execute": (_PLAN,),
    "verify": (_PLAN,),
    "progress": (_PLAN,),
    "list": (),
    "cancel": (_PLAN,),
    "cancel_all": (),
}
_MAY_HAVE: Final = {
    "generate": ("disable_rack_aware", "seed"),
    "execute": ("throttle", "replica_alter_log_dirs_throttle", "timeout", "additional", "preserve_throttles"),
    "verify": ("preserve_throttles",),
    "progress": ("watch",),
    "list": ("as_text",),
    "cancel": ("preserve_throttles", "timeout"),
    "cancel_all": ("preserve_throttles", "timeout"),
}
_BY_ZOOKEEPER: Final = frozenset({"generate", "execute", "verify"})
_NEED_BROKERS: Final = ("command_config", "throttle", "replica_alter_log_dirs_throttle", "preserve_throttles")
_SPELLED: Final = {"as_text": "text"}
_FILE: Final = click.Path(path_type=Path)


@command(
    "reassign-partitions",
    example="kedge kafka reassign-partitions --bootstrap-server localhost:9092 --execute \\\n"
    "    --reassignment-json-file plan.json --throttle 50MB",
)
@action("--generate", "Propose a plan for topics on a list of brokers.")
@action("--execute", "Start the reassignments of a plan.")
@action("--verify", "Print the state of a plan; remove throttles once it is done.")
@action("--progress", "Print how many messages each replica of a plan is behind.")
@action("--list", "Print all running reassignments as a plan.")
@action("--cancel", "Cancel the reassignments of a plan.")
@action("--cancel-all", "Cancel all running reassignments.")
@group(
    "Options of actions with a plan",
    option("--reassignment-json-file", type=_FILE, help="The plan. Required."),
    option("--throttle", type=Amount(), metavar="BYTES", help="Limit per broker on Kedge, bytes per second."),
    option(
        "--replica-alter-log-dirs-throttle",
        type=Amount(),
        metavar="BYTES",
        help="Bytes per second between directories.",
    ),
    option("--timeout", type=Duration(), none="30s", help="Time limit of a request: 30s or 2m."),
    option("--preserve-throttles", is_flag=True, help="Keep throttles when the plan is done or cancelled."),
    option("--watch", is_flag=True, help="With --progress: wait until the plan is done."),
    option("--additional", is_flag=True, help="Ignored: other reassignments always continue."),
)
@group(
    "Options of --generate",
    option("--topics-to-move-json-file", type=_FILE, help='File with {"topics": [{"topic": "foo"}]}. Required.'),
    option("--broker-list", metavar="ID[,...]", help="Brokers to place the replicas on. Required."),
    option("--disable-rack-aware", "--ignore-racks", is_flag=True, help="Place replicas without racks."),
    option("--seed", type=int, none="random", help="Number that makes the proposal repeatable."),
)
@endpoint_options
@option(
    "--zookeeper",
    metavar="HOST:PORT[,...][/CHROOT]",
    group=CONNECTION,
    help="Deprecated: write the plan to ZooKeeper instead.",
)
@option("--text", "as_text", is_flag=True, group=OUTPUT, help="List as Kafka's tool does, not as a plan.")
@json_option()
@quiet_option
def reassign_partitions(**given: Any) -> None:
    """Move partitions as kafka-reassign-partitions.sh does.

    Prints what Kafka's tool prints. --execute prints the current assignment first: keep it to undo the
    plan. --progress, --list as a plan and --cancel-all are additions to Kafka's tool.

    Exit code: 0 done; 1 not done, or not for all partitions; 2 the options cannot be used.
    """
    chosen = _checked(given)
    if given["zookeeper"] is not None:
        click.echo(
            "Warning: --zookeeper is deprecated, and will be removed in a future version. Use --bootstrap-server.",
            err=True,
        )
    with ending(as_json=given["as_json"]):
        request = _request_of(chosen, given)
        if given["zookeeper"] is not None:
            from . import legacy  # noqa: PLC0415 - kazoo is loaded by who needs it

            with legacy.opened(given["zookeeper"]) as tree:
                legacy.ACTIONS[chosen](tree, request)
            return
        with connected(Endpoint(given["bootstrap_server"], given["command_config"])) as cluster:
            ACTIONS[chosen](cluster, request)


def _request_of(action: str, given: dict[str, Any]) -> Request:
    wanted = None
    if action == "generate":
        topics, brokers = read_topics(given["topics_to_move_json_file"]), parse_brokers(given["broker_list"])
        wanted = Wanted(topics, brokers, not given["disable_rack_aware"], given["seed"])
    return Request(
        wanted=wanted,
        plan=None if given[_PLAN] is None else read_plan(given[_PLAN]),
        throttle=given["throttle"],
        dirs_throttle=given["replica_alter_log_dirs_throttle"],
        timeout_ms=None if given["timeout"] is None else round(1000 * given["timeout"]),
        preserve_throttles=given["preserve_throttles"],
        watch=given["watch"],
        as_text=given["as_text"],
        as_json=given["as_json"],
    )


def _checked(given: dict[str, Any]) -> str:
    actions = set(given["action"])
    if len(actions) != 1:
        names = ", ".join(map(_option, ACTIONS))
        raise click.UsageError(f"Command must include exactly one action: {names}")
    _check_rates(given)
    if given["bootstrap_server"] is not None and given["zookeeper"] is not None:
        raise click.UsageError("Only one of --bootstrap-server and --zookeeper can be given")
    if given["bootstrap_server"] is None and given["zookeeper"] is None:
        raise click.UsageError("Please specify --bootstrap-server")
    (action,) = actions
    if given["zookeeper"] is not None:
        _check_zookeeper(action, given)
    for name in _NEEDS[action]:
        if given[name] is None:
            raise click.UsageError(f'Missing required argument "[{_option(name)[2:]}]"')
    fitting = {*_NEEDS[action], *_MAY_HAVE[action], *_CONNECTING, "action"}
    for name, value in given.items():
        if name not in fitting and value not in (None, False, ()):
            raise click.UsageError(
                f'Option "[{_option(name)[2:]}]" can\'t be used with action "[{_option(action)[2:]}]"'
            )
    if given["as_text"] and given["as_json"]:
        raise click.UsageError("Only one of --text and --json can be given")
    return str(action)


def _check_rates(given: dict[str, Any]) -> None:
    for name in ("throttle", "replica_alter_log_dirs_throttle"):
        if given[name] == 0:
            raise click.UsageError(f"{_option(name)}: expected at least 1 byte per second")


def _check_zookeeper(action: str, given: dict[str, Any]) -> None:
    if action not in _BY_ZOOKEEPER:
        raise click.UsageError(f"{_option(action)} needs --bootstrap-server: --zookeeper cannot do it")
    for name in _NEED_BROKERS:
        if given[name]:
            raise click.UsageError(f"{_option(name)} needs --bootstrap-server")
    servers, _, _ = given["zookeeper"].partition("/")
    try:
        checked_servers(servers)
    except ValueError as error:
        raise click.UsageError(f"--zookeeper: {error}") from None


def _option(name: str) -> str:
    return "--" + _SPELLED.get(name, name).replace("_", "-")
