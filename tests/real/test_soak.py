"""The soak of `tests.verify` for some seconds: that it works, and that what it holds is held."""

from __future__ import annotations

import json

import pytest

from tests.verify.__main__ import main
from tests.verify.soak.command import growth, growth_per_record
from tests.verify.soak.ledger import Ledger

pytestmark = [
    pytest.mark.server,
    pytest.mark.full,
]


def test_a_short_soak_loses_nothing_and_has_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["soak", "--store", "etcd", "--minutes", "0.2", "--seed", "3"]) == 0
    verdict = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert verdict["acknowledged"] > 0
    assert verdict["transactions"]["committed"] > 0
    assert (verdict["lost"], verdict["unread"], verdict["tree"], verdict["journals"]) == (0, 0, "", "")
    assert verdict["wrong"] == []


def test_number_that_is_there_twice_or_too_often_is_wrong() -> None:
    ledger = Ledger("127.0.0.1:1", seed=1)
    ledger.committed, ledger.aborted, ledger.unknown = {1, 2}, {3}, {4, 5}
    assert ledger.wrong({1: 3, 2: 3, 4: 3}, {1: 3, 2: 3, 4: 3}) == []
    written, copied = {1: 3, 2: 2, 3: 1, 4: 1, 5: 3, 6: 3}, {1: 4, 2: 2, 3: 1, 4: 1, 5: 0, 6: 3}
    assert [said.partition(":")[0] for said in ledger.wrong(written, copied)] == ["1", "2", "3", "4", "5", "6"]


def test_a_process_that_grows_is_seen() -> None:
    assert growth([(100, 0)] * 8) == 1
    assert growth([(size, 0) for size in (100, 100, 100, 100, 150, 180, 200, 220)]) > 2


def test_brokers_may_grow_by_what_they_keep_and_no_more() -> None:
    assert growth_per_record([(100 + 50 * n, n) for n in range(16)]) == 1
    assert growth_per_record([(100 + n**3, n) for n in range(16)]) > 1.3
