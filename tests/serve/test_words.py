"""Every internal name that the status page shows has words."""

from __future__ import annotations

import re
from pathlib import Path

from kedge.controller.cli.serve.words import COUNTS, EVENTS, count_in_words, event_in_words
from kedge.controller.runtime import journal
from kedge.controller.wire.errors import Refused
from kedge.controller.wire.peers import relay

CHECKOUT = Path(__file__).resolve().parents[2]


def kinds(refused: type[Refused]) -> set[str]:
    return {refused.kind, *(kind for each in refused.__subclasses__() for kind in kinds(each))}


def test_every_event_of_the_journal_has_words() -> None:
    assert EVENTS.keys() == journal.EVENTS
    assert len(set(EVENTS.values())) == len(EVENTS)


def test_every_count_of_a_gateway_has_words() -> None:
    """Those of refused connections, and those that docs/metrics.md names."""
    assert relay.Lost.kind in kinds(Refused)
    page = (CHECKOUT / "docs" / "metrics.md").read_text(encoding="utf-8")
    kinds_of_page = page[page.index("Kinds of `Events` for connections") :].partition("Kinds of `Events` for gateways")
    listed = set(re.findall(r"`([a-z_]+)`", kinds_of_page[0] + kinds_of_page[2].partition("\n\n")[0]))
    assert "forwarded" in listed
    assert COUNTS.keys() == kinds(Refused) | listed


def test_unknown_names_are_shown_as_they_are() -> None:
    assert event_in_words("SomethingNew") == "SomethingNew"
    assert count_in_words("something_new") == "something_new"
