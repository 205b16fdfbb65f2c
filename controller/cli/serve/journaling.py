"""`kedge serve --journal FOLDER`: every decision in files, beside the newest ones on the status page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from controller.cli.printing import one_line
from controller.cli.serve.options import CannotServe, Options
from controller.runtime.journal import FolderSink, Journal, Sink
from controller.runtime.journal.files import files_in


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
    """Makes the journal of a controller, by its id. Raises CannotServe where the folder cannot be used."""
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
