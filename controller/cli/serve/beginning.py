"""Topics of `--topic`: created at the start by the active controller, which may be in another process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from controller.cli.printing import one_line
from controller.cli.serve.options import CannotServe
from controller.host import Controller
from controller.model.errors import ApiError, ErrorCode, NotController, TopicAlreadyExists
from controller.model.requests import NewTopic
from controller.wire.errors import Refused
from controller.wire.peers.asking import Asking

_CREATE_TOPICS: Final = (19, 5)  # key and version
_PAUSE_S: Final = 0.1


def create(controller: Controller, elsewhere: Asking | None, topics: Mapping[str, NewTopic], timeout_s: float) -> None:
    """Creates the topics that do not exist. CannotServe where one cannot be created."""
    until_s = time.monotonic() + timeout_s
    for name, topic in topics.items():
        while True:
            try:
                if controller.is_active or elsewhere is None:
                    controller.admin.create_topics({name: topic})[name].result(timeout_s)
                else:
                    _ask(elsewhere, name, topic, timeout_s)
                break
            except TopicAlreadyExists:
                break
            except (NotController, Refused) as error:  # the controller that was active is no longer
                if time.monotonic() >= until_s:
                    raise CannotServe(f"--topic {name}: {one_line(error)}") from error
                time.sleep(_PAUSE_S)
            except (ApiError, TimeoutError) as error:
                raise CannotServe(f"--topic {name}: {one_line(error)}") from error


def _ask(elsewhere: Asking, name: str, topic: NewTopic, timeout_s: float) -> None:
    row: dict[str, Any] = {
        "name": name,
        "num_partitions": topic.num_partitions,
        "replication_factor": topic.replication_factor,
        "assignments": [],
        "configs": [],
    }
    fields = {"topics": [row], "timeout_ms": int(timeout_s * 1000), "validate_only": False}
    made = elsewhere.ask(*_CREATE_TOPICS, fields).result(timeout_s).topics[0]
    if made.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
        return
    if made.error_code == ErrorCode.NOT_CONTROLLER:
        raise NotController("no controller is active")
    if made.error_code:
        raise ApiError(made.error_message or f"error {made.error_code}")
