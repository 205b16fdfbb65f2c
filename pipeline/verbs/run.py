"""`kedge plan apply-policy`: takes one cluster from its snapshot to an export, by its policy.

* If the policy has values for samples, the snapshot is validated and loaded again first.
* The steps of the policy are planned in turn; the first one that changes something is the plan. So a cluster is drained
  before it is levelled, and gets one plan per snapshot. If no step changes anything, the last one is the plan.
* A snapshot that was done with the same policy is not done again: the table `run`, written last, records it. A run that
  was interrupted is repeated, and writes the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import attrs

from ...controller.model.plural import counted
from ..amounts import duration
from ..cautions import of_partitions, size_words
from ..errors import NothingAsked
from ..policy import Fleet, Policy
from ..stages.arrays import Limits, to_cluster
from ..stages.export import MANIFEST
from ..stages.snapshots import digest
from ..stages.usable import LoadSettings
from ..tables.arrow import Arrow, from_rows
from ..tables.declared import BROKER, BROKER_DEFAULT, BROKER_LOAD, MEASURES, PARTITION, REJECTED_ROWS, RUN, SNAPSHOT
from ..tables.files import Place, Wanted, read_all, wanted
from .check import Check, violations
from .export import Export
from .kept import Kept
from .load import Load
from .plan import Plan
from .verb import Said, Tables, Told, Verb
from .waves import Waves

_RAW: Final = wanted(BROKER, PARTITION, raw=True, optional=True)  # the rejected rows of tables are found again
_SNAPSHOT: Final = (*wanted(*SNAPSHOT), *wanted(REJECTED_ROWS, BROKER_LOAD, BROKER_DEFAULT, optional=True))


@attrs.frozen
class Run:
    """Reads a snapshot, writes the tables of `check`, of a plan and its waves, and the export below `fleet.out`."""

    fleet: Fleet
    dry_run: bool = False
    again: bool = False

    title: ClassVar[str] = "running the policy"

    @property
    def wanted(self) -> Sequence[Wanted]:
        loaded = _SNAPSHOT + wanted(*MEASURES, optional=True) if self.fleet.loads else _SNAPSHOT
        return loaded if self.again else (*loaded, Wanted(RUN, optional=True, last=True))

    def reduces(self, cluster: str) -> LoadSettings | None:
        """As `Load.reduces`."""
        policy = self.fleet.of(cluster)
        return None if policy.skip else policy.loads

    def run(self, place: Place, given: Tables, told: Told) -> Said:
        """Exit code 1 if a rule is broken, or a part of the request is in no plan or wave."""
        policy = self.fleet.of(place.cluster)
        if policy.skip:
            return _said({**place.named, "skipped": True, "unchanged": False}, 0)
        kept, last, notes = Kept.over(place), given.get("run"), []
        if policy.loads is not None:
            loaded = Load(settings=policy.loads).run(kept, {**given, **read_all(kept, _RAW)}, told)
            given, notes = read_all(kept, _SNAPSHOT), loaded.row["notes"]
        digests = (policy.sha256, _digest(given))
        done = None if self.again else self._done(place, last, digests)
        if done is not None:
            return done
        row, code, step = self._plan(kept, policy, told)
        row["notes"] = [*(note for note in notes if note not in row["notes"]), *row["notes"]]
        if not self.dry_run:
            kept.keep(place)
        if step is not None:
            export = Export(step, self.fleet.out, dry_run=self.dry_run, several=True, windows=policy.windows)
            export.run(place, read_all(kept, export.wanted), told)
        row["written"] = not self.dry_run
        if not self.dry_run:
            place.write(RUN, from_rows(RUN, [(*digests, json.dumps(row), code)]))
        return _said({**row, **self._folder(row)}, code)

    def _folder(self, row: dict[str, Any]) -> dict[str, str | None]:
        return {"folder": None if row["step"] is None else str(self.fleet.out / row["cluster"])}

    def _done(self, place: Place, last: Arrow | None, digests: tuple[str, str]) -> Said | None:
        """The result of the cluster's last run, if it had the same policy and contents and its export exists."""
        if last is None:
            return None
        (found,) = last.to_pylist()
        row = json.loads(found["row"])
        is_there = row["step"] is None or (self.fleet.out / place.cluster / MANIFEST).is_file()
        if (found["policy_sha256"], found["snapshot_sha256"]) != digests or not is_there:
            return None
        return _said({**row, "unchanged": True, **self._folder(row)}, found["code"])

    def _plan(self, kept: Kept, policy: Policy, told: Told) -> tuple[dict[str, Any], int, str | None]:
        """The result, the exit code, and the step that is the plan; None: no step had anything to do."""
        check = Check(policy.limits, policy.factor, policy.ignore_racks, min_racks=policy.min_racks)
        checked = _run(check, kept, told)
        row = {**kept.named, "violations": checked.row["counts"], "step": None, "plan": None}
        row |= {"unchanged": False, "skipped": False, "notes": checked.row["notes"]}
        for step in policy.steps:
            trial = Kept.over(kept)
            try:
                planned = _run(_planning(policy, step), trial, told)
            except NothingAsked:
                continue
            row["step"], row["plan"] = step, _brief(planned.row)
            if planned.row["partitions_changed"] or step == policy.steps[-1] or not planned.row["complete"]:
                trial.keep(kept)
                cut = _run(Waves(step, policy.waves), kept, told)
                row["plan"] |= {"waves": len(cut.row["waves"]), "eta_s": _time(cut.row["waves"])}
                row["notes"] = [*row["notes"], *planned.row["notes"], *cut.row["notes"]]
                return row, max(checked.code, planned.code, cut.code), step
        return {**row, "step": None, "plan": None}, checked.code, None


def _planning(policy: Policy, step: str) -> Plan:
    return Plan(step, policy.request(step), policy.limits, policy.ignore_racks, choice=policy.choice)


def _run(verb: Verb, place: Place, told: Told) -> Said:
    return verb.run(place, read_all(place, verb.wanted), told)


def _digest(given: Tables) -> str:
    broker = given["broker"]
    tables = (given["partition"], given["replica_load"])
    return digest(to_cluster(broker, *tables, limits=Limits(), ignore_racks=True), broker)


def _brief(planned: dict[str, Any]) -> dict[str, Any]:
    names = ("partitions_changed", "replicas_copied", "bytes_copied", "bytes_bound", "complete", "reasons")
    return {name: planned[name] for name in names}


def _time(waves: list[dict[str, Any]]) -> float | None:
    times = [wave["eta_s"] for wave in waves]
    return None if None in times else sum(times)


def _said(row: dict[str, Any], code: int) -> Said:
    return Said(row, [("result", words(row))], code)


def words(row: dict[str, Any]) -> str:
    """The result for a cluster in a sentence."""
    if row["skipped"]:
        return "skipped by the policy"
    broken = violations(row["violations"])
    unchanged = "unchanged since the last run: " if row["unchanged"] else ""
    if row["plan"] is None:
        return f"{unchanged}{broken}; no step of the policy applies"
    plan = row["plan"]
    done = "" if plan["complete"] else ", a part of the request was refused"
    time = "" if plan["eta_s"] is None else f" in {duration(plan['eta_s'])}"
    if not plan["partitions_changed"]:
        return f"{unchanged}{broken}; {row['step']} changes nothing{done}"
    size, waves = size_words(plan["bytes_copied"]), counted(plan["waves"], "wave")
    copied = f"{of_partitions(plan['partitions_changed'])}, {size}, by {waves}{time}"
    return f"{unchanged}{broken}; {row['step']} changes {copied}{done}"
