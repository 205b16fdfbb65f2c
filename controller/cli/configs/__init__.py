"""`kedge kafka configs`: describe and alter configs of topics, brokers and loggers, as kafka-configs.sh does.

`changes` has what options mean. Changes are incremental (KIP-339), also for brokers: Kafka's tool of 3.9 replaces all
configs of a broker by those that it read before, and so undoes what was set in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ...model.sensitive_configs import shown
from ..kafka import Endpoint, action, connected, ending, endpoint_options
from ..kafka.errors import Failed, Refused, dumped
from ..kafka.values import Change, Op, Resource, Setting
from ..options import command, group, json_option, option, quiet_option
from ..printing import clean, confirm
from .changes import (
    DEFAULT,
    LOGGERS,
    TYPES,
    Changes,
    Entities,
    changes,
    entities,
    named,
    own_source,
    resources,
)

if TYPE_CHECKING:
    from ..kafka.cluster import Cluster


def alter(cluster: Cluster, of: Entities, wanted: Changes, *, as_json: bool) -> None:
    (resource,) = resources(cluster, of)
    _check_names(cluster, of, resource, wanted)
    steps = [Change(name, Op.SET, value) for name, value in wanted.added.items()]
    steps += [Change(name, Op.DELETE) for name in wanted.deleted]
    refused = cluster.alter_configs({resource: steps})
    if refused:
        raise next(iter(refused.values()))
    if as_json:
        added = dict(wanted.added) if of.type == LOGGERS else shown(of.type, wanted.added)
        click.echo(dumped({**named(of, resource), "added": added, "deleted": [*wanted.deleted]}))
    elif resource.name == DEFAULT:
        confirm(f"Completed updating default config for {of.type} in the cluster.")
    else:
        confirm(f"Completed updating config for {of.one} {resource.name}.")


def _check_names(cluster: Cluster, of: Entities, resource: Resource, wanted: Changes) -> None:
    """What is to be deleted must be set: servers let a misspelt name pass. Of loggers each name must be known."""
    names = [*wanted.added, *wanted.deleted] if of.type == LOGGERS else [*wanted.deleted]
    if not names:
        return
    found = cluster.describe_configs([resource])[resource]
    if isinstance(found, Refused):
        raise found
    source = own_source(resource)
    known = {name for name, setting in found.items() if source in {None, setting.source}}
    if unknown := [name for name in names if name not in known]:
        what = "broker logger(s)" if of.type == LOGGERS else "config(s)"
        raise Failed(f"Invalid {what}: {','.join(unknown)}")


_AT_ONCE: Final = 100  # a topic has some 35 settings with synonyms: answers stay below a megabyte


def describe(cluster: Cluster, of: Entities, *, everything: bool, as_json: bool) -> None:
    entities_shown: list[dict[str, Any]] = []
    refused: dict[Resource, Refused] = {}
    wanted = resources(cluster, of)
    for begin in range(0, len(wanted), _AT_ONCE):
        group = wanted[begin : begin + _AT_ONCE]
        found = cluster.describe_configs(group, synonyms=True)
        for resource in group:
            answer = found[resource]
            if isinstance(answer, Refused):
                refused[resource] = answer
                continue
            settings = _chosen(answer, resource, everything=everything)
            if as_json:
                entities_shown.append({**named(of, resource), "configs": [_object(each) for each in settings]})
            else:
                click.echo("\n".join([_heading(of, resource, everything=everything), *map(_line, settings)]))
    if as_json:
        bad = [{**named(of, r), "code": error.code, "message": str(error)} for r, error in refused.items()]
        click.echo(dumped({"entities": entities_shown, "refused": bad}))
    if refused:
        problems = "\n".join(f"{of.one} {resource.name}: {error}" for resource, error in refused.items())
        raise Failed(problems, answered=as_json)


def _chosen(found: Mapping[str, Setting], resource: Resource, *, everything: bool) -> Iterable[Setting]:
    source = None if everything else own_source(resource)
    return [setting for _, setting in sorted(found.items()) if source in {None, setting.source}]


def _heading(of: Entities, resource: Resource, *, everything: bool) -> str:
    if not resource.name:
        return f"Default configs for {of.type} in the cluster are:"
    return f"{'All' if everything else 'Dynamic'} configs for {of.one} {resource.name} are:"


def _line(setting: Setting) -> str:
    synonyms = ", ".join(f"{each.source.name}:{each.name}={_value(each.value)}" for each in setting.synonyms)
    sensitive = str(setting.is_sensitive).lower()
    return clean(f"  {setting.name}={_value(setting.value)} sensitive={sensitive} synonyms={{{synonyms}}}")


def _value(value: str | None) -> str:
    return "null" if value is None else value


def _object(setting: Setting) -> dict[str, Any]:
    return {
        "name": setting.name,
        "value": setting.value,
        "source": setting.source.name,
        "is_sensitive": setting.is_sensitive,
        "is_read_only": setting.is_read_only,
        "synonyms": [{"name": each.name, "value": each.value, "source": each.source.name} for each in setting.synonyms],
    }


_FILE: Final = click.Path(path_type=Path)
_ONLY_ALTER: Final = ("add_config", "add_config_file", "delete_config")


def _types(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    return [type_ for type_ in TYPES if type_.startswith(begun)]


@command("configs", example="kedge kafka configs --bootstrap-server localhost:9092 \\\n    --describe --topic orders")
@action("--describe", "Print configs.")
@action("--alter", "Set and delete configs of one entity.")
@group(
    "Choose the entity",
    option("--topic", metavar="NAME", help="The configs of this topic."),
    option("--broker", metavar="ID", help="The configs of this broker."),
    option("--broker-defaults", is_flag=True, help="The configs that apply to all brokers."),
    option("--broker-logger", metavar="ID", help="The log levels of this broker."),
    option("--entity-type", multiple=True, metavar="TYPE", shell_complete=_types, help=f"One of {', '.join(TYPES)}."),
    option("--entity-name", metavar="NAME", none="all of the type", help="A topic's name or a broker's id."),
    option("--entity-default", is_flag=True, help="The configs that apply to all brokers."),
    option("--all", "everything", is_flag=True, help="Describe configs of all sources, defaults included."),
)
@group(
    "Changes of --alter",
    option("--add-config", multiple=True, metavar="K=V[,K=[V,V]]", help="Configs to set."),
    option("--add-config-file", type=_FILE, help="Properties file with configs to set."),
    option("--delete-config", multiple=True, metavar="K[,K]", help="Configs to delete."),
    option("--force", is_flag=True, help="Ignored; accepted because Kafka's tool has it."),
)
@endpoint_options
@json_option()
@quiet_option
def configs(**given: Any) -> None:
    """Manage configs as kafka-configs.sh does.

    Describes and alters configs of topics and brokers. Prints what Kafka's tool prints: each config with its value and
    where the value comes from. Without --all, --describe prints only what is set for the entity itself.

    Exit code: 0 done; 1 not done, or not for all entities; 2 the options cannot be used.
    """
    chosen = _checked(given)
    of = entities(given, altered=chosen == "alter")
    with ending(as_json=given["as_json"]):
        wanted = None
        if chosen == "alter":
            wanted = changes(given["add_config"], given["add_config_file"], given["delete_config"])
        with connected(Endpoint(given["bootstrap_server"], given["command_config"])) as cluster:
            if wanted is not None:
                alter(cluster, of, wanted, as_json=given["as_json"])
            else:
                describe(cluster, of, everything=given["everything"], as_json=given["as_json"])


def _checked(given: dict[str, Any]) -> str:
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
