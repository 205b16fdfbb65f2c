"""How commands fail: the errors of this package, and how they become a line on stderr and an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from ...model.values import TopicPartition
from ..printing import clean, is_of_stdout, one_line

EXIT_FAILED = 1
UNSUPPORTED = 35
"""Kafka's number for an API, or a version of it, that the server does not offer."""


class Failed(Exception):
    """What was asked for was not done, or not wholly; the message is what the operator reads.

    `terse`: Kafka's tool prints it without "Error: " before it. It may have several lines, one a partition.
    `answered`: an object with what went well and what did not was printed already, if one was asked for.
    """

    def __init__(self, message: str, *, terse: bool = False, answered: bool = False) -> None:
        super().__init__(message)
        self.terse = terse
        self.answered = answered


class Refused(Failed):
    """A server answered with an error. `code` is Kafka's number, the message the server's own where it gave one."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotConnected(Failed):
    """No server was reached, or none that lets us in."""


@contextmanager
def ending(*, as_json: bool = False) -> Iterator[None]:
    """Whatever a command raises inside ends it with a line and exit code 1; click's own errors pass, which are 2, and a
    stdout that is full, which ends every command alike."""
    try:
        yield
    except Failed as error:
        _say(str(error), terse=error.terse, as_json=as_json and not error.answered)
        sys.exit(EXIT_FAILED)
    except KeyboardInterrupt:
        _say("interrupted", terse=False, as_json=as_json)
        sys.exit(EXIT_FAILED)
    except OSError as error:
        if is_of_stdout(error):
            raise
        named = f"{error.filename}: {error.strerror}" if error.filename else one_line(error)
        _say(named, terse=False, as_json=as_json)
        sys.exit(EXIT_FAILED)


def _say(message: str, *, terse: bool, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"error": message}))
    lines = "\n".join(clean(line) for line in message.splitlines())
    click.echo(lines if terse else f"Error: {lines}", err=True)


def dumped(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def named(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": tp.topic, "partition": tp.partition} for tp in sorted(partitions)]


def refused_json(refused: Mapping[TopicPartition, Refused]) -> list[dict[str, Any]]:
    return [
        {"topic": tp.topic, "partition": tp.partition, "code": error.code, "message": str(error)}
        for tp, error in sorted(refused.items())
    ]
