"""The Java for local servers and for Kafka's own programs."""

from __future__ import annotations

import kedge.pipeline.spark.java as javas
from kedge.pipeline.spark.java import JAVA_PACKAGE
from servers.process import NoServer

__all__ = ["JAVA_PACKAGE", "find_java"]


def find_java(version_min: int, needed_by: str) -> str:
    """As `kedge.pipeline.spark.java.find_java`. Raises NoServer."""
    try:
        return javas.find_java(version_min, needed_by)
    except javas.NoJava as error:
        raise NoServer(str(error)) from error
