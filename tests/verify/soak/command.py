"""The order of a soak: servers, processes, traffic, deeds until the time is over, healing, the verdict."""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from servers.ensembles import EtcdEnsemble, ZooKeeperEnsemble
from servers.server import LocalServer
from tests.kit.memory import resident
from tests.kit.waiting import until
from tests.verify.soak.brokers import BROKERS
from tests.verify.soak.deeds import HEAL_S, KEDGE, Deeds
from tests.verify.soak.ledger import Ledger
from tests.verify.soak.traffic import Traffic

STORES: Final[Mapping[str, Callable[[], Any]]] = {
    "zookeeper": ZooKeeperEnsemble,
    "etcd": partial(EtcdEnsemble, sound=True),  # its nodes are killed
}
CONTROLLERS: Final = (102, 103)
SESSION_S: Final = 5
SAMPLE_S: Final = 30.0
GROWTH_MAX: Final = 1.3
"""Of a controller: the mean of the last quarter of the samples of its memory, over that of the second quarter. The
brokers keep all records, so of them: the bytes per acknowledged record later on, over those before."""

Sample: TypeAlias = tuple[int, int]  # resident bytes, acknowledged records


def add_to(commands: Any) -> None:
    """The command of `python -m tests.verify`."""
    soak = commands.add_parser("soak", help="everything at once on real servers, for hours", allow_abbrev=False)
    soak.add_argument("--store", choices=sorted(STORES), required=True, help="of three nodes")
    soak.add_argument("--minutes", type=float, default=120.0, help="how long (default %(default)g)")
    soak.add_argument("--seed", type=int, default=1, help="of what is done, and when (default %(default)s)")


def run(options: argparse.Namespace) -> int:
    """0 if all held."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="kedge-soak"))  # logs and journals: it stays where something went wrong
        _say({"folder": str(folder)})
        ensemble = stack.enter_context(STORES[options.store]())
        stack.callback(_keep_logs, ensemble.nodes, folder)
        url = ensemble.url("/kedge", session_timeout=SESSION_S)
        controllers = [stack.enter_context(Controller(n, url, folder)) for n in CONTROLLERS]
        brokers = stack.enter_context(BrokersProcess(url, folder))
        deeds = Deeds(
            brokers.bootstrap,
            order=brokers.order,
            brokers=range(1, BROKERS + 1),
            controllers=controllers,
            nodes=ensemble.nodes,
            folder=folder,
            chance=random.Random(options.seed),
        )
        stack.callback(deeds.close)
        deeds.prepare()
        memory: dict[str, list[Sample]] = {}

        def sample() -> None:
            traffic.look_after()
            for process in (brokers, *controllers):
                memory.setdefault(process.name, []).append((process.memory, len(traffic.acknowledged)))

        def all_read() -> bool:
            traffic.look_after()
            return traffic.is_all_read

        def all_copied() -> bool:
            written, copied = ledger.found()
            return written == copied

        with Traffic(brokers.bootstrap) as traffic, Ledger(brokers.bootstrap, options.seed) as ledger:
            done = _until_over(deeds, options.minutes * 60, sample)
            deeds.until_healed()
            traffic.stop_writing()
            ledger.stop_writing()
            with suppress(AssertionError):  # the verdict says what is missing
                until(all_read, "the group has read all", HEAL_S)
                until(all_copied, "all is copied", HEAL_S)
            lost = len(traffic.acknowledged - traffic.there())
            wrong = ledger.wrong(*ledger.found())
        grew = {name: (growth_per_record if name == brokers.name else growth)(found) for name, found in memory.items()}
        verdict = {
            "store": f"{options.store} {ensemble.version}",
            "seed": options.seed,
            "minutes": options.minutes,
            "deeds": dict(done),
            "acknowledged": len(traffic.acknowledged),
            "refused": traffic.refused,
            "readers_replaced": traffic.replaced,
            "unread": traffic.unread,
            "lost": lost,
            "transactions": {
                "committed": len(ledger.committed),
                "aborted": len(ledger.aborted),
                "unknown": len(ledger.unknown),
                "clients_restarted": dict(ledger.restarts),
            },
            "wrong": wrong,
            "memory_mib": {name: [found[0][0] >> 20, found[-1][0] >> 20] for name, found in memory.items()},
            "grew": {name: round(rate, 2) for name, rate in grew.items()},
            "tree": _command("store", "audit", url),
            "journals": _command("journal", "audit", str(folder / "journal"), "--engine", "local"),
        }
    _say(verdict)
    is_flat = all(rate <= GROWTH_MAX for rate in grew.values())
    if lost or wrong or verdict["unread"] or not is_flat or verdict["tree"] or verdict["journals"]:
        return 1
    shutil.rmtree(folder)
    return 0


def growth(samples: Sequence[Sample]) -> float:
    """As `GROWTH_MAX` says; 1 for fewer than eight samples."""
    quarter = len(samples) // 4
    if quarter < 2:
        return 1.0
    return sum(size for size, _ in samples[-quarter:]) / sum(size for size, _ in samples[quarter : 2 * quarter])


def growth_per_record(samples: Sequence[Sample]) -> float:
    """The same for a process that keeps all records, without the first quarter, in which it starts."""
    quarter = len(samples) // 4
    if quarter < 2:
        return 1.0
    later = samples[quarter:]
    middle = len(later) // 2
    before, after = _per_record(later[: middle + 1]), _per_record(later[middle:])
    return after / before if before > 0 else 1.0


def _per_record(samples: Sequence[Sample]) -> float:
    (size, records), (later_size, later_records) = samples[0], samples[-1]
    return (later_size - size) / max(1, later_records - records)


def _until_over(deeds: Deeds, seconds: float, sample: Callable[[], None]) -> Mapping[str, int]:
    done: Counter[str] = Counter()
    began = sampled = time.monotonic()
    while (now := time.monotonic()) - began < seconds:
        name = deeds.draw()
        done[name] += 1
        _say({"at_s": round(now - began), "deed": name, "took_s": round(time.monotonic() - now, 1)})
        if now - sampled >= SAMPLE_S:
            sampled = now
            sample()
    return done


class OwnProcess:
    """A process of ours. `restart` after `kill` starts it again."""

    def __init__(self, name: str, command: Sequence[str], log: Path, **streams: Any) -> None:
        self.name, self._command, self._log, self._streams = name, command, log, streams

    def __enter__(self) -> Any:
        self.restart()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def restart(self) -> None:
        """As a supervisor does: again, as long as it ends because no node of the store answers."""
        until(self._begins, f"{self.name} begins, see {self._log}", HEAL_S)

    def _begins(self) -> bool:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=log, text=True, **self._streams
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            self.said = json.loads(line)
        else:
            self.kill()
            said = self._log.read_text()[-2_000:]
            assert "answer" in said.splitlines()[-1], f"{self.name} did not begin: {said}"  # of a store, in any wording
        return bool(line)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    @property
    def memory(self) -> int:
        """Resident bytes."""
        return resident(self.process.pid)


class Controller(OwnProcess):
    """`kedge serve --broker-count 0`."""

    def __init__(self, node_id: int, url: str, folder: Path) -> None:
        where = ("--listen", "127.0.0.1:0", "--no-status", "--json", "--journal", str(folder / "journal"))
        command = [*KEDGE, "serve", "--broker-count", "0", "--node-id", str(node_id), "--store", url, *where]
        super().__init__(f"controller {node_id}", command, folder / f"{node_id}.log")


class BrokersProcess(OwnProcess):
    """The brokers, with a controller of their own."""

    def __init__(self, url: str, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.verify.soak.brokers", url, str(folder / "journal")]
        super().__init__("brokers", command, folder / "brokers.log", stdin=subprocess.PIPE)

    @property
    def bootstrap(self) -> str:
        found: str = self.said["bootstrap"]
        return found

    def order(self, what: str, broker: int) -> None:
        """Returns once it is done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what} {broker}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"


def _command(*words: str) -> str:
    """What a command says; empty if its exit code is 0."""
    done = subprocess.run([*KEDGE, *words], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-2_000:]


def _keep_logs(nodes: Sequence[LocalServer], folder: Path) -> None:
    """Those of the store, whose own folder is removed when it is closed."""
    for number, node in enumerate(nodes, 1):
        for log in node.folder.glob("*.log"):
            shutil.copy(log, folder / f"node-{number}.log")


def _say(row: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()
