"""A terminal that a command runs on, and what a person sees there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Sequence
from typing import Final, Self

LINES: Final = 24
_STEP: Final = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


class Terminal:
    """`with Terminal(command, columns=80) as terminal:` runs it. `seen`: what one could see after each write, a line
    each, without blanks at their ends; colours are left out."""

    def __init__(self, command: Sequence[str], *, columns: int) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
        self._screen = Screen(columns)
        self.seen: list[tuple[str, ...]] = []
        environment = {**os.environ, "TERM": "xterm-256color"} | dict.fromkeys(("COLUMNS", "LINES", "NO_COLOR"), "")
        environment = {name: value for name, value in environment.items() if value}
        self._process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        os.close(self._master)

    def ended(self, timeout_s: float) -> int:
        """Its exit code, when all that it wrote was seen."""
        code = self._process.wait(timeout_s)
        self._reader.join(timeout_s)
        return code

    def sees(self, holds: Callable[[str], object]) -> bool:
        """Whether some line was seen of which that holds."""
        return any(holds(line) for lines in list(self.seen) for line in lines)

    def shows_cursor(self) -> bool:
        return self._screen.has_cursor

    def interrupt(self) -> None:
        """Ctrl-C, as one who sits there; the process has no terminal that would tell it."""
        self._process.send_signal(2)

    def _read(self) -> None:
        rest = b""
        while True:
            try:
                more = os.read(self._master, 65536)
            except OSError:  # the process is gone
                return
            text = (rest + more).decode(errors="ignore")
            rest = (rest + more)[len(text.encode()) :]
            cut = re.search(r"\x1b(\[[0-9;?]*)?$", text)
            if cut is not None:
                rest, text = cut[0].encode() + rest, text[: cut.start()]
            self._screen.write(text)
            self.seen.append(self._screen.lines)


class Screen:
    """As much of a terminal as bars and tables ask for: lines are never more than it has."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._lines: list[str] = [""]
        self._row = self._column = 0
        self.has_cursor = True

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line.rstrip() for line in self._lines if line.strip())

    def write(self, text: str) -> None:
        for step in _STEP.finditer(text):
            if step[0] == "\r":
                self._column = 0
            elif step[0] == "\n":
                self._down()
            elif step[2]:
                self._obey(step[1], step[2])
            else:
                for character in step[0]:
                    self._put(character)

    def _put(self, character: str) -> None:
        if self._column == self._columns:
            self._column = 0
            self._down()
        line = self._lines[self._row].ljust(self._column)
        self._lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
        self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append("")

    def _obey(self, numbers: str, letter: str) -> None:
        if letter == "A":
            self._row = max(0, self._row - int(numbers or 1))
        elif (letter, numbers) == ("K", "2"):
            self._lines[self._row] = ""
        elif numbers == "?25":
            self.has_cursor = letter == "h"
        else:
            assert letter == "m", f"a terminal is asked for {numbers}{letter}"
