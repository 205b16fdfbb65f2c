"""--alter: settings of one entity are set and deleted, all that is asked for or nothing."""

from __future__ import annotations

import click

from controller.cli.configs.asked import DEFAULT, LOGGERS, Entities
from controller.cli.configs.changes import Changes
from controller.cli.configs.resources import named, own_source, resources
from controller.cli.kafka.answers import dumped
from controller.cli.kafka.cluster import Cluster
from controller.cli.kafka.configs import Change, Op, Resource
from controller.cli.kafka.errors import Failed, Refused


def alter(cluster: Cluster, of: Entities, wanted: Changes, *, as_json: bool) -> None:
    """They are set and deleted. Raises Failed; then nothing is."""
    (resource,) = resources(cluster, of)
    _check_names(cluster, of, resource, wanted)
    steps = [Change(name, Op.SET, value) for name, value in wanted.added.items()]
    steps += [Change(name, Op.DELETE) for name in wanted.deleted]
    refused = cluster.alter_configs({resource: steps})
    if refused:
        raise next(iter(refused.values()))
    if as_json:
        click.echo(dumped({**named(of, resource), "added": dict(wanted.added), "deleted": [*wanted.deleted]}))
    elif resource.name == DEFAULT:
        click.echo(f"Completed updating default config for {of.type} in the cluster.")
    else:
        click.echo(f"Completed updating config for {of.one} {resource.name}.")


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
