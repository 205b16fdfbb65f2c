"""The rooms whose code is mutated, and the tests that must notice it.

The tests of a room are the fast ones that are about it, not all that happen to run through it: a mutant that only a run
of the whole cluster finds is found late, and without its place. They are also few enough to be collected in a second,
since that is done for each mutant.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs


@attrs.frozen
class Room:
    """`code`: patterns of files, `tests`: folders and files; both from the top of the checkout."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS: Final[Mapping[str, Room]] = {
    "rules": Room(("controller/rules/*",), ("tests/rules", "tests/runtime")),
    "state": Room(
        ("controller/state/*",),
        ("tests/state", "tests/rules", "tests/runtime/test_loader.py", "tests/runtime/test_transcripts.py"),
    ),
    "codec": Room(("controller/codec/*",), ("tests/codec", "tests/journal", "tests/runtime")),
    "keys": Room(("controller/keys/*",), ("tests/runtime", "tests/codec", "tests/migration")),
    "recipes": Room(
        ("stores/recipes/*",),
        (
            "tests/stores/test_election.py",
            "tests/stores/test_fence.py",
            "tests/stores/test_holding.py",
            "tests/stores/test_sequence.py",
            "tests/runtime/test_outcomes.py",
            "tests/runtime/test_broker_ids.py",
            "tests/runtime/test_election_keys.py",
            "tests/runtime/test_foreign_targets.py",
            "tests/runtime/test_transcripts.py",
        ),
    ),
    "committer": Room(
        ("controller/runtime/committer.py",),
        (
            "tests/runtime/test_batches.py",
            "tests/runtime/test_conflicts.py",
            "tests/runtime/test_outcomes.py",
            "tests/runtime/test_transcripts.py",
        ),
    ),
    "runtime": Room(
        ("controller/runtime/*",),
        (
            "tests/runtime",
            "tests/embedding",
            "tests/journal",
            "tests/metrics",
            "tests/migration",
            "tests/simulation/test_defects.py",
            "tests/simulation/test_leaders.py",
            "tests/wire/test_any_broker.py",
        ),
    ),
    "groups": Room(("controller/groups/*", "controller/coordinators/*"), ("tests/groups", "tests/transactions")),
    "transactions": Room(("controller/transactions/*",), ("tests/transactions",)),
    "simulated": Room(
        ("controller/simulated/*",),
        (
            "tests/rig/test_broker.py",
            "tests/rig/test_clients.py",
            "tests/rig/test_copying.py",
            "tests/rig/test_duties.py",
            "tests/rig/test_flows.py",
            "tests/rig/test_host_suite.py",
            "tests/rig/test_isolation.py",
            "tests/rig/test_live_logs.py",
            "tests/rig/test_live_settings.py",
            "tests/rig/test_log.py",
            "tests/rig/test_network.py",
            "tests/rig/test_served.py",
            "tests/rig/test_timeline.py",
            "tests/simulation/test_mixed_versions.py",
            "tests/simulation/test_quotas.py",
            "tests/simulation/test_quotas_bind.py",
        ),
    ),
    "server": Room(
        ("controller/server/*",),
        (
            "tests/groups/test_live_groups.py",
            "tests/rig/test_isolation.py",
            "tests/rig/test_live_cluster.py",
            "tests/rig/test_live_compaction.py",
            "tests/rig/test_live_logs.py",
            "tests/rig/test_live_settings.py",
            "tests/rig/test_live_shelf.py",
            "tests/rig/test_waiting_fetches.py",
            "tests/serve/test_journal.py",
            "tests/serve/test_loads.py",
            "tests/serve/test_moves.py",
            "tests/wire/test_batches.py",
            "tests/wire/test_compaction.py",
            "tests/wire/test_data.py",
            "tests/wire/test_times.py",
        ),
    ),
    "export": Room(("pipeline/stages/export.py",), ("tests/pipeline/test_disks.py", "tests/pipeline/test_export.py")),
    "submit": Room(("pipeline/submit/*",), ("tests/pipeline_submit",)),
}
