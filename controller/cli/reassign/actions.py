"""Actions by brokers of Kafka's protocol: name -> what is done with a cluster and what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from controller.cli.kafka.cluster import Cluster
from controller.cli.reassign.asked import Asked
from controller.cli.reassign.cancelling import cancel
from controller.cli.reassign.execute import Options, execute
from controller.cli.reassign.generate import generate
from controller.cli.reassign.listing import list_moves
from controller.cli.reassign.progress import show_progress
from controller.cli.reassign.verify import verify


def _execute(cluster: Cluster, asked: Asked) -> None:
    options = Options(asked.throttle, asked.dirs_throttle, asked.timeout_ms, throttle_stays=asked.preserve_throttles)
    execute(cluster, asked.the_plan, options, as_json=asked.as_json)


def _verify(cluster: Cluster, asked: Asked) -> None:
    verify(cluster, asked.the_plan, preserve_throttles=asked.preserve_throttles, as_json=asked.as_json)


def _cancel(cluster: Cluster, asked: Asked) -> None:
    """All of them where there is no plan."""
    cancel(
        cluster,
        asked.plan,
        preserve_throttles=asked.preserve_throttles,
        timeout_ms=asked.timeout_ms,
        as_json=asked.as_json,
    )


ACTIONS: Final[Mapping[str, Callable[[Cluster, Asked], None]]] = {
    "generate": lambda cluster, asked: generate(cluster, asked.the_wanted, as_json=asked.as_json),
    "execute": _execute,
    "verify": _verify,
    "progress": lambda cluster, asked: show_progress(cluster, asked.the_plan, watch=asked.watch, as_json=asked.as_json),
    "list": lambda cluster, asked: list_moves(cluster, as_text=asked.as_text),
    "cancel": _cancel,
    "cancel_all": _cancel,
}
