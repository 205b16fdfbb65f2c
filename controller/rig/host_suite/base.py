"""A case of the suite, and the report of a run.

A case is left out, and counted as such, if it needs an ability that the host does not declare; for no other reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import attrs

from ..hosted.under_test import Ability, HostUnderTest, made

GROUPS: Final = ("fences", "disorder", "logs", "roles", "isr", "failures", "loop")


@attrs.frozen
class Case:
    """One function of the suite."""

    group: str
    check: Callable[[HostUnderTest], None]
    needs: frozenset[Ability]

    @property
    def name(self) -> str:
        """As `group.function`."""
        return f"{self.group}.{self.check.__name__}"

    def lacks(self, host: HostUnderTest) -> frozenset[Ability]:
        """The missing abilities for which this case is left out; empty = it runs."""
        return self.needs - host.abilities

    @property
    def sentence(self) -> str:
        """The rule that the case checks."""
        return " ".join((self.check.__doc__ or "").split())

    def run(self, host: HostUnderTest) -> None:
        """Run the case on a fresh host, and close that. Raises AssertionError with the rule, the expected and the
        actual behaviour; an exception of the host gets the rule as a note."""
        try:
            self.check(host)
        except AssertionError as error:
            error.args = (f"{self.sentence}\n  {error}",)
            raise
        except Exception as error:
            error.add_note(self.sentence)
            raise
        finally:
            host.close()


def expect(what: str, got: object, expected: object) -> None:
    """Raises AssertionError with both values where they differ; unlike `assert`, also under `python -O`."""
    if got != expected:
        raise AssertionError(f"{what}: expected {expected!r}, got {got!r}")


CASES: Final[list[Case]] = []
_Check = TypeVar("_Check", bound=Callable[[HostUnderTest], None])


def case(group: str, *needs: Ability) -> Callable[[_Check], _Check]:
    """Add a function to the suite."""

    def enter(run: _Check) -> _Check:
        CASES.append(Case(group, run, frozenset(needs)))
        return run

    return enter


@attrs.frozen
class Report:
    """The result of a run: names of cases; failed ones with the rule and the values, left out ones with the missing
    abilities."""

    passed: tuple[str, ...]
    failed: Mapping[str, str]
    left_out: Mapping[str, tuple[str, ...]]

    def __str__(self) -> str:
        lines = [f"FAILED {name}: {why}" for name, why in self.failed.items()]
        lines += [f"left out {name}: needs {', '.join(needs)}" for name, needs in self.left_out.items()]
        counted = f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.left_out)} left out"
        return "\n".join([*lines, counted])


def check(make: Callable[[], HostUnderTest], cases: Sequence[Case] | None = None) -> Report:
    """Run all cases, or `cases`, each on a host of its own from `make`. Raises no exception of a case or a callback,
    but TypeError and ValueError for an invalid host. A host that never does what a case waits for takes `wait_ms` for
    each such case: make it short during development."""
    passed, failed, left_out = [], {}, {}
    for one in CASES if cases is None else cases:
        host = made(make)
        if missing := one.lacks(host):
            left_out[one.name] = tuple(sorted(ability.value for ability in missing))
            host.close()
            continue
        try:
            one.run(host)
        except Exception as error:  # noqa: BLE001 - an exception of the host fails the case
            raised = f"{one.sentence}\n  {type(error).__name__}: {error}"
            failed[one.name] = str(error) if isinstance(error, AssertionError) else raised
        else:
            passed.append(one.name)
    return Report(tuple(passed), failed, left_out)
