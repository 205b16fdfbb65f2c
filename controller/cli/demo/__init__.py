"""`kedge demo`: a broker is emptied under a throttle, a move is cancelled, and the controller is killed.

Real controllers and simulated brokers run in one process and in virtual time, on a store in memory. `story` is what
happens, `screen` how it is shown.
"""

from __future__ import annotations

import sys
from typing import Final

import click

from ..options import command, option
from ..printing import say
from .screen import Live, Plain
from .story import Story

SEED_MAX: Final = 2**63 - 1
INTERRUPTED: Final = 130  # 128 and the number of the signal, as in shells
NEXT: Final = """
What to try next:
  kedge serve --broker-count 4 --racks a,b,c,d  run a cluster for clients
  kedge plan --help                             plan such moves for Kafka
  python -m pydoc kedge                         embed the controller"""


@command("demo", example="kedge demo --seed 7")
@option("--seed", type=click.IntRange(0, SEED_MAX), default=1, help="Number that selects the run; each is repeatable.")
def demo(seed: int) -> None:
    """Watch a broker being emptied while a controller is killed.

    Eight simulated brokers copy replicas under a throttle while records are written. A move is cancelled, the
    controller is killed, and another one continues. A minute of virtual time passes; on a terminal it takes about
    twenty seconds. Nothing is written to disk, and no port is opened.

    Exit code: 0 no record was lost; 1 records were lost; 130 ended by Ctrl-C.
    """
    screen = Live() if sys.stdout.isatty() else Plain()
    try:
        with screen:
            lost = Story(seed, screen).run()
    except KeyboardInterrupt:
        say("ended by Ctrl-C")
        sys.exit(INTERRUPTED)
    click.echo(f"lost: {lost}")
    click.echo(NEXT)
    sys.exit(1 if lost else 0)
