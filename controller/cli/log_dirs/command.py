"""`kedge log-dirs`: options and what they mean."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli.kafka import Endpoint, connected, ending, endpoint_options, json_option
from controller.cli.kafka.json_files import parse_brokers


@click.command("log-dirs")
@endpoint_options
@click.option("--describe", is_flag=True, help="Tell directories and what lies in them.")
@click.option("--broker-list", metavar="ID[,...]", help="Of these brokers; without, of all that live.")
@click.option("--topic-list", metavar="NAME[,...]", help="Of these topics; without, of all.")
@json_option
def log_dirs(
    *,
    bootstrap_server: str | None,
    command_config: Path | None,
    describe: bool,
    broker_list: str | None,
    topic_list: str | None,
    as_json: bool,
) -> None:
    """Tell which replica lies in which directory, its bytes there, and how many messages it is behind.

    Exit code 0: done; 1: not, with one line on stderr; 2: options that do not fit.
    """
    if bootstrap_server is None:
        raise click.UsageError('Missing required argument "[bootstrap-server]"')
    if not describe:
        raise click.UsageError('Missing required argument "[describe]"')
    with ending(as_json=as_json):
        brokers = parse_brokers(broker_list) if broker_list else None
        topics = _names(topic_list) if topic_list else None
        with connected(Endpoint(bootstrap_server, command_config)) as cluster:
            from controller.cli.log_dirs.describing import describe_dirs  # noqa: PLC0415 - kafka-python is there

            describe_dirs(cluster, brokers, topics, as_json=as_json)


def _names(text: str) -> list[str]:
    return sorted({name.strip() for name in text.split(",")} - {""})
