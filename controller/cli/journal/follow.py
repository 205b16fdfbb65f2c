"""`kedge journal audit --follow`: violations of journals that grow, by a stream of Spark.

* A batch is printed and written before Spark notes it in the checkpoint. After a crash it is repeated: its tables are
  the same files, its lines are printed again.
* SIGINT and SIGTERM end the stream. A batch that runs then is repeated by the next start.
* Exit code 1: violations were found since the start. 2: the stream could not run; or lines were rejected, and no
  violation was found.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from ....pipeline.audit import RejectedRow, Violation
from ...model.plural import counted
from ..engines import LOCAL, Engine, spark
from ..extras import need
from ..printing import clean, compact, fail, is_of_stdout, need_folder, of_system, one_line, say
from ..signals import handled

if TYPE_CHECKING:
    from ....pipeline.spark.follow import Batch


class Wanted(NamedTuple):
    paths: tuple[Path, ...]
    checkpoint: str
    cluster: str | None
    out: Path | None
    as_json: bool
    once: bool


def follow(wanted: Wanted, engine: Engine) -> NoReturn:
    if engine == LOCAL:
        fail("--follow needs --engine spark")
    for path in wanted.paths:
        if not path.exists():
            fail(f"{path}: No such file or directory")
    need_folder(wanted.out)
    found = _Found(wanted, _claimed(wanted.checkpoint))
    with spark() as session:
        if ".connect." in type(session).__module__:
            fail("--follow cannot run on a server of Spark Connect: it prints from the process of its session")
        _run(session, wanted, found)
    found.conclude()


def _claimed(checkpoint: str) -> str:
    need("spark")
    from ....pipeline.errors import BadInput  # noqa: PLC0415 - Arrow is needed only here
    from ....pipeline.spark.checkpoint import claimed  # noqa: PLC0415
    from ....pipeline.tables.location import Location  # noqa: PLC0415

    folder = Location(checkpoint)
    if folder.is_local:
        need_folder(folder.folder)
    try:
        return claimed(folder)
    except BadInput as error:
        fail(one_line(error))
    except OSError as error:
        fail(of_system(error))


def _run(session: Any, wanted: Wanted, found: _Found) -> None:
    from ....pipeline.errors import EngineFailed  # noqa: PLC0415 - Spark is there, as it is running
    from ....pipeline.spark.follow import run  # noqa: PLC0415
    from ....pipeline.tables.location import Location  # noqa: PLC0415

    paths = [str(path.absolute()) for path in wanted.paths]
    checkpoint = Location(wanted.checkpoint).absolute().text
    stopped = threading.Event()
    with handled(lambda *_: stopped.set()):  # PySpark's own handler fails the batch
        try:
            run(session, paths, checkpoint, found.take, stopped, once=wanted.once, cluster=wanted.cluster)
        except EngineFailed as error:
            found.fail(error)


class _Found:
    def __init__(self, wanted: Wanted, identity: str) -> None:
        self._wanted, self._identity = wanted, identity
        self._counts: Counter[str] = Counter()
        self._error: Exception | None = None
        self._done = -1

    def take(self, number: int, batch: Batch) -> None:
        if number == self._done:  # the stream was started again
            return
        try:
            self._write(number, batch)
            for cluster, (lines, findings) in batch.items():
                self._counts["lines"] += lines
                for one in findings:
                    self._counts[type(one).__name__] += 1
                    self._print(cluster, one)
            self._done = number
        except Exception as error:
            self._error = error  # of which Spark keeps the text alone
            raise

    def _write(self, number: int, batch: Batch) -> None:
        if self._wanted.out is not None:
            from ....pipeline.journal.parquet import write_batch  # noqa: PLC0415 - as above

            findings = {cluster: findings for cluster, (_, findings) in batch.items()}
            write_batch(findings, self._wanted.out, f"{self._identity}-{number:09}")

    def _print(self, cluster: str, one: Any) -> None:
        if self._wanted.as_json:
            click.echo(compact({"cluster": cluster, type(one).__name__.lower(): one._asdict()}))
        elif isinstance(one, Violation):
            click.echo(f"{cluster}: {clean(str(one))}")
        else:
            say(f"{cluster}: {one}")

    def fail(self, error: Exception) -> NoReturn:
        """Why the stream ended, in one line, and exit code 2."""
        if not isinstance(self._error, OSError):
            fail(one_line(error if self._error is None else self._error))
        if is_of_stdout(self._error):
            raise self._error
        fail(of_system(self._error))

    def conclude(self) -> NoReturn:
        violations, bad = self._counts[Violation.__name__], self._counts[RejectedRow.__name__]
        text = counted(violations, "violation") if violations else "no violation"
        more = f"; {counted(bad, 'rejected line')}" if bad else ""
        say(f"{counted(self._counts['lines'], 'line')}: {text}{more}")
        sys.exit(1 if violations else 2 if bad else 0)
