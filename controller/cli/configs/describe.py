"""--describe: settings as Kafka's tool tells them; those that were set for the entity, or with --all each one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import click

from controller.cli.configs.asked import Entities
from controller.cli.configs.resources import named, own_source, resources
from controller.cli.kafka.answers import dumped
from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.configs import Resource, Setting
from controller.cli.kafka.errors import Failed, Refused
from controller.cli.printing import clean

_AT_ONCE: Final = 100  # a topic has some 35 settings with synonyms: answers stay below a megabyte


def describe(cluster: Cluster, of: Entities, *, everything: bool, as_json: bool) -> None:
    """Prints them. Raises Failed, also where only some could not be told."""
    told: list[dict[str, Any]] = []
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
                told.append({**named(of, resource), "configs": [_object(each) for each in settings]})
            else:
                click.echo("\n".join([_heading(of, resource, everything=everything), *map(_line, settings)]))
    if as_json:
        bad = [{**named(of, r), "code": error.code, "message": str(error)} for r, error in refused.items()]
        click.echo(dumped({"entities": told, "refused": bad}))
    if refused:
        said = "\n".join(f"{of.one} {resource.name}: {error}" for resource, error in refused.items())
        raise Failed(said, answered=as_json)


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
