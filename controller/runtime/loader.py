"""The bulk load of a takeover: the whole tree as a state, and events for the work that it shows.

It reads in bulk by columns, parses many JSON values at once, and creates no temporary objects. A key that cannot be
read becomes a finding: the rest is loaded, and `full` requests are withheld as long as a topic or state key is
unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeGuard, TypeVar

from ..keys.base import KeyContext
from ..keys.brokers import RegistrationKeys
from ..keys.table import KeyKinds
from ..model.events import Event, Group, PartitionDue, Reason, TopicIdMissing
from ..rules.brokers import expand_deaths
from ..rules.takeover import died
from ..state import ClusterState
from .gc_tuning import collector_off, many_stay
from .loaded import Loaded
from .services import Services
from .writer import FIXED_OPS

_A = TypeVar("_A")
_T = TypeVar("_T")
_FREEZE_ABOVE: Final = 10_000  # partitions from which on they are exempt from garbage collection


def load(services: Services, controller_epoch: int, now_ms: int) -> Loaded:
    """Load the state of a newly won term, after its token was claimed. Raises the store's errors; the caller then
    starts the takeover again."""
    store, id_source = services.store, services.id_source
    keys_at_once = max(1, store.capabilities.commit_ops_max - FIXED_OPS)
    state = ClusterState(services.controller_id, controller_epoch, services.settings, keys_at_once)
    parents_stay = store.capabilities.parents_stay
    context = KeyContext(state, store, services.elapsed_ms, id_source.topic_id, parents_stay=parents_stay, ahead=_ahead)
    loaded = Loaded(KeyKinds(context))
    with collector_off():
        for kind in loaded.kinds:
            loaded.events += kind.load(now_ms)
    if len(state.rows) > _FREEZE_ABOVE:
        many_stay()
    loaded.first += [event for event in loaded.events if _comes_first(event)]
    loaded.events = [*_deaths(loaded, now_ms), *(event for event in loaded.events if not _comes_first(event))]
    return loaded


def _comes_first(event: Event | Group) -> TypeGuard[Event]:
    """Topics of older Kafkas need their id before deaths: one may complete a move, whose intents have the id. ISR
    members outside R join it first, so that no death is decided with them."""
    is_stray = isinstance(event, PartitionDue) and event.reason is Reason.STRAY
    return is_stray or isinstance(event, TopicIdMissing)


def _ahead(read: Callable[[_A], _T], parts: Sequence[_A]) -> Iterator[tuple[_A, _T]]:
    """As `KeyContext.ahead`, with one thread. A small tree is one part and needs none, so simulations have none."""
    if len(parts) == 1:
        yield parts[0], read(parts[0])
        return
    with ThreadPoolExecutor(1, "kedge-load") as pool:
        coming = None
        for place, part in enumerate(parts):
            found = pool.submit(read, part).result() if coming is None else coming.result()
            coming = pool.submit(read, parts[place + 1]) if place + 1 < len(parts) else None
            yield part, found


def _deaths(loaded: Loaded, now_ms: int) -> list[Event | Group]:
    dead, registered = died(loaded.state), loaded.kinds.one(RegistrationKeys).brokers
    loaded.state.load_dying(dead)
    returned = {broker_id: registered[broker_id] for broker_id in dead if broker_id in registered}
    return expand_deaths(loaded.state, dead, returned, now_ms)
