"""Rules on leadership, brokers, configs and sequences: invariant 5, and keys whose owner no longer exists."""

from __future__ import annotations

from collections.abc import Iterator

from ...stores.recipes import EPOCH_KEY, HELD_KEY, LEADER_KEY, TOKEN_KEY
from ..codec import keys
from ..codec.migration import FROM
from ..codec.notifications import CHANGES_MAX
from ..codec.orders import CONTROLLER_VERSION, FORMAT_KEY
from ..keys.brokers import UNKNOWN_EPOCH
from ..rules.topics import VALUE_BYTES_MAX
from .findings import Finding, find
from .known import NUMBER_DIGITS, SEQUENCES
from .tree import Tree


def leadership(tree: Tree) -> Iterator[Finding]:
    leader, marker = tree.entries.get(LEADER_KEY), tree.values.get(keys.MIGRATION)
    if leader is None:
        if EPOCH_KEY in tree.entries or tree.state.topics:
            yield find("no-controller", LEADER_KEY, "there is no controller: pending work waits for one")
    elif leader.owner is None and HELD_KEY not in tree.entries and (marker is None or marker.may_lead):
        yield find(
            "controller-stays", LEADER_KEY, "the key belongs to no session", "an ephemeral key", "a permanent one"
        )


def migration(tree: Tree) -> Iterator[Finding]:
    marker = tree.values.get(keys.MIGRATION)
    if marker is not None:
        way = "to" if marker.side == FROM else "from"
        what = f"a move {way} {marker.other:.200}: {marker.phase}"
        away = marker.side == FROM and not marker.may_lead  # the cluster no longer uses this store
        yield find("store-move", keys.MIGRATION, what, due=away)


def epochs(tree: Tree) -> Iterator[Finding]:
    """Invariant 5. Without the epoch key a cluster would begin at 1 again, and brokers would ignore its requests."""
    epoch, token = tree.values.get(EPOCH_KEY), tree.values.get(TOKEN_KEY)
    token_epoch = 0 if token is None else token.controller_epoch
    if epoch is not None and token_epoch > epoch:
        yield find("token-ahead", TOKEN_KEY, "controller_epoch", f"at most {epoch} ({EPOCH_KEY})", token_epoch)
    if EPOCH_KEY not in tree.entries:
        written = max([token_epoch, *(epoch for epoch in tree.epochs.values() if type(epoch) is int)])
        if written > 0:
            yield find("epoch-missing", EPOCH_KEY, "the key is missing", f"at least {written}", "none")


def token(tree: Tree) -> Iterator[Finding]:
    if TOKEN_KEY in tree.entries:
        return
    if any(map(_is_of_leaders, tree.entries)):
        what = "the key is missing: the next commits would be numbered from 1"
        yield find("token-missing", TOKEN_KEY, what, "a token", "none")
    elif EPOCH_KEY in tree.entries:
        yield find("never-led", TOKEN_KEY, "no controller of Kedge has led this cluster")


def _is_of_leaders(key: str) -> bool:
    """Whether only a controller of Kedge that leads writes the key."""
    ours = key.startswith(("/kedge/", keys.REPLICA_DELETIONS + "/"))
    return ours and not key.startswith(keys.GATEWAYS)


def tree_format(tree: Tree) -> Iterator[Finding]:
    least = tree.values.get(FORMAT_KEY, 0)
    if least > CONTROLLER_VERSION:
        yield find("format-newer", FORMAT_KEY, "min_controller", f"at most {CONTROLLER_VERSION}", least)


def registrations(tree: Tree) -> Iterator[Finding]:
    if not tree.registered and tree.state.topics:
        yield find("no-broker", keys.BROKER_IDS, "no broker is registered: liveness is not checked")
    for broker_id in tree.registered:
        key = keys.broker(broker_id)
        if tree.entries[key].owner is None:
            what = f"the registration of {broker_id} belongs to no session"
            yield find("registration-stays", key, what, "an ephemeral key", "a permanent one")


def admissions(tree: Tree) -> Iterator[Finding]:
    """`/kedge/brokers/<id>` has the last registration for which the broker's previous death has been handled."""
    for broker_id, admitted in tree.state.admitted.items():
        broker, key, epoch = tree.registered.get(broker_id), keys.admitted(broker_id), admitted.epoch
        if broker is None:
            yield from [find("broker-down", key, f"broker {broker_id} is not registered")] if tree.registered else []
        elif epoch > broker.epoch:
            expected = f"at most {broker.epoch} ({keys.broker(broker_id)})"
            yield find("admitted-ahead", key, "broker_epoch", expected, epoch)
        elif UNKNOWN_EPOCH < epoch < broker.epoch:
            yield find("not-admitted", key, "broker_epoch", broker.epoch, epoch, due=tree.is_led)
    if TOKEN_KEY in tree.entries:
        for broker_id in tree.registered.keys() - tree.state.admitted.keys():
            what = f"broker {broker_id} is registered and not admitted"
            yield find("not-admitted", keys.admitted(broker_id), what, due=tree.is_led)


def never_brokers(tree: Tree) -> Iterator[Finding]:
    """Replicas on ids that no broker has registered under, as far as Kedge remembers: it admits every broker that
    registers, until the broker is forgotten. An example is a controller's id that was used as a broker's id."""
    if not tree.state.admitted:
        return  # no admissions are recorded
    known = tree.registered.keys() | tree.state.admitted.keys()
    for broker_id in tree.state.brokers_named():
        on = () if broker_id in known else tree.state.partitions_on(broker_id)
        found = [p for p in on if p.has_state and broker_id in p.members]
        if found:
            more = f" and {len(found) - 1} more" if len(found) > 1 else ""
            what = f"{broker_id} was never a broker, and has replicas of {found[0].tp}{more}"
            yield find("never-a-broker", keys.broker(broker_id), what)


def configs(tree: Tree) -> Iterator[Finding]:
    for name in tree.below(keys.CONFIG_TOPICS):
        if not tree.has_topic(name):
            what = f"there is no topic {name}"
            yield find("orphan-config", keys.topic_config(name), what, due=not tree.is_deleting(name))


def notices(tree: Tree) -> Iterator[Finding]:
    for above in SEQUENCES:
        names, counter = tree.below(above), tree.values.get(above)
        for name in names:
            number = int(name[-NUMBER_DIGITS:])
            if counter is not None and number >= counter:
                key = f"{above}/{name}"
                yield find("seq-ahead", key, "the number of the key", f"below {counter} ({above})", number)
        if names and above != keys.CONFIG_CHANGES:
            yield find("notice-unread", above, f"{len(names)} notifications are not handled", due=tree.is_led)
        elif len(names) > CHANGES_MAX:
            yield find("changes-left", above, "config changes", f"at most {CHANGES_MAX}", len(names))


def sizes(tree: Tree) -> Iterator[Finding]:
    for key, size in tree.sizes.items():
        kind = "value-too-large" if size > VALUE_BYTES_MAX else "value-near-limit"
        yield find(kind, key, "bytes", f"at most {VALUE_BYTES_MAX}", size)


def unknown_keys(tree: Tree) -> Iterator[Finding]:
    for prefix, count in tree.unknown.items():
        yield find("unknown-key", prefix, f"{count} unknown keys")
    if not tree.keys:
        yield find("empty-tree", "/", "there is no key at all: is this the right store and root?")
