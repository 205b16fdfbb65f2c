"""The page of unreadable keys says what the table of the code says."""

from __future__ import annotations

from pathlib import Path

from controller.codec import keys
from controller.keys.unreadable import TABLE, row_of
from stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY

PAGE = Path(__file__).resolve().parents[2] / "docs" / "unreadable-keys.md"


def test_each_row_of_the_table_stands_on_the_page() -> None:
    """In the same words, and no other row."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ") and not line.startswith("| key |")]
    assert len(rows) == len(TABLE)
    for row, said in zip(TABLE, rows, strict=True):
        assert said.startswith(f"| {row.kind}: ")
        assert row.broken in said
        assert row.forbidden in said


def test_each_key_that_a_term_reads_is_of_one_kind() -> None:
    """A kind of key without a row would be decided nowhere."""
    read = (
        keys.topic("t"),
        keys.state("t", 0),
        keys.topic_config("t"),
        keys.BROKER_DEFAULTS,
        keys.broker_config("1"),
        keys.broker(1),
        keys.admitted(1),
        keys.delete_topic("t"),
        keys.replica_deletions(1, 2),
        keys.REASSIGN_PARTITIONS,
        keys.PREFERRED_ELECTION,
        f"{keys.ISR_CHANGES}/isr_change_1",
        f"{keys.LOG_DIR_EVENTS}/log_dir_event_1",
        f"{keys.CONFIG_CHANGES}/config_change_1",
        LEADER_KEY,
        EPOCH_KEY,
        TOKEN_KEY,
        keys.MIGRATION,
    )
    for key in read:
        assert row_of(key) is not None, key
        assert sum(row.pattern.fullmatch(key) is not None for row in TABLE) == 1, key
