"""Sentences about what a plan or its waves do not know, or know only under a condition: the same on a terminal and on a
page. An unknown number is shown as unknown: "0 bytes" for partitions without a known size would be read as a fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..controller.model.plural import counted
from .amounts import amount, duration

CROWDED: Final = 1.5  # so many times the replicas of any broker in a larger rack
LONG_S: Final = 30 * 86_400  # a longer wave is useless: its partitions cannot be changed meanwhile


def known_amount(value: int | None) -> str:
    """Bytes as text, or that they are not known."""
    return "not known" if value is None else amount(value)


def size_words(value: int | None) -> str:
    """The same within a sentence."""
    return "bytes not known" if value is None else amount(value)


def copied_words(said: Mapping[str, Any]) -> str:
    """The bytes that a plan copies, and the least possible. `said`: a row of the table plan."""
    if not said["replicas_copied"]:
        return "nothing is copied"
    if said["bytes_copied"] is None:
        return "an unknown number of bytes is copied"
    more = f" and {of_partitions(said['copied_unsized'])} of unknown size" if said["copied_unsized"] else ""
    return f"{amount(said['bytes_copied'])}{more} are copied, at least {amount(said['bytes_bound'])} have to be"


def ratio_words(before: float | None, after: float | None, form: str = "{:.4f} before, {:.4f} after") -> str:
    """The ratio of the largest to the mean, before and after."""
    return "not known" if before is None or after is None else form.format(before, after)


def of_partitions(count: int) -> str:
    return counted(count, "partition", ",")


def of_plan(
    said: Mapping[str, Any],
    brokers: Sequence[Mapping[str, Any]],
    loads: Sequence[Mapping[str, Any]],
    log_dirs: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """The sentences for a row of the table plan, with the brokers, including those that it adds, and the rows of the
    tables plan_load and log_dir."""
    if not said["replicas_copied"]:
        return _unsized(said) + _unrated(said) + _budget(said)
    from .stages.requests import settings_of  # noqa: PLC0415 - of a plan, which needs Arrow; a journal does not

    racks = {} if settings_of(said)["ignore_racks"] else {row["broker_id"]: row["rack"] for row in brokers}
    spread = of_spread(racks, {row["broker_id"]: row["replicas_after"] for row in loads})
    disks = of_disks(brokers, log_dirs) + _unequal_disks(said, brokers, loads)
    return _unsized(said) + _unrated(said) + _budget(said) + of_capacities(brokers) + disks + spread


def of_capacities(brokers: Sequence[Mapping[str, Any]], *, networks: bool = True) -> list[str]:
    """Sentences for capacities that only some of the living brokers have. `brokers`: rows of the table broker."""
    from .tables.declared import DEAD  # noqa: PLC0415 - as above

    living = [row for row in brokers if row["state"] != DEAD]
    columns = {"disk_capacity_bytes": "disk capacity"}
    if networks:
        columns |= {"nw_in_capacity_bps": "receiving capacity", "nw_out_capacity_bps": "sending capacity"}
    found = []
    for column, what in columns.items():
        unknown = [row["broker_id"] for row in living if row[column] is None]
        if unknown and len(unknown) < len(living):
            found.append(f"the {what} of {of_brokers(unknown)} is not known, that of others is: no limit applies there")
    return found


def of_new_topics(ids: Sequence[int]) -> str:
    """The sentence for brokers that are, or are to be, empty."""
    gets, it_is = ("gets", "it is") if len(ids) == 1 else ("get", "they are")
    return f"{of_brokers(ids)} still {gets} replicas of new topics until {it_is} stopped"


def of_drain(ids: Sequence[int]) -> str:
    """The same for brokers to drain, and what prevents it."""
    its, it = ("its", "it") if len(ids) == 1 else ("their", "them")
    first = f"set {its} config cordoned.log.dirs=* before the drain (Kafka 4.3 or later)"
    return f"{of_new_topics(ids)}: {first}, or stop {it} as soon as `kedge plan is-empty` finds {it} empty"


def of_disks(brokers: Sequence[Mapping[str, Any]], log_dirs: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence if brokers were asked for their disks, and no disk of any is known."""
    if log_dirs and {row["disk_capacity_bytes"] for row in brokers} == {None}:
        return ["no disk capacity is known, neither from brokers nor from files: no limit of disks applies"]
    return []


def of_unknown_disks(brokers: Sequence[Mapping[str, Any]], *, networks: bool) -> list[str]:
    """Sentences for a count of brokers: those whose disk is unknown, and whether no network is known."""
    unknown = [row["broker_id"] for row in brokers if row["state"] != "dead" and row["disk_capacity_bytes"] is None]
    found = [f"the disk capacity of {of_brokers(unknown)} is not known: it counts as full"] if unknown else []
    return found if networks else [*found, "the network capacity of no broker is known: brokers are counted by disks"]


def _unequal_disks(
    said: Mapping[str, Any], brokers: Sequence[Mapping[str, Any]], loads: Sequence[Mapping[str, Any]]
) -> list[str]:
    """A sentence if bytes are not levelled by disks of different size, because that of one broker is unknown."""
    from .stages.requests import settings_of  # noqa: PLC0415 - as above

    emptied = settings_of(said)["brokers"] if said["kind"] == "drain" else ()
    usable = {row["broker_id"]: row["disk_capacity_bytes"] for row in brokers if row["state"] == "alive"}
    disks = {broker: size for broker, size in usable.items() if broker not in emptied}
    unknown = [broker for broker, size in disks.items() if size is None]
    held = {row["broker_id"]: row["size_bytes_after"] for row in loads}
    full = sorted((held[b] / size, b, size) for b, size in disks.items() if size and held.get(b) is not None)
    if not unknown or len({size for _, _, size in full}) < 2:
        return []
    first, last = (f"broker {b} ({amount(size)}) is {share:.1%} full" for share, b, size in (full[0], full[-1]))
    why = f"bytes are levelled by broker, not by disk, because the disk of {of_brokers(unknown)} is not known"
    return [f"{why}: afterwards {first}, and {last}"]


def of_log_dirs(brokers: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences for what brokers report of their disks. `rows`: of the table log_dir, which may have none."""
    from .stages.log_dirs import capacities, has_other_files  # noqa: PLC0415 - as above

    used = {row["broker_id"]: row["disk_capacity_bytes"] for row in brokers}
    own = {broker for broker, capacity in capacities(rows).items() if used.get(broker) == capacity}
    found = of_disks(brokers, rows)
    if taken := {row["broker_id"] for row in rows if row["broker_id"] in own and has_other_files(row)}:
        where = f"other files than replicas take more than a tenth of a disk of {of_brokers(sorted(taken))}"
        found.append(f"{where}: the capacity is what replicas take and what is free")
    volumes = Counter((row["broker_id"], row["total_bytes"], row["usable_bytes"]) for row in rows)
    if alike := {broker for (broker, *_), count in volumes.items() if broker in own and count > 1}:
        where = f"directories of {of_brokers(sorted(alike))} report the same size and the same free bytes"
        found.append(f"{where}: if they are on one disk, it counts several times; --capacities replaces the sum")
    return found


def of_spread(racks: Mapping[int, str | None], held: Mapping[int, int]) -> list[str]:
    """A sentence for each rack whose brokers hold much more than others because the rack has fewer of them: every
    partition needs a replica in it. `held`: the number of replicas by broker."""
    by_rack: dict[str, list[int]] = {}
    for broker, rack in racks.items():
        if rack is not None and held.get(broker):
            by_rack.setdefault(rack, []).append(broker)
    found = []
    for rack, brokers in sorted(by_rack.items()):
        mine = [held[broker] for broker in brokers]
        others = [held[broker] for some in by_rack.values() for broker in some if len(some) > len(brokers)]
        if others and min(mine) >= CROWDED * max(others):
            has = f"rack {rack} has only {of_brokers(brokers)}, with {_range(mine)} replicas"
            found.append(f"{has}; a broker of the larger racks has {_range(others)}: racks of equal size share evenly")
    return found


def of_brokers(ids: Sequence[int]) -> str:
    """The first eight by id, and the number of the others."""
    more = f" and {len(ids) - 8} more" if len(ids) > 8 else ""
    return f"broker{'' if len(ids) == 1 else 's'} {', '.join(map(str, sorted(ids)[:8]))}{more}"


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _unsized(said: Mapping[str, Any]) -> list[str]:
    if not said["partitions_unsized"]:
        return []
    copied = f"; {said['copied_unsized']:,} of them are copied" if said["copied_unsized"] else ""
    from .stages.requests import LEVELS  # noqa: PLC0415 - of a plan, which needs Arrow; a journal does not

    without = "sums, bounds and balance of bytes do not include them"
    if said["size_max_mean_before"] is None and said["kind"] in LEVELS:
        without = "the plan cannot level bytes"
    return [f"the size of {of_partitions(said['partitions_unsized'])} is not known{copied}: {without}"]


def _unrated(said: Mapping[str, Any]) -> list[str]:
    from .stages.requests import settings_of  # noqa: PLC0415 - as above

    by = settings_of(said).get("by", ())
    if not said["partitions_unrated"] or not {"network-in", "network-out"}.intersection(by):
        return []
    without = "networks are balanced without them"
    if said["network_in_max_mean_before"] is None:
        without = "the plan cannot balance networks"
    return [f"the rate of {of_partitions(said['partitions_unrated'])} is not known: {without}"]


def _budget(said: Mapping[str, Any]) -> list[str]:
    """If no partition was refused and bytes are not level, the limit of copied bytes is the cause; otherwise reasons
    say why."""
    from .stages.requests import LEVELS, settings_of  # noqa: PLC0415 - as above

    settings, most = settings_of(said), said["size_max_mean_after"]
    if said["complete"] or said["rejected"] or most is None or said["kind"] not in LEVELS:
        return []
    if settings["bytes_max"] is None:
        return []
    wanted = f"the requested {1 + settings['tolerance']:g} times the mean"
    allowed = amount(settings["bytes_max"])
    return [f"the fullest broker stays at {most:.4f}, above {wanted}: at most {allowed} may be copied"]


def of_check(*, unsized: int, unrated: int, has_disks: bool, has_networks: bool) -> list[str]:
    """The sentences for a check of capacities, with the numbers of partitions whose size or rate of writing is not
    known."""
    found = []
    if unsized and has_disks:
        found.append(f"the size of {of_partitions(unsized)} is not known: disks were checked without them")
    if unrated and has_networks:
        found.append(f"the rate of {of_partitions(unrated)} is not known: networks were checked without them")
    return found


def of_waves(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The sentences for the rows of the table wave."""
    found = []
    unsized, unrated = (sum(row[name] for row in rows) for name in ("unsized", "unrated"))
    if unsized:
        found.append(f"the size of {of_partitions(unsized)} to copy is not known, and so is the time that they take")
    if unrated and any(row["eta_s"] is not None for row in rows):
        what = of_partitions(unrated)
        found.append(f"the write rate of {what} to copy is not known: times are computed without it")
    return found + too_long(rows)


def too_long(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for waves that would take unreasonably long: the first of them, and their number."""
    late = [row for row in rows if row["eta_s"] is not None and row["eta_s"] > LONG_S]
    if not late:
        return []
    first, more = late[0], f", and so do {len(late) - 1} more" if len(late) > 1 else ""
    needs = "a higher rate (--throttle, --network-share), or fewer copies at once (--per-broker)"
    what = f"wave {first['wave']} takes {duration(first['eta_s'])}{more}"
    return [f"{what}; waves above {duration(LONG_S)} are not useful: use {needs}"]
