"""What stands in keys: legal values, and JSON of any kind."""

from __future__ import annotations

import hypothesis.strategies as st

from kedge.controller.model.legacy import LegacyEntry, LegacyKey
from kedge.controller.model.values import BrokerRegistration, DeleteIntent, Endpoint, Move, Partition, Topic

IDS = st.integers(0, 2**31 - 1)
REPLICAS = st.lists(IDS, min_size=1, max_size=6, unique=True).map(tuple)
EPOCHS = st.integers(0, 2**31 - 2**16)
TIMES = st.integers(0, 2**53)
NAMES = st.text("abcXYZ019._-", min_size=1, max_size=20)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text() | st.just("\ud800"),
)
JSON = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)))
# Fields that no version knows: their names begin as none of ours does.
EXTRA = st.one_of(st.none(), st.dictionaries(st.text(max_size=5).map(lambda name: f"x{name}"), JSON, min_size=1))

MOVES = st.builds(Move, REPLICAS, REPLICAS, TIMES, st.one_of(st.none(), TIMES))
PARTITIONS = st.builds(
    Partition,
    st.just("t"),
    st.just(0),
    REPLICAS,
    REPLICAS,
    st.one_of(st.just(-1), IDS),
    EPOCHS,
    st.one_of(st.none(), MOVES),
    st.sampled_from([0, -1, 1]),
    st.sampled_from([0, 1]),
    EXTRA,
)
TOPIC_IDS = st.text("abcABC012_-", min_size=22, max_size=22)
TOPICS = st.builds(Topic, st.just("t"), TOPIC_IDS, st.dictionaries(st.integers(0, 9_999_999), EPOCHS), EXTRA)
HOSTS = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=10)
ENDPOINTS = st.lists(
    st.builds(Endpoint, NAMES, HOSTS, st.integers(0, 65535), st.sampled_from(["PLAINTEXT", "SSL"])),
    min_size=1,
    max_size=3,
    unique_by=lambda endpoint: endpoint.listener,
).map(tuple)
REGISTRATIONS = st.builds(
    BrokerRegistration,
    IDS,
    HOSTS,
    st.integers(-1, 65535),
    st.one_of(st.none(), st.text(min_size=1)),
    ENDPOINTS,
    st.integers(0, 9),
    EXTRA,
)
INTENTS = st.builds(DeleteIntent, st.just(3), st.text(max_size=20), TOPIC_IDS, IDS, IDS)
ANY_INTS = st.integers(-(2**63), 2**63 - 1)
LEGACY_REPLICAS = st.lists(ANY_INTS, max_size=4).map(tuple)
LEGACY_EXTRA = st.one_of(st.none(), st.dictionaries(st.sampled_from(["x", "y"]), SCALARS, min_size=1))
LEGACY_ENTRIES = st.builds(LegacyEntry, st.text(max_size=20), ANY_INTS, LEGACY_REPLICAS, LEGACY_EXTRA)
LEGACY_PLANS = st.lists(LEGACY_ENTRIES, max_size=4).map(tuple)
LEGACY_KEYS = st.builds(LegacyKey, LEGACY_PLANS, LEGACY_EXTRA, st.integers(1, 9))
