"""Checks that a server of Spark Connect answers, or a master of a cluster listens, before a session is created; and
extracts the reason why a JVM failed, in one line.

PySpark's own client retries an absent server for ten minutes, and waits for ever for one that accepts the connection
and sends nothing. Here one small request is sent with a deadline, and repeated while nothing listens.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from ...controller.model import numerals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAUSE_S: Final = 0.2
_CONNECT_S: Final = 5.0
_CLUSTER: Final = "spark://"
LOOPBACK: Final = "127.0.0.1"
_THROWN: Final = re.compile(r"(?:Exception|Error): (.+)")
_LAST: Final = re.compile(r".*last error: (?:UNKNOWN: )?(?:ipv[46]:\S+: )?")
_CAUSE: Final = "Caused by: "
_REASON: Final = "Reason: "


class NoSpark(RuntimeError):
    """No session can be created; the message says what is missing."""


def need_answer(remote: str, timeout_s: float) -> None:
    """Return once the server at `remote` (sc://host:port) has answered. Raises NoSpark if it has not after `timeout_s`,
    if it is another kind of server, or refuses, and if `remote` is no such address."""
    import grpc  # noqa: PLC0415 - needed for a server only
    from pyspark.sql.connect.client.core import DefaultChannelBuilder  # noqa: PLC0415

    try:
        builder = DefaultChannelBuilder(remote)
        channel = builder.toChannel()
    except ValueError as error:
        raise NoSpark(f"the server of Spark Connect: {re.sub(r'^.[A-Z_]+. ', '', _line(str(error)))}") from error
    server = f"sc://{builder.endpoint}"  # without parameters, one of which may be a token
    deadline = time.monotonic() + timeout_s
    try:
        while (problem := _ask(channel, builder, deadline - time.monotonic(), grpc)) is not None:
            if time.monotonic() + _PAUSE_S >= deadline:
                raise NoSpark(f"{server}: no server of Spark Connect answered within {timeout_s:g} s: {problem}")
            time.sleep(_PAUSE_S)
    finally:
        channel.close()


def need_listener(master: str) -> str | None:
    """Check that something listens at one of the addresses of `master`, if that is spark://host:port[,host:port]: Spark
    would start a JVM, and retry for more than a minute. Raises NoSpark if nothing listens. Other masters, and malformed
    addresses, are left to Spark.

    Returns the address at which workers find this process: the loopback if they are in it, the local address of the
    connection if the master listens; None: Spark finds one.
    """
    if not master.startswith(_CLUSTER):
        return LOOPBACK if is_local(master) else None
    problems = []
    for address in master.removeprefix(_CLUSTER).split(","):
        host, _, given = address.rpartition(":")
        port = numerals.whole(given, 1, 65_535)
        if not host or port is None:
            return None
        try:
            with socket.create_connection((host.strip("[]"), port), _CONNECT_S) as reached:
                return str(reached.getsockname()[0]) if reached.family == socket.AF_INET else None
        except OSError as error:
            problems.append(f"{address}: {error.strerror or error}")
    raise NoSpark(f"no Spark master listens: {', '.join(problems)}"[:500])


def is_local(master: str | None) -> bool:
    """Whether the workers are on this machine, started with the session: local[*], local-cluster[2,1,1024]."""
    return master is not None and master.startswith("local")


def _ask(channel: Any, builder: Any, left_s: float, grpc: Any) -> str | None:
    """Why there is no answer yet; None if there is one."""
    from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc  # noqa: PLC0415 - as above

    who: Any = {
        "session_id": str(uuid4()),
        "user_context": base_pb2.UserContext(user_id=builder.userId or os.environ.get("USER", "")),
    }
    services: Any = base_pb2_grpc
    stub, metadata = services.SparkConnectServiceStub(channel), builder.metadata()
    question = base_pb2.AnalyzePlanRequest(**who, spark_version=base_pb2.AnalyzePlanRequest.SparkVersion())
    try:
        stub.AnalyzePlan(question, timeout=max(left_s, _PAUSE_S), metadata=metadata)
        with suppress(grpc.RpcError):  # the request created a session; unused ones end by themselves
            stub.ReleaseSession(base_pb2.ReleaseSessionRequest(**who), timeout=max(left_s, _PAUSE_S), metadata=metadata)
    except grpc.RpcError as error:
        said = _line(error.details() or error.code().name)
        if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
            raise NoSpark(f"sc://{builder.endpoint}: the server refused the request: {said}") from error
        return _LAST.sub("", said) if error.code() is grpc.StatusCode.UNAVAILABLE else "the server sent no answer"
    return None


def opened(builder: SparkSession.Builder) -> SparkSession:
    """The session, with its settings read: otherwise Spark reports a bad one in the first query."""
    made = builder.getOrCreate()
    try:
        made.conf.get("spark.sql.session.timeZone")
    except Exception:
        made.stop()
        raise
    return made


def reason_of(said: Sequence[str], error: BaseException) -> str:
    """The reason in the lines that a JVM printed and in the exception, without stack frames."""
    lines = [line.strip() for line in (*str(error).splitlines(), *said)]
    given = [line.partition(_REASON)[2] for line in lines if line.startswith("ERROR ") and _REASON in line]
    thrown = [found[1] for line in lines if not line.startswith(_CAUSE) and (found := _THROWN.search(line))]
    causes = [found[1] for line in lines if line.startswith(_CAUSE) and (found := _THROWN.search(line))]
    why = [*given[-1:], *thrown[:1], *causes[-1:]] if not given else given[-1:]
    plain = [line for line in lines if line and not line.startswith(("at ", "WARN", "..."))]
    return _line(": ".join(dict.fromkeys(why)) or (plain or [type(error).__name__])[0])


def _line(text: str) -> str:
    return " ".join(text.split())[:500]
