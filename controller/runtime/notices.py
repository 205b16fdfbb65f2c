"""Sends the notices of `HostNotices` to a host that takes them.

They run where callbacks run, one at a time, and on the loop's thread only if it is the caller's (`poll_once`). An error
in a notice is logged, and the notice is not repeated. A notice that was missed in a crash is not repeated either, but
each term begins with all configs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Concatenate, Final, ParamSpec

from ..model.host import HostNotices
from ..model.values import ALL_BROKERS, BROKERS, TOPICS
from ..model.view import ClusterView
from .executors import Executor

P = ParamSpec("P")
_log = logging.getLogger(__name__)

LANE: Final = -1  # no broker has this id, so notices do not delay callbacks


class Notices:
    """The notices for the host. Used by the loop alone."""

    def __init__(self, host: object, executor: Executor) -> None:
        self._executor = executor
        self._config_changed = _wanted(host, HostNotices.config_changed)
        self._controller_changed = _wanted(host, HostNotices.controller_changed)
        self._partition_purged = _wanted(host, HostNotices.partition_purged)
        self._controller: tuple[int, int] | None = None
        self._waiting: list[Callable[[], None]] = []

    @property
    def wants_controller(self) -> bool:
        """Whether the host takes notices about the active controller."""
        return self._controller_changed is not None

    def config_changed(self, entity_type: str, name: str, configs: Mapping[str, str]) -> None:
        """The configs of a topic (`entity_type` "topics"), a broker ("brokers", its id in decimal) or all brokers
        ("brokers", "<default>") are `configs` from now on."""
        if self._config_changed is not None:
            self._waiting.append(partial(_tell, self._config_changed, entity_type, name, dict(configs)))

    def term_began(self, view: ClusterView) -> None:
        """Send all configs once, also empty ones: of every topic, of every broker that is live or has configs, and the
        defaults of all brokers."""
        if self._config_changed is None:
            return
        names = dict.fromkeys((ALL_BROKERS, *map(str, sorted(view.brokers)), *sorted(view.configured_brokers())))
        said = [(BROKERS, name, view.broker_config(name)) for name in names]
        said += [(TOPICS, name, view.topic_config(name)) for name in view.topic_names()]
        self._waiting.append(partial(_tell_all, self._config_changed, said))

    def partition_purged(self, topic: str, partition: int) -> None:
        """A reduction removed a partition: other data about it, such as committed offsets, may be deleted. May be
        repeated after a failover."""
        if self._partition_purged is not None:
            self._waiting.append(partial(_tell, self._partition_purged, topic, partition))

    def controller_changed(self, controller_id: int, epoch: int) -> None:
        """Another controller is active, or the same one under another epoch."""
        if self._controller_changed is not None and self._controller != (controller_id, epoch):
            self._controller = (controller_id, epoch)
            self._waiting.append(partial(_tell, self._controller_changed, controller_id, epoch))

    def send(self) -> None:
        """Send the waiting notices, at the end of a pass."""
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            self._executor.submit(LANE, call)


def _wanted(host: object, notice: Callable[Concatenate[Any, P], None]) -> Callable[P, None] | None:
    """The host's method for a notice; None if it has none of its own. TypeError if it cannot be called as a plain
    function."""
    found: Callable[P, None] | None = getattr(host, notice.__name__, None)
    if found is None or getattr(found, "__func__", None) is notice:
        return None
    if not callable(found) or iscoroutinefunction(found):
        raise TypeError(f"{notice.__name__} of the host must be a method and not a coroutine, not {found!r:.80}")
    return found


def _tell_all(
    method: Callable[[str, str, Mapping[str, str]], None], said: Sequence[tuple[str, str, Mapping[str, str]]]
) -> None:
    for kind, name, configs in said:
        _tell(method, kind, name, dict(configs))


def _tell(method: Callable[P, None], *said: P.args, **named: P.kwargs) -> None:
    try:
        method(*said, **named)
    except Exception:  # noqa: BLE001 - an error of the host must not affect others
        of = [each for each in said if not isinstance(each, Mapping)]  # configs may hold passwords
        _log.warning("%s of the host failed for %r", getattr(method, "__name__", "a notice"), of, exc_info=True)
