"""`kedge configs`: options, and which go with which action."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from controller.cli.configs.asked import TYPES, entities
from controller.cli.configs.changes import changes
from controller.cli.kafka import Endpoint, connected, ending, endpoint_options, json_option

_FILE: Final = click.Path(path_type=Path)
_ONLY_ALTER: Final = ("add_config", "add_config_file", "delete_config")


def _types(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    return [type_ for type_ in TYPES if type_.startswith(begun)]


@click.command("configs")
@endpoint_options
@click.option("--describe", "action", flag_value="describe", multiple=True, help="Tell settings, change nothing.")
@click.option("--alter", "action", flag_value="alter", multiple=True, help="Set and delete settings of one entity.")
@click.option("--all", "everything", is_flag=True, help="Also what nobody set: of files, of all brokers, defaults.")
@click.option(
    "--entity-type", multiple=True, metavar="TYPE", shell_complete=_types, help="topics, brokers or broker-loggers."
)
@click.option("--entity-name", metavar="NAME", help="A topic's name or a broker's id.")
@click.option("--entity-default", is_flag=True, help="What holds for all brokers.")
@click.option("--topic", metavar="NAME", help="--entity-type topics --entity-name NAME")
@click.option("--broker", metavar="ID", help="--entity-type brokers --entity-name ID")
@click.option("--broker-defaults", is_flag=True, help="--entity-type brokers --entity-default")
@click.option("--broker-logger", metavar="ID", help="--entity-type broker-loggers --entity-name ID")
@click.option("--add-config", multiple=True, metavar="K=V[,K=[V,V]]", help="Set these.")
@click.option("--add-config-file", type=_FILE, metavar="FILE", help="Set what a file of properties says.")
@click.option("--delete-config", multiple=True, metavar="K[,K]", help="Take these back.")
@click.option("--force", is_flag=True, help="Accepted, as Kafka's: nothing is asked.")
@json_option
def configs(**given: Any) -> None:
    """Tell and change settings of topics, brokers and loggers of brokers.

    Exactly one action. Exit code 0: done; 1: not, or not wholly, with one line on stderr; 2: options that do not fit.
    """
    action = _checked(given)
    of = entities(given, altered=action == "alter")
    with ending(as_json=given["as_json"]):
        wanted = None
        if action == "alter":
            wanted = changes(given["add_config"], given["add_config_file"], given["delete_config"])
        with connected(Endpoint(given["bootstrap_server"], given["command_config"])) as cluster:
            if wanted is not None:
                from controller.cli.configs.alter import alter  # noqa: PLC0415 - kafka-python is there

                alter(cluster, of, wanted, as_json=given["as_json"])
            else:
                from controller.cli.configs.describe import describe  # noqa: PLC0415 - as above

                describe(cluster, of, everything=given["everything"], as_json=given["as_json"])


def _checked(given: dict[str, Any]) -> str:
    """The action. Raises UsageError where options do not fit, in Kafka's words."""
    if len(set(given["action"])) != 1:
        raise click.UsageError("Command must include exactly one action: --describe, --alter")
    if given["bootstrap_server"] is None:
        raise click.UsageError("Please specify --bootstrap-server")
    action = str(given["action"][0])
    present = [name for name in _ONLY_ALTER if given[name] not in (None, ())]
    unfit = ["everything"] if action == "alter" and given["everything"] else present if action == "describe" else []
    for name in unfit:
        shown = "all" if name == "everything" else name.replace("_", "-")
        raise click.UsageError(f'Option "[{shown}]" can\'t be used with option "[{action}]"')
    if "add_config" in present and "add_config_file" in present:
        raise click.UsageError("Only one of --add-config or --add-config-file must be specified")
    if action == "alter" and not present:
        raise click.UsageError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )
    return action
