"""Whether the tree at a URL is the one that the user means. Commands ask this before they write anything there.

    serve, kafka-controller             `require_room` and `require_kind`; an empty tree is theirs to fill
    kafka-controller --take-over        `require_cluster` as well, since there is a controller to depose
    kafka-controller --hand-back        that Kedge leads or led last (`runtime.hand_back`)
    reassign-partitions --zookeeper     `require_cluster`, then the partitions and brokers of the plan
    store migrate                       `require_cluster` and `require_kind` for FROM, and nothing in TO
    store load                          an empty tree; with --resume, a part of the file (`transfer.may_load`)
    store ping --write                  that its scratch key is absent (`probing.commits`)

Each function raises Invalid where the tree is another one, and the store's errors.
"""

from __future__ import annotations

import time
from typing import Final

from ....stores.base import Corrupt, Invalid, MetadataStore
from ....stores.recipes import EPOCH_KEY, LEADER_KEY, TOKEN_KEY, Token, decode_epoch
from ...codec import keys
from ...codec.migration import is_holder
from ...codec.small import decode_controller

_CALL_S: Final = 15.0
_CLAIM_S: Final = 3.0  # what a controller may take from its election to its first commit
_LOOK_S: Final = 0.1
_NAMED_MAX: Final = 3
_KEDGES: Final = frozenset({
    "brokers", "commit", "format", "gateways", "gateways_secret", "handed_back", "leader", "migration"
})  # fmt: skip
_TOPS: Final = frozenset({
    "admin", "brokers", "cluster", "config", "consumers", "controller", "controller_epoch", "delegation_token",
    "feature", "isr_change_notification", "kafka-acl", "kafka-acl-changes", "kafka-acl-extended",
    "kafka-acl-extended-changes", "kedge", "latest_producer_id_block", "log_dir_event_notification", "migration",
})  # fmt: skip


def require_cluster(store: MetadataStore, otherwise: str = "check the chroot or prefix") -> None:
    """The tree holds a cluster. `otherwise`: what the user should do where it holds none."""
    if not holds_cluster(store):
        raise Invalid(f"holds no cluster, neither {EPOCH_KEY} nor a topic; {otherwise}")


def require_room(store: MetadataStore) -> None:
    """The tree holds a cluster, or a new one may be created in it: it has no keys of others. What Kafka's tools write
    before the first broker starts, such as users, is of a cluster."""
    if holds_cluster(store):
        return
    names = set(store.children("/", timeout_s=_CALL_S))
    strange = sorted(names - _TOPS)
    if "kedge" in names:  # perhaps the chroot of another cluster
        strange += [f"kedge/{name}" for name in store.children("/kedge", timeout_s=_CALL_S) if name not in _KEDGES]
    if strange:
        named = ", ".join(f"/{name}" for name in strange[:_NAMED_MAX])
        raise Invalid(
            f"holds no cluster, but other keys, such as {named}; a new cluster is created in an empty tree only: check "
            "the chroot or prefix"
        )


def require_kind(store: MetadataStore, *, kafka_brokers: bool) -> None:
    """What leads over the tree, if anything does, is a controller of the same kind: one of Kafka brokers (Kafka's own,
    or that of `kedge kafka-controller`), or one of `kedge serve` or of a program that embeds it.

    Only `kedge kafka-controller` keeps /controller without a session. A session holds it under an epoch that the
    commit token has where a controller of Kedge was elected last, and not where Kafka's was."""
    shown = store.get(LEADER_KEY, sync=True, timeout_s=_CALL_S)
    if shown is None or is_holder(shown.value):
        return
    if shown.owner is None:
        if not kafka_brokers:
            raise Invalid(
                f"{LEADER_KEY} belongs to no session: `kedge kafka-controller` or KRaft leads Kafka brokers there, "
                "so no other controller can lead"
            )
        return
    leads = f"controller {decode_controller(shown.value)} leads there"
    is_kedges = _is_kedges(store, 0 if kafka_brokers else _CLAIM_S)
    if kafka_brokers and is_kedges:
        raise Invalid(f"{leads}, which is one of `kedge serve` or of a program that embeds Kedge, not of Kafka brokers")
    if not kafka_brokers and is_kedges is False:
        raise Invalid(f"{leads}, which is Kafka's own; `kedge kafka-controller` takes over from it")


def holds_cluster(store: MetadataStore) -> bool:
    """Whether a controller led there once, or there are topics."""
    has_epoch = store.get(EPOCH_KEY, sync=True, timeout_s=_CALL_S) is not None
    return has_epoch or bool(store.children(keys.TOPICS, timeout_s=_CALL_S))


def _is_kedges(store: MetadataStore, wait_s: float) -> bool | None:
    """Whether a controller of Kedge was elected last; one that was elected a moment ago may commit within `wait_s`.
    None: the keys cannot be read, which the controller reports."""
    until_s = time.monotonic() + wait_s
    while True:
        epoch, token = (store.get(key, sync=True, timeout_s=_CALL_S) for key in (EPOCH_KEY, TOKEN_KEY))
        try:
            if epoch and token and decode_epoch(epoch.value) == Token.decode(token.value).controller_epoch:
                return True
        except Corrupt:
            return None
        if time.monotonic() >= until_s:
            return False
        time.sleep(_LOOK_S)
