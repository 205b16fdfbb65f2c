"""`kedge kafka-controller`, the controller of Kafka brokers: options, what is printed, and findings.

What runs is in running.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ....stores import public_url
from ..options import CONNECTION, command, group, json_option, option, quiet_option
from ..printing import clean, confirm, fail, one_line, say
from ..serve.options import CannotServe, access, as_host, as_place, as_tls
from ..signals import SignalEvent, told_to_end

if TYPE_CHECKING:
    from .running import Options, Running

LOOK_S: Final = 1.0
LOOKS_MIN: Final = 5
"""A finding is printed when it was there so many times in a row: a broker that starts is not reached for some
seconds."""
_COUNT: Final = click.IntRange(1)
_FILE: Final = click.Path(path_type=Path)


@command(
    "kafka-controller",
    example="kedge kafka-controller --store zookeeper://127.0.0.1:2181/kafka --node-id 101",
)
@option("--store", "url", metavar="URL", required=True, help="ZooKeeper of the brokers, with their chroot.")
@option(
    "--node-id", type=click.IntRange(0, 2**31 - 1), default=101, metavar="ID", help="Controller id, not a broker's."
)
@option("--take-over", "depose", is_flag=True, help="Take over from a broker that is controller.")
@option("--hand-back", is_flag=True, help="Give the cluster back to Kafka's own controller, and exit.")
@option("--journal", type=_FILE, metavar="FOLDER", help="Folder for the journal of decisions.")
@group(
    CONNECTION,
    option("--listen", default="127.0.0.1:9090", metavar="HOST:PORT", help="Address for brokers and clients."),
    option("--advertise", metavar="HOST", none="the host of --listen", help="Host that brokers connect to."),
    option("--listener-name", default="PLAINTEXT", metavar="NAME", help="Inter-broker listener of the brokers."),
    option(
        "--client-listener",
        "client_listeners",
        multiple=True,
        metavar="NAME://HOST:PORT",
        none="no other listener",
        help="Address for clients of another listener; may be repeated.",
    ),
    option("--brokers-config", type=_FILE, help="Java properties for connections to brokers."),
    option("--metrics", metavar="HOST:PORT", help="Address of metrics for Prometheus, at /metrics."),
)
@group(
    "Internal topics, where they are missing",
    option("--offsets-partitions", type=_COUNT, default=50, metavar="N", help="Count for __consumer_offsets."),
    option("--transactions-partitions", type=_COUNT, default=50, metavar="N", help="Count for __transaction_state."),
    option("--internal-replication-factor", type=_COUNT, default=3, metavar="N", help="Count of replicas of both."),
)
@access(
    option("--peers-secret", type=_FILE, none="a secret in the store", help="Secret that all controllers share."),
    option("--peers-ca", type=_FILE, none="--tls-certificate", help="Authority for certificates of controllers."),
)
@json_option("Print the addresses as one JSON object.")
@quiet_option
def controller(**given: Any) -> None:
    """Run the controller of stock Kafka brokers in ZooKeeper mode.

    The brokers (Kafka 2.8 to 3.9, inter.broker.protocol.version 2.7 or later) need no change. A second controller with
    another --node-id stands by. An empty store gets a new cluster. Before you use it on a cluster with data, read
    docs/kafka-brokers.md.

    Prints the address, then on stderr what is wrong for more than five seconds, until Ctrl-C or SIGTERM.

    Exit code: 0 ended by a signal, or handed back; 2 the options cannot be used, the address or ZooKeeper is not
    available, the store is that of something else, or there is nothing to hand back.
    """
    from . import running  # noqa: PLC0415 - only now it is known that its packages are there

    try:
        if given["url"].partition(":")[0] != "zookeeper":
            fail(f"--store: expected ZooKeeper, where Kafka brokers register, got {public_url(given['url'])}")
        if given.pop("hand_back"):
            running.hand_back(given["url"])
            return
        as_json = given.pop("as_json")
        with told_to_end() as ended, running.running(_options(**given)) as found:
            _print(found, given["listener_name"], as_json=as_json)
            Findings(lambda: found.controller.describe().findings).watch(ended)
    except (CannotServe, ValueError) as error:
        fail(clean(one_line(error)))
    if not as_json:
        confirm("ended")


def _options(
    *,
    listen: str,
    advertise: str | None,
    listener_name: str,
    client_listeners: Sequence[str],
    metrics: str | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    tls_clients_ca: Path | None,
    offsets_partitions: int,
    transactions_partitions: int,
    internal_replication_factor: int,
    **same: Any,
) -> Options:
    """Raises ValueError. `same`: options that are taken as they are."""
    from ...wire.kafka import InternalTopics  # noqa: PLC0415 - as above
    from .running import Options, as_listeners  # noqa: PLC0415 - as above

    return Options(
        listen=as_place("--listen", listen),
        advertise=None if advertise is None else as_host("--advertise", advertise),
        listener_name=listener_name,
        client_listeners=as_listeners(client_listeners, listener_name),
        status=None,
        metrics=None if metrics is None else as_place("--metrics", metrics),
        tls=as_tls(tls_certificate, tls_key, tls_clients_ca, same["peers_ca"]),
        internal_topics=InternalTopics(offsets_partitions, transactions_partitions, internal_replication_factor),
        **same,
    )


def _print(found: Running, listener: str, *, as_json: bool) -> None:
    node_id, address = found.controller.describe().controller_id, f"{found.address.host}:{found.address.port}"
    if as_json:
        others = {name: f"{at.host}:{at.port}" for name, at in found.client_listeners.items()}
        shown = {"cluster_id": found.cluster_id, "controller": node_id, "listen": address, "metrics": found.metrics}
        click.echo(json.dumps({**shown, "client_listeners": others}))
        return
    new = "; there was none, so it is new" if found.is_new else ""
    confirm(f"cluster {found.cluster_id}, metadata in {clean(found.store)}{new}")
    confirm(f"controller {node_id} listens at {address}, listener {clean(listener)}")
    for name, at in found.client_listeners.items():
        confirm(f"clients of listener {clean(name)} reach it at {at.host}:{at.port}")
    if found.metrics is not None:
        confirm(f"metrics {found.metrics}")
    confirm("running; Ctrl-C ends it")


class Findings:
    """Compares what there is with what was there before. `read`: the findings by subject."""

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read
        self._seen: dict[str, int] = {}
        self._printed: dict[str, str] = {}

    def watch(self, ended: SignalEvent) -> None:
        while not ended.wait(LOOK_S):
            for line in self.look():
                say(line)

    def look(self) -> list[str]:
        found = dict(self._read())
        self._seen = {subject: self._seen.get(subject, 0) + 1 for subject in found}
        over = [subject for subject in self._printed if subject not in found]
        lines = [clean(f"{subject}: over") for subject in over]
        for subject in over:
            del self._printed[subject]
        for subject, text in found.items():
            if self._seen[subject] >= LOOKS_MIN and self._printed.get(subject) != text:
                self._printed[subject] = text
                lines.append(clean(f"{subject}: {text}"))
        return lines
