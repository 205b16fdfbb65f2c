"""What a plan or its waves cannot say, or only under a condition, as sentences: the same on a terminal and on a page.

A number that is not known is told as such: "0 bytes" of partitions whose sizes nobody gave would be read as a fact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pipeline.amounts import amount, duration

LONG_S: Final = 30 * 86_400  # above that a wave is no plan: its partitions cannot be touched for so long


def known_amount(value: int | None) -> str:
    """Bytes, or that they are not known."""
    return "not known" if value is None else amount(value)


def size_words(value: int | None) -> str:
    """The same within a sentence."""
    return "bytes not known" if value is None else amount(value)


def copied_words(said: Mapping[str, Any]) -> str:
    """What a row of the table plan copies, against the least."""
    if said["bytes_copied"] is None:
        return "an unknown number of bytes"
    more = f" and {of_partitions(said['copied_unsized'])} of unknown size" if said["copied_unsized"] else ""
    return f"{amount(said['bytes_copied'])}{more}, at least {amount(said['bytes_bound'])} had to be"


def ratio_words(before: float | None, after: float | None, form: str = "{:.4f} before, {:.4f} after") -> str:
    """Most to mean, before and after."""
    return "not known" if before is None or after is None else form.format(before, after)


def of_partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count:,} partitions"


def of_plan(said: Mapping[str, Any]) -> list[str]:
    """Of a row of the table plan."""
    return _unsized(said) + _budget(said)


def _unsized(said: Mapping[str, Any]) -> list[str]:
    if not said["partitions_unsized"]:
        return []
    copied = f"; {said['copied_unsized']:,} of them are copied" if said["copied_unsized"] else ""
    from pipeline.stages.requests import LEVELS  # noqa: PLC0415 - of a plan, which needs Arrow; a journal does not

    without = "sums, bounds and balance of bytes are without them"
    if said["size_max_mean_before"] is None and said["kind"] in LEVELS:
        without = "there is nothing to level by"
    return [f"no size is known of {of_partitions(said['partitions_unsized'])}{copied}: {without}"]


def _budget(said: Mapping[str, Any]) -> list[str]:
    """Where nothing was refused and bytes are not level, the bytes that may be moved ended before; else reasons say
    so."""
    from pipeline.stages.requests import LEVELS, settings_of  # noqa: PLC0415 - as above

    settings, most = settings_of(said), said["size_max_mean_after"]
    if said["complete"] or said["rejected"] or most is None or said["kind"] not in LEVELS:
        return []
    wanted = f"{1 + settings['tolerance']:g} times the mean that was asked for"
    allowed = amount(settings["bytes_max"])
    return [f"the fullest broker stays at {most:.4f}, above {wanted}: no more than {allowed} may be copied"]


def of_check(*, unsized: int, unrated: int, has_disks: bool, has_networks: bool) -> list[str]:
    """Of a snapshot that is held against capacities: of so many partitions no size, no rate of writing is known."""
    found = []
    if unsized and has_disks:
        found.append(f"no size is known of {of_partitions(unsized)}: disks are held to their capacities without them")
    if unrated and has_networks:
        found.append(f"no rate is known of {of_partitions(unrated)}: networks are held to theirs without them")
    return found


def of_waves(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of the rows of the table wave."""
    found = []
    unsized, unrated = (sum(row[name] for row in rows) for name in ("unsized", "unrated"))
    if unsized:
        found.append(f"no size is known of {of_partitions(unsized)} that are copied: nothing says how long they take")
    if unrated and any(row["eta_s"] is not None for row in rows):
        what = of_partitions(unrated)
        found.append(f"what is written to {what} that are copied is not known: times are as if it were nothing")
    return found + too_long(rows)


def too_long(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of waves that would not end in a sane time: the first of them, and how many there are."""
    late = [row for row in rows if row["eta_s"] is not None and row["eta_s"] > LONG_S]
    if not late:
        return []
    first, more = late[0], f", and so do {len(late) - 1} more" if len(late) > 1 else ""
    needs = "a higher rate (--throttle, --network-share), or fewer copies at once (--per-broker)"
    what = f"wave {first['wave']} takes {duration(first['eta_s'])}{more}"
    return [f"{what}; above {duration(LONG_S)} nobody waits for an end: it needs {needs}"]
