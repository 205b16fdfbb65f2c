"""Maps of partitions (the JSON of `kafka-reassign-partitions`, kafka-kit's maps) and lists of brokers with racks.

* A map has replicas but no ISR and no leader: all replicas count as in sync, and the first as the leader.
* A list of brokers is `{"1001": "rack", "1002": null}`, or per id an object with columns of the table broker. Listed
  brokers are alive, unless `state` says otherwise.
* A list of several clusters is `{"clusters": {"east": {"1001": "rack"}}}`, of which one is chosen by name.
"""

from __future__ import annotations

from typing import Any, Final

from ...controller.codec.names import is_topic
from ...controller.codec.printed import CURRENT, printed_assignments
from ..errors import BadInput
from ..tables.declared import ALIVE, BROKER, STATES
from .gathered import INT_MAX, Gathered, a_list, amount, an_object, bad_row, document, each, is_id, of_kind, whole

CLUSTERS: Final = "clusters"
_AMOUNTS: Final = ("disk_capacity_bytes", "nw_in_capacity_bps", "nw_out_capacity_bps")


def from_map(data: bytes, source: str, into: Gathered) -> None:
    """Add the partitions of `{"version":1,"partitions":[{"topic","partition","replicas"}]}`. In the saved output of
    `--generate` it is the current assignment: a snapshot says where the partitions are."""

    def take(_: str, row: Any) -> None:
        topic, number = (
            topic_of(an_object(row, "entry").get("topic")),
            whole(row.get("partition"), "partition", INT_MAX),
        )
        replicas = [whole(b, "replicas", INT_MAX) for b in a_list(row.get("replicas"), "replicas")]
        if not replicas:
            bad_row("replicas", "at least one broker", replicas)
        into.partitions.append((topic, number, replicas, replicas, replicas[0], 0, None, 0, None, None))

    rows = document(_current(data, source, into), source, "partitions", list)
    each(into.rejects, source, of_kind(rows, source, "an entry with topic, partition and replicas", _is_entry), take)


def _is_entry(_: str, row: Any) -> bool:
    return isinstance(row, dict) and "topic" in row


def _current(data: bytes, source: str, into: Gathered) -> bytes:
    """The data, or the current assignment in the output of a tool."""
    try:
        printed = printed_assignments(data)
    except ValueError as error:
        raise BadInput(f"{source}: {error}") from None
    if not printed:
        return data
    if CURRENT not in printed:
        raise BadInput(f"{source}: expected the current assignment, found the proposed one only")
    into.notes.append(f"{source}: of the saved output the assignment below {CURRENT!r} is taken")
    return printed[CURRENT].encode()


def from_broker_list(data: bytes, source: str, into: Gathered, *, cluster: str | None = None) -> None:
    """Add the brokers of the list, of several clusters those of `cluster`. If any row can be used, only listed brokers
    are alive, unless another source says so. A broker in a row that cannot be used does not count as dead."""

    def take(name: str, row: Any) -> None:
        broker_id = whole(name, "broker id", INT_MAX)
        into.doubtful.add(broker_id)  # until the whole row has been read
        said: dict[str, Any] = {"rack": row} if _is_rack(row) else dict(an_object(row, "broker"))
        unknown = sorted(said.keys() - set(BROKER.names))
        if unknown:
            bad_row("broker", f"the fields {', '.join(BROKER.names[1:])}", ", ".join(unknown))
        if not _is_rack(said.get("rack")):
            bad_row("rack", "a text or a whole number", said["rack"])
        if said.get("host") is not None and not isinstance(said["host"], str):
            bad_row("host", "a text", said["host"])
        if said.setdefault("state", ALIVE) not in STATES:
            bad_row("state", f"one of {', '.join(STATES)}", said["state"])
        for field in _AMOUNTS:
            if said.get(field) is not None:
                found = amount(said[field], field)
                said[field] = int(found) if field == _AMOUNTS[0] else found
        said["rack"] = None if said.get("rack") in {None, ""} else str(said["rack"])
        into.broker(broker_id, **{k: v for k, v in said.items() if k != "broker_id"})
        into.doubtful.discard(broker_id)
        into.knows_alive = True

    rows = _of_cluster(document(data, source), source, cluster)
    each(into.rejects, source, of_kind(rows, source, "a broker's id with its rack", _is_broker), take)


def _is_broker(name: str, row: Any) -> bool:
    if isinstance(row, dict):
        return is_id(name) and (not row or bool(row.keys() & set(BROKER.names)))
    return is_id(name) and _is_rack(row)


def _is_rack(raw: object) -> bool:
    """Whether it names a rack, or says that there is none. A number is a rack by its text: rack 7 is rack "7"."""
    return raw is None or type(raw) in {str, int}


def _of_cluster(found: dict[str, Any], source: str, cluster: str | None) -> Any:
    """The brokers of `cluster`, if the list has several clusters."""
    clusters = found.get(CLUSTERS)
    if not isinstance(clusters, dict):
        return found
    if cluster not in clusters:
        held = ", ".join(sorted(clusters))[:300]
        raise BadInput(f"{source}: expected one of its clusters ({held}), got {cluster!r:.120}")
    if not isinstance(clusters[cluster], dict):
        raise BadInput(f"{source}: expected an object with the brokers of {cluster!r} under its name")
    return clusters[cluster]


def topic_of(raw: object) -> str:
    """`raw` as the name of a topic. Raises BadRow otherwise."""
    if not isinstance(raw, str) or not is_topic(raw):
        bad_row("topic", "a topic's name", raw)
    return raw
