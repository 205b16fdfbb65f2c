"""`kedge serve`: the options, and what is said at the start and at the end.

Exit code: 0 after SIGINT or SIGTERM; 2, and one line, where what was asked for cannot be had.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import click

from controller.cli.printing import Amount, clean, fail, one_line, say, without_place
from controller.cli.serve.options import PARTITIONS_MAX, CannotServe, Options, as_brokers, as_host, as_place, as_topics
from controller.server import RETENTION_BYTES
from stores import public_url

_LISTEN: Final = "127.0.0.1:9092"
_STATUS: Final = "127.0.0.1:8480"
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_SAVE_S: Final = 5.0
_LOOK_S: Final = 0.5
_SHARE: Final = 20  # saving may take this part of the time, where it takes long


@click.command()
@click.option("--listen", default=_LISTEN, show_default=True, metavar="HOST:PORT", help="Where clients begin.")
@click.option("--advertise", metavar="HOST", help="What clients are told as HOST, if they call it by another name.")
@click.option("--brokers", "count", type=int, default=3, show_default=True, help="Simulated brokers; 0 for none.")
@click.option("--broker-listener", metavar="NAME", help="Remote brokers are told at their listener of this name.")
@click.option("--racks", metavar="A,B,...", help="Racks of the brokers, in turn where there are fewer of them.")
@click.option("--store", "url", metavar="URL", default="memory:", show_default=True, help="Where the metadata stand.")
@click.option("--node-id", type=int, default=101, show_default=True, help="Of the controller; one for each process.")
@click.option(
    "--topic", "topics", multiple=True, metavar="NAME[:PARTITIONS[:RF]]", help="Made at the start if missing."
)
@click.option("--copy-rate", type=Amount(), metavar="BYTES", help="A second into each broker; else as fast as can be.")
@click.option(
    "--retention", type=Amount(), default=str(RETENTION_BYTES), metavar="BYTES", help="Kept of each partition: 64MiB."
)
@click.option("--offsets-partitions", type=int, default=50, show_default=True, help="Partitions of __consumer_offsets.")
@click.option(
    "--rebalance-delay", type=int, default=200, show_default=True, help="Before the first generation of a group, in ms."
)
@click.option("--no-auto-create", is_flag=True, help="Create no topic that a client only names.")
@click.option("--seed", type=int, help="Of topic ids and placements.")
@click.option("--status", metavar="HOST:PORT", help=f"The status page; {_STATUS}, or any free port, if not said.")
@click.option("--no-status", is_flag=True, help="No status page.")
@click.option("--metrics", metavar="HOST:PORT", help="Metrics for Prometheus, below /metrics.")
@click.option("--users", type=click.Path(path_type=Path), help="Clients log in as one of these; docs/security.md.")
@click.option("--acls", type=click.Path(path_type=Path), help="Who may do what; without, everybody may everything.")
@click.option(
    "--tls-certificate", type=click.Path(path_type=Path), help="Addresses of clients speak TLS with this one."
)
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key.")
@click.option("--tls-clients-ca", type=click.Path(path_type=Path), help="Clients need a certificate that this signed.")
@click.option("--peers-secret", type=click.Path(path_type=Path), help="What the processes on one store know alone.")
@click.option("--peers-ca", type=click.Path(path_type=Path), help="Who signed the certificates of the others.")
@click.option("--allow-anonymous", is_flag=True, help="Listen beyond this machine, though nobody has to log in.")
@click.option("--json", "as_json", is_flag=True, help="Say where what listens as one JSON object.")
def serve(
    *,
    listen: str,
    advertise: str | None,
    count: int,
    broker_listener: str | None,
    racks: str | None,
    url: str,
    node_id: int,
    topics: tuple[str, ...],
    copy_rate: int | None,
    retention: int,
    offsets_partitions: int,
    rebalance_delay: int,
    no_auto_create: bool,
    seed: int | None,
    status: str | None,
    metrics: str | None,
    no_status: bool,
    users: Path | None,
    acls: Path | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    tls_clients_ca: Path | None,
    peers_secret: Path | None,
    peers_ca: Path | None,
    allow_anonymous: bool,
    as_json: bool,
) -> None:
    """Run a cluster that stock Kafka clients can talk to, until Ctrl-C or SIGTERM.

    A real controller, simulated brokers that keep what is produced in memory. The metadata stand in this process, in a
    file (memory:FILE, saved every few seconds), in ZooKeeper or etcd (zookeeper://HOST:PORT/CHROOT, etcd://HOST:PORT/PREFIX).
    """
    from controller.cli.serve import running  # noqa: PLC0415 - what it needs is known to be there only now

    if no_status and status is not None:
        fail("--status and --no-status: one or the other")
    if retention < 1 or copy_rate == 0:
        fail("--retention and --copy-rate are at least 1 byte")
    if not 1 <= offsets_partitions <= PARTITIONS_MAX:
        fail(f"--offsets-partitions: {offsets_partitions} is not within 1..{PARTITIONS_MAX}")
    if rebalance_delay < 0:
        fail("--rebalance-delay is at least 0 ms")
    if (tls_certificate is None) != (tls_key is None) or (tls_clients_ca is not None and tls_key is None):
        fail("--tls-certificate and --tls-key go together, and --tls-clients-ca with both")
    if not 0 <= node_id < 2**31:
        fail(f"--node-id: {node_id} is not within 0..2147483647")
    tls = None if tls_certificate is None or tls_key is None else (tls_certificate, tls_key, tls_clients_ca)
    try:
        brokers = as_brokers(count, racks)
        options = Options(
            url=url,
            node_id=node_id,
            listen=as_place("--listen", listen),
            advertise=None if advertise is None else as_host("--advertise", advertise),
            broker_listener=broker_listener,
            brokers=brokers,
            topics=as_topics(topics, count),
            seed=seed,
            copy_rate_bytes_s=copy_rate,
            retention_bytes=retention,
            offsets_partitions=offsets_partitions,
            rebalance_delay_ms=rebalance_delay,
            creates_topics=not no_auto_create,
            status=None if no_status else as_place("--status", status or _STATUS),
            status_may_be_elsewhere=status is None,
            metrics=None if metrics is None else as_place("--metrics", metrics),
            users=users,
            acls=acls,
            tls=tls,
            peers_secret=peers_secret,
            peers_ca=peers_ca,
            allow_anonymous=allow_anonymous,
        )
        with _told_to_end() as ended, running.running(options) as found:
            told = running.as_json(found)
            if as_json:
                click.echo(json.dumps(told))
            else:
                _say(told, brokers, url, is_saved=found.save is not None)
            _await_end(ended, found.save, url)
    except (CannotServe, ValueError) as error:
        fail(one_line(error))
    if not as_json:
        click.echo("ended")


def _say(told: dict[str, object], brokers: dict[int, str | None], url: str, *, is_saved: bool) -> None:
    click.echo(f"cluster {told['cluster_id']}, metadata in {clean(public_url(url))}, controller {told['controller']}")
    click.echo(f"clients begin at  {told['bootstrap']}")
    addresses = told["brokers"]
    assert isinstance(addresses, dict)
    for broker, rack in brokers.items():
        where = "" if rack is None else f", rack {clean(rack)}"
        click.echo(f"broker {broker:<10} {addresses[str(broker)]}{where}")
    for name in ("status", "metrics"):
        if told[name] is not None:
            click.echo(f"{name:<17} {told[name]}")
    if told["active"] != told["controller"]:
        click.echo(f"{'stands by':<17} controller {told['active']} is active")
    lost = ", and what was produced is gone then" if brokers else ""
    saved = f"; the metadata are saved every {_SAVE_S:g} s and at the end" if is_saved else ""
    click.echo(f"ready; Ctrl-C ends it{lost}{saved}")


@contextmanager
def _told_to_end() -> Iterator[threading.Event]:
    """Set by SIGINT and SIGTERM, once; the second one ends the process as it always does."""
    ended = threading.Event()

    def end(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        ended.set()

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _await_end(ended: threading.Event, save: Callable[[], None] | None, url: str) -> None:
    """Saves now and then, and once more when it is told to end. Only after that a second signal ends the process as it
    always does: to hand over takes a while, and who presses Ctrl-C twice would lose what was not saved."""
    if save is None:
        while not ended.wait(_LOOK_S):  # a signal just before a wait without an end would not end it
            pass
        return
    for number in _SIGNALS:
        signal.signal(number, lambda *_: ended.set())
    pause_s, is_over, is_said = _SAVE_S, False, False
    while not is_over:
        is_over = ended.wait(pause_s)
        begun_s = time.monotonic()
        try:
            save()
        except OSError as error:
            if not (is_said or is_over):  # at the end it is tried again, and said
                say(f"{url}: not saved, but tried again every now and then: {without_place(error)}")
            is_said = True
        pause_s = max(_SAVE_S, _SHARE * (time.monotonic() - begun_s))
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_DFL)
