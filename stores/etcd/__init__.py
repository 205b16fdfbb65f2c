"""etcd as a metadata store. The extra kedge[etcd] is needed only once a store is opened: see `open_etcd`."""

from __future__ import annotations

from ..base import Invalid, MetadataStore
from ..extras import missing
from .url import EtcdUrl as EtcdUrl
from .url import parse_url as parse_url


def open_etcd(url: str, *, read_only: bool = False) -> MetadataStore:
    """Return a client of the etcd cluster that `url` names (see `kedge.stores.etcd.url`), with a session of its own.

    Raises Invalid for a wrong url, for unreadable files that it names, and if the packages of the extra are missing;
    Unavailable if no endpoint answers within connect_timeout, Unauthorized. `read_only`: Invalid if there is no key
    below the prefix; only the lease is written.
    """
    settings = parse_url(url)
    try:
        from .store import EtcdStore, check_not_empty  # noqa: PLC0415 - only who opens one needs the extra
    except ImportError as error:
        raise Invalid(missing("etcd", error)) from error
    store = EtcdStore(settings)
    if read_only:
        try:
            check_not_empty(store, settings.connect_timeout)
        except BaseException:
            store.close()
            raise
    return store
