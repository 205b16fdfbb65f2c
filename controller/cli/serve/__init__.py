"""`kedge serve`: a cluster in one process, for tests of clients and tools.

Here are its options, what is printed at the start and at the end, and saving until a signal comes.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from ....stores import public_url
from ...server import RETENTION_BYTES
from ..options import CONNECTION, Amount, command, group, json_option, option, quiet_option
from ..printing import clean, confirm, fail, one_line, say, without_place
from ..signals import SIGNALS, SignalEvent, told_to_end
from .options import (
    PARTITIONS_MAX,
    CannotServe,
    Options,
    access,
    as_brokers,
    as_host,
    as_network,
    as_place,
    as_tls,
    as_topics,
)

_LISTEN: Final = "127.0.0.1:9092"
_STATUS: Final = "127.0.0.1:8480"
_SAVE_S: Final = 5.0
_LOOK_S: Final = 0.5
_SILENT_LOOKS: Final = 3  # without contact, after which that is printed
_SHARE: Final = 20  # saving may take this part of the time, where it takes long


_FILE: Final = click.Path(path_type=Path)


@command("serve", example="kedge serve --broker-count 3 --racks a,b,c --topic orders:6:3")
@option("--broker-count", "count", type=int, metavar="N", default=3, help="Count of simulated brokers; ids from 1.")
@option("--racks", metavar="A,B,...", help="Racks of the brokers, assigned in turn.")
@option("--topic", "topics", multiple=True, metavar="NAME[:PARTITIONS[:RF]]", help="Topic to create if it is missing.")
@option("--copy-rate", type=Amount(), metavar="BYTES", none="no limit", help="Bytes per second copied into a broker.")
@option(
    "--retention",
    type=Amount(),
    default=str(RETENTION_BYTES),
    metavar="BYTES",
    none=f"{RETENTION_BYTES >> 20}MiB",
    help="Bytes of a partition to keep.",
)
@option("--rebalance-delay", type=int, metavar="MS", default=200, help="Wait of a new group for members, in ms.")
@option("--no-auto-create", is_flag=True, help="Do not create topics that clients name.")
@option(
    "--offsets-partitions",
    type=int,
    metavar="N",
    default=50,
    help="Count of partitions of __consumer_offsets and __transaction_state.",
)
@option("--journal", type=_FILE, metavar="FOLDER", help="Folder for the journal of decisions.")
@option("--seed", type=int, none="random", help="Number that makes topic ids and placement repeatable.")
@group(
    CONNECTION,
    option("--listen", default=_LISTEN, metavar="HOST:PORT", help="Bootstrap address for clients."),
    option("--advertise", metavar="HOST", none="the host of --listen", help="Host that clients connect to."),
    option("--broker-listener", metavar="NAME", help="Listener of remote brokers that clients use."),
    option(
        "--broker-network",
        "broker_networks",
        multiple=True,
        metavar="CIDR",
        none="any",
        help="Where remote brokers are.",
    ),
    option("--status", metavar="HOST:PORT", none=f"{_STATUS}, or any free port", help="Address of the status page."),
    option("--no-status", is_flag=True, help="Serve no status page."),
    option("--metrics", metavar="HOST:PORT", help="Address of metrics for Prometheus, at /metrics."),
)
@access()
@group(
    "Metadata store, and several processes on it",
    option("--store", "url", metavar="URL", default="memory:", help="Where to keep the metadata."),
    option("--node-id", type=int, metavar="ID", default=101, help="Controller id, unique in the store."),
    option("--peers-secret", type=_FILE, none="a secret in the store", help="Secret that all processes share."),
    option("--peers-ca", type=_FILE, none="--tls-certificate", help="Authority for certificates of the processes."),
)
@option("--control", type=int, hidden=True, help="Number of a pipe, for the fixtures of tests.")
@json_option("Print the addresses as one JSON object.")
@quiet_option
def serve(**given: Any) -> None:
    """Run a cluster in one process that stock Kafka clients can use.

    A real controller with simulated brokers, which keep records in memory. Use it to test clients and tools without a
    JVM (docs/serve.md). Prints the addresses, then runs until Ctrl-C or SIGTERM.

    URL is memory:, memory:FILE (saved every few seconds), zookeeper://HOST:PORT/CHROOT or etcd://HOST:PORT/PREFIX. An
    empty store gets a new cluster.

    Exit code: 0 ended by a signal; 2 the options cannot be used, or an address or the store is not available.
    """
    from . import running  # noqa: PLC0415 - what it needs is known to be there only now

    try:
        options = options_of(**given)
        with told_to_end() as ended, running.running(options) as found:
            shown = running.as_json(found)
            if given["as_json"]:
                click.echo(json.dumps(shown))
            else:
                _say(shown, options.brokers, options.url, is_saved=found.save is not None)
            if found.save is None:
                _watch(ended, Contact(lambda: found.cluster.server.silence))
            else:
                _save(ended, found.save, options.url)
    except (CannotServe, ValueError) as error:
        fail(one_line(error))
    if not given["as_json"]:
        confirm("ended")


def options_of(
    *,
    count: int,
    racks: str | None,
    topics: tuple[str, ...],
    listen: str,
    advertise: str | None,
    copy_rate: int | None,
    retention: int,
    offsets_partitions: int,
    rebalance_delay: int,
    no_auto_create: bool,
    status: str | None,
    no_status: bool,
    metrics: str | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    tls_clients_ca: Path | None,
    as_json: bool,  # noqa: ARG001 - of the printing
    **same: Any,
) -> Options:
    """The options of the command line as values. Raises ValueError. `same`: those that are taken as they are."""
    if no_status and status is not None:
        raise ValueError("--status and --no-status exclude each other")
    if retention < 1 or copy_rate == 0:
        raise ValueError("--retention and --copy-rate: expected at least 1 byte")
    if not 0 <= rebalance_delay < 2**31:  # as Kafka's group.initial.rebalance.delay.ms
        raise ValueError(f"--rebalance-delay: expected 0 to 2147483647 ms, got {rebalance_delay}")
    if not 1 <= offsets_partitions <= PARTITIONS_MAX:
        raise ValueError(f"--offsets-partitions: expected 1 to {PARTITIONS_MAX}, got {offsets_partitions}")
    for network in same["broker_networks"]:
        as_network("--broker-network", network)
    if not 0 <= same["node_id"] < 2**31:
        raise ValueError(f"--node-id: expected 0 to 2147483647, got {same['node_id']}")
    return Options(
        listen=as_place("--listen", listen),
        advertise=None if advertise is None else as_host("--advertise", advertise),
        brokers=as_brokers(count, racks),
        topics=as_topics(topics, count),
        copy_rate_bytes_s=copy_rate,
        retention_bytes=retention,
        offsets_partitions=offsets_partitions,
        rebalance_delay_ms=rebalance_delay,
        creates_topics=not no_auto_create,
        status=None if no_status else as_place("--status", status or _STATUS),
        status_may_be_elsewhere=status is None,
        metrics=None if metrics is None else as_place("--metrics", metrics),
        tls=as_tls(tls_certificate, tls_key, tls_clients_ca, same["peers_ca"]),
        **same,
    )


def _say(told: dict[str, object], brokers: Mapping[int, str | None], url: str, *, is_saved: bool) -> None:
    confirm(f"cluster {told['cluster_id']}, metadata in {clean(public_url(url))}, controller {told['controller']}")
    confirm(f"bootstrap server  {told['bootstrap']}")
    addresses = told["brokers"]
    assert isinstance(addresses, dict)
    for broker, rack in brokers.items():
        where = "" if rack is None else f", rack {clean(rack)}"
        confirm(f"broker {broker:<10} {addresses[str(broker)]}{where}")
    for name in ("status", "metrics"):
        if told[name] is not None:
            confirm(f"{name:<17} {told[name]}")
    if told["active"] != told["controller"]:
        confirm(f"{'stand-by':<17} controller {told['active']} is active")
    lost = ", and the records are lost then" if brokers else ""
    saved = f"; the metadata is saved every {_SAVE_S:g} s and at the end" if is_saved else ""
    confirm(f"ready; Ctrl-C ends it{lost}{saved}")


class Contact:
    """What to print about the store. `silence`: why it cannot be reached, empty if that is not known; None: it can."""

    def __init__(self, silence: Callable[[], str | None]) -> None:
        self._silence = silence
        self._looks = 0

    def look(self) -> str | None:
        """The line to print now: once in a while without contact, which lasts longer than the restart of one server,
        and once after it."""
        why = self._silence()
        was_printed = self._looks >= _SILENT_LOOKS
        self._looks = 0 if why is None else self._looks + 1
        if why is None:
            return "the store answers again" if was_printed else None
        return None if self._looks != _SILENT_LOOKS else f"the store does not answer{why and ': '}{why}"


def _watch(ended: SignalEvent, contact: Contact) -> None:
    while not ended.wait(_LOOK_S):  # a signal just before a wait without an end would not end it
        if (line := contact.look()) is not None:
            say(line)


def _save(ended: SignalEvent, save: Callable[[], None], url: str) -> None:
    """Saves at intervals, and once more at the end. Only after that a second signal ends the process at once: to hand
    over takes a while, and a second Ctrl-C would lose what is not saved."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: ended.set())
    pause_s, is_over, is_said = _SAVE_S, False, False
    while not is_over:
        is_over = ended.wait(pause_s)
        begun_s = time.monotonic()
        try:
            save()
        except OSError as error:
            if not (is_said or is_over):  # at the end it is tried again, and said
                say(f"{url}: not saved, retrying: {without_place(error)}")
            is_said = True
        pause_s = max(_SAVE_S, _SHARE * (time.monotonic() - begun_s))
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
