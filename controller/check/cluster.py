"""Rules on leadership, brokers, configs and sequences: invariant 5, and keys whose owner no longer exists."""

from __future__ import annotations

from collections.abc import Iterator

from ...stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY
from ..codec import keys
from ..codec.notifications import CHANGES_MAX
from ..codec.orders import CONTROLLER_VERSION, FORMAT_KEY
from ..model.values import TopicPartition
from ..rules.topics import VALUE_BYTES_MAX
from .findings import Finding, find
from .tree import Tree


def leadership(tree: Tree) -> Iterator[Finding]:
    if tree.leader is None:
        if tree.has_epoch or tree.topics:
            yield find("no-controller", LEADER_KEY, "there is no controller: pending work waits for one")
    elif tree.leader.owner is None and tree.held is None:
        yield find(
            "controller-stays", LEADER_KEY, "the key belongs to no session", "an ephemeral key", "a permanent one"
        )


def migration(tree: Tree) -> Iterator[Finding]:
    if tree.migration is not None:
        yield find("store-move", keys.MIGRATION, str(tree.migration))


def epochs(tree: Tree) -> Iterator[Finding]:
    """Invariant 5. Without the epoch key a cluster would begin at 1 again, and brokers would ignore its requests."""
    token = tree.token
    if tree.epoch is not None and token is not None and token.controller_epoch > tree.epoch:
        expected = f"at most {tree.epoch} ({EPOCH_KEY})"
        yield find("token-ahead", TOKEN_KEY, "controller_epoch", expected, token.controller_epoch)
    if not tree.has_epoch:
        written = [s.controller_epoch for s in tree.every_state() if type(s.controller_epoch) is int]
        epoch = max([0 if token is None else token.controller_epoch, *written])
        if epoch > 0:
            yield find("epoch-missing", EPOCH_KEY, "the key is missing", f"at least {epoch}", "none")


def token(tree: Tree) -> Iterator[Finding]:
    if tree.has_token:
        return
    if tree.has_kedge_keys:
        yield find(
            "token-missing",
            TOKEN_KEY,
            "the key is missing: the next commits would be numbered from 1",
            "a token",
            "none",
        )
    elif tree.has_epoch:
        yield find("never-led", TOKEN_KEY, "no controller of Kedge has led this cluster")


def tree_format(tree: Tree) -> Iterator[Finding]:
    if tree.min_controller is not None and tree.min_controller > CONTROLLER_VERSION:
        yield find("format-newer", FORMAT_KEY, "min_controller", f"at most {CONTROLLER_VERSION}", tree.min_controller)


def registrations(tree: Tree) -> Iterator[Finding]:
    if not tree.registered and tree.topics:
        yield find("no-broker", keys.BROKER_IDS, "no broker is registered: liveness is not checked")
    for broker_id, entry in tree.registered.items():
        if entry.owner is None:
            what = f"the registration of {broker_id} belongs to no session"
            yield find("registration-stays", entry.key, what, "an ephemeral key", "a permanent one")


def admissions(tree: Tree) -> Iterator[Finding]:
    """`/kedge/brokers/<id>` has the last registration for which the broker's previous death has been handled."""
    for broker_id, epoch in tree.admitted.items():
        registration, key = tree.registered.get(broker_id), keys.admitted(broker_id)
        if registration is None:
            yield from [find("broker-down", key, f"broker {broker_id} is not registered")] if tree.registered else []
        elif epoch is not None and epoch > registration.created:
            expected = f"at most {registration.created} ({registration.key})"
            yield find("admitted-ahead", key, "broker_epoch", expected, epoch)
        elif epoch is not None and epoch < registration.created:
            yield find("not-admitted", key, "broker_epoch", registration.created, epoch, due=tree.is_led)
    if tree.has_token:
        for broker_id in tree.registered.keys() - tree.admitted.keys():
            what = f"broker {broker_id} is registered and not admitted"
            yield find("not-admitted", keys.admitted(broker_id), what, due=tree.is_led)


def never_brokers(tree: Tree) -> Iterator[Finding]:
    """Replicas on ids that no broker has registered under, as far as Kedge remembers: it admits every broker that
    registers, until the broker is forgotten. An example is a controller's id that was used as a broker's id."""
    if not tree.admitted:
        return  # no admissions are recorded
    known = tree.registered.keys() | tree.admitted.keys()
    named: dict[int, list[TopicPartition]] = {}
    for state in tree.listed():
        if not known >= set(state.partition.members):
            for broker_id in state.partition.members:
                if broker_id not in known:
                    named.setdefault(broker_id, []).append(state.partition.tp)
    for broker_id, found in sorted(named.items()):
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        what = f"{broker_id} was never a broker, and has replicas of {found[0]}{more}"
        yield find("never-a-broker", keys.broker(broker_id), what)


def configs(tree: Tree) -> Iterator[Finding]:
    for name, key in tree.configs.items():
        if not tree.has_topic(name):
            yield find("orphan-config", key, f"there is no topic {name}", due=name not in tree.deleting)


def notices(tree: Tree) -> Iterator[Finding]:
    for above, found in tree.notices.items():
        for key, number in found.numbers.items():
            if found.counter is not None and number >= found.counter:
                yield find("seq-ahead", key, "the number of the key", f"below {found.counter} ({above})", number)
        if found.numbers and above != keys.CONFIG_CHANGES:
            yield find("notice-unread", above, f"{len(found.numbers)} notifications are not handled", due=tree.is_led)
        elif len(found.numbers) > CHANGES_MAX:
            yield find("changes-left", above, "config changes", f"at most {CHANGES_MAX}", len(found.numbers))


def sizes(tree: Tree) -> Iterator[Finding]:
    for key, size in tree.sizes.items():
        kind = "value-too-large" if size > VALUE_BYTES_MAX else "value-near-limit"
        yield find(kind, key, "bytes", f"at most {VALUE_BYTES_MAX}", size)


def unknown_keys(tree: Tree) -> Iterator[Finding]:
    for prefix, count in tree.unknown.items():
        yield find("unknown-key", prefix, f"{count} unknown keys")
    if not tree.keys:
        yield find("empty-tree", "/", "there is no key at all: is this the right store and root?")
