"""The table of all kinds of keys, and the kinds of one term."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar, cast

from ...stores.checks import parent
from ...stores.recipes import TOKEN_KEY
from ..codec import keys
from ..model.events import Event, KeyRead
from ..state import ClusterState, DirtyKey
from .base import KeyContext, KeyKind
from .brokers import AdmissionKeys, ForgottenKeys, RegistrationKeys
from .changes import ChangeKeys, OldChangeKeys
from .configs import EntityConfigKeys, TopicConfigKeys
from .deletions import DeletionKeys
from .intents import DoneIntentKeys, NewIntentKeys
from .legacy import LegacyKeys
from .notifications import NotificationKeys
from .reductions import ReductionKeys
from .states import StateKeys
from .throttles import ThrottleKeys
from .topics import ParentKeys, TopicKeys

KINDS: Final[tuple[type[KeyKind], ...]] = (
    AdmissionKeys,
    ForgottenKeys,
    RegistrationKeys,
    TopicKeys,
    DeletionKeys,
    ReductionKeys,
    LegacyKeys,
    StateKeys,
    ParentKeys,
    ChangeKeys,
    OldChangeKeys,
    EntityConfigKeys,
    TopicConfigKeys,
    NewIntentKeys,
    DoneIntentKeys,
    ThrottleKeys,
    NotificationKeys,
)
"""Keys are loaded and read in this order: admissions before registrations, topics before requests about them, and
changes, which cause hints for configs, before configs."""
_BY_ROOT: Final = {root: kind.name for kind in KINDS for root, _ in kind.roots}
_BY_EVENT: Final = {kind.read_event[0]: kind.name for kind in KINDS if kind.read_event}
K = TypeVar("K", bound=KeyKind)


class KeyKinds:
    """The kinds of one term. `by_word`: by the first word of a dirty key. `has_hints`: whether something may have to be
    read again; most passes have nothing to read."""

    def __init__(self, context: KeyContext) -> None:
        self.context = context
        self.by_word: Mapping[str, KeyKind] = {kind.name: kind(context) for kind in KINDS}
        context.hint = self.hint
        self.has_hints = True

    def __iter__(self) -> Iterator[KeyKind]:
        return iter(self.by_word.values())

    @property
    def state(self) -> ClusterState:
        return self.context.state

    def one(self, kind: type[K]) -> K:
        return cast(K, self.by_word[kind.name])

    def hint(self, path: str) -> None:
        """Have `path` read again, if it is a root or a key of a kind that is read after hints."""
        word = _BY_ROOT.get(path) or _BY_ROOT.get(parent(path)) or (StateKeys.name if keys.partition_of(path) else None)
        if word is not None:
            self.by_word[word].hinted[path] = None
            self.has_hints = True

    def altered(self, paths: Iterable[str], now_ms: int) -> set[str]:
        """Those of `paths`, all of keys of configs, that differ now from what the state knows."""
        self.context.get(TOKEN_KEY)  # so that what is read next is at least as new as this call
        by_word: dict[str, list[str]] = {}
        for path in paths:
            by_word.setdefault(_BY_ROOT[parent(path)], []).append(path)
        return {
            kind.key(kind.key_id_of(event))
            for kind, asked in ((self.by_word[word], asked) for word, asked in by_word.items())
            for event in kind.look(asked, now_ms)
        }

    def key_of(self, event: Event) -> DirtyKey | None:
        """The key whose content `event` holds, if any; a later read replaces the event."""
        word = _BY_EVENT.get(type(event))
        assert word is not None or not isinstance(event, KeyRead), f"{type(event).__name__} tells of no key"
        key_id = None if word is None else self.by_word[word].key_id_of(event)
        return None if word is None or key_id is None else (word, key_id)

    def reread(self, dirty_keys: Iterable[DirtyKey], seq: int, now_ms: int) -> list[Event]:
        """The events for keys that another program wrote; `seq`: the number of the next commit."""
        self.context.seq, found = seq, dict[str, list[object]]()
        for word, key_id in dirty_keys:
            found.setdefault(word, []).append(key_id)
        return [event for word, key_ids in found.items() for event in self.by_word[word].reread(key_ids, now_ms)]
