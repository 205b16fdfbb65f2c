"""Before `kedge serve` runs: the store must hold the cluster, the journal must be usable, and topics are created."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from ....stores.base import MetadataStore
from ...codec import BadValue, keys
from ...codec.migration import decode_marker
from ...host import Controller
from ...model.errors import ApiError, ErrorCode, NotController, TopicAlreadyExists
from ...model.requests import NewTopic
from ...runtime.journal import FolderSink, Journal, Sink
from ...runtime.journal.files import files_in
from ...wire.errors import Refused
from ...wire.peers.controller_client import ControllerClient
from ..printing import one_line
from .options import CannotServe, Options

_READ_S: Final = 15.0


def require_there(store: MetadataStore, shown: str) -> None:
    """CannotServe with the place of the cluster, if it is not here. Raises StoreError."""
    entry = store.get(keys.MIGRATION, sync=True, timeout_s=_READ_S)
    try:
        marker = None if entry is None else decode_marker(entry.value)
    except BadValue:
        return  # the controller reports it
    if marker is not None:
        raise CannotServe(f"{shown}: {marker}{'; start with --store for it' if marker.is_moved else ''}")


@attrs.frozen
class Sinks:
    """A sink that writes to each of `sinks`, in order. If one raises, the later ones do not get the lines."""

    sinks: Sequence[Sink]

    def begin(self, controller_epoch: int) -> None:
        for sink in self.sinks:
            sink.begin(controller_epoch)

    def write(self, lines: Sequence[bytes]) -> None:
        for sink in self.sinks:
            sink.write(lines)

    def close(self) -> None:
        for sink in self.sinks:
            sink.close()


def journals(options: Options, shown: Sink) -> Callable[[int], Journal]:
    folder = options.journal
    if folder is None:
        return lambda _: Journal(shown)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if options.url == "memory:" and files_in(folder):
            raise CannotServe(
                f"--journal: {folder} has the journal of another cluster; --store memory: needs an empty folder"
            )
    except OSError as error:
        raise CannotServe(f"--journal: {folder}: {error.strerror or one_line(error)}") from error
    return lambda _: Journal(Sinks([FolderSink(folder), shown]))


_CREATE_TOPICS: Final = (19, 5)  # key and version
_PAUSE_S: Final = 0.1


def create(
    controller: Controller, elsewhere: ControllerClient | None, topics: Mapping[str, NewTopic], timeout_s: float
) -> None:
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


def _ask(elsewhere: ControllerClient, name: str, topic: NewTopic, timeout_s: float) -> None:
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
