"""What a test and a controller process say to each other: values, pickled over a pair of sockets.

The brokers live in the process of the test. A controller process is killed, stopped and started again at any moment,
and whatever it held goes with it; what brokers hold (logs, epochs, sessions) must not, or nothing could be said of what
was lost. So the host of a controller process is a wire: each callback goes to the test and waits there for its answer,
as it would to a broker on another machine, and what brokers ask (`alter_isr`) comes the other way."""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs

from kedge import HostResponse, LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest

Request: TypeAlias = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest


@attrs.frozen
class Leads:
    """From the process: under which epoch it leads, None for not at all. The first one says that it runs."""

    controller_epoch: int | None


@attrs.frozen
class Call:
    """From the process: a callback, which waits for `Return` with its number."""

    number: int
    request: Request


@attrs.frozen
class Notice:
    """From the process: a notice, without an answer."""

    name: str
    arguments: tuple[Any, ...]


@attrs.frozen
class Return:
    """To the process: the answer of a broker."""

    number: int
    response: HostResponse


@attrs.frozen
class Ask:
    """To the process: a method of the controller, or of its `admin`. A number for the answer."""

    number: int
    method: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@attrs.frozen
class Answer:
    """From the process: what the method gave, or raised. Of `Results` a dict of values and errors."""

    number: int
    value: Any = None
    error: Exception | None = None
