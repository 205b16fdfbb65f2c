"""`kedge store audit`: what it prints, what it answers with, and that it leaves the store as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kedge.controller.cli.root import kedge
from kedge.stores import MemoryServer
from kedge.stores.tree import TreeEntry
from tests.check.trees import STATE, T, entries, good, state
from tests.cli.ran import ended


def saved(path: Path, **more: object) -> Path:
    server = MemoryServer()
    found = entries(good() | more)
    server.plant(TreeEntry(e.key, e.value, e.generation) for e in found if e.owner is None)
    server.save(path)
    return path


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    keys = {STATE: state(3, [1, 2]), "/config/topics/u": {"config": {}}}
    return saved(tmp_path / "tree.json", **keys)


def check(path: Path | str, *arguments: str) -> Result:
    return CliRunner().invoke(kedge, ["store", "audit", f"memory:{path}", *arguments])


def test_a_good_tree_is_exit_code_0_and_a_summary(tmp_path: Path) -> None:
    result = check(saved(tmp_path / "tree.json"))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "1 topic, 2 partitions, 0 registered brokers, 1 move, 0 replicas to delete: "
        "0 errors, 0 warnings, 2 notes; --severity note shows all\n"
    )


def test_the_store_may_be_named_as_elsewhere(broken: Path) -> None:
    """By --store, instead of the argument."""
    result = CliRunner().invoke(kedge, ["store", "audit", "--store", f"memory:{broken}"])
    assert result.stdout == check(broken).stdout


def test_findings_are_a_table_worst_first_and_exit_code_1(broken: Path) -> None:
    result = check(broken)
    assert result.exit_code == 1
    head, first, second, summary = result.stdout.splitlines()
    assert head.split() == ["severity", "kind", "key", "what", "expected", "got"]
    assert first.split() == [
        "error",
        "leader-outside-isr",
        STATE,
        *["leader", "one", "of", "[1,", "2],", "or", "-1", "3"],
    ]
    assert second.split()[:3] == ["warning", "orphan-config", "/config/topics/u"]
    assert summary.endswith(": 1 error, 1 warning, 2 notes; --severity note shows all")


@pytest.mark.parametrize(
    "arguments,code,kinds",
    [
        (["--severity", "error"], 1, ["leader-outside-isr"]),
        (["--severity", "note"], 1, ["leader-outside-isr", "orphan-config", "no-broker", "no-controller"]),
        (["--key", T], 1, ["leader-outside-isr"]),
        (["--key", "/config/"], 1, ["orphan-config"]),
        (["--key", "/conf"], 0, []),
        (["--key", "/config", "--severity", "error"], 0, []),
    ],
    ids=["errors", "notes", "below a topic", "with a slash", "no segment", "both"],
)
def test_severity_and_key_narrow_what_is_shown_and_answered(
    broken: Path, arguments: list[str], code: int, kinds: list[str]
) -> None:
    result = check(broken, "--json", *arguments)
    assert (result.exit_code, [f["kind"] for f in json.loads(result.stdout)["findings"]]) == (code, kinds)


def test_json_is_one_object(broken: Path) -> None:
    said = json.loads(check(broken, "--json", "--severity", "error").stdout)
    assert said["store"] == f"memory:{broken}"
    assert said["consistent"] is True
    assert said["severities"] == {"error": 1, "warning": 1, "note": 2}
    assert said["counts"] == {"keys": 19, "topics": 1, "partitions": 2, "brokers": 0, "moves": 1, "intents": 0}
    assert said["findings"] == [
        {
            "severity": "error",
            "key": STATE,
            "kind": "leader-outside-isr",
            "what": "leader",
            "expected": "one of [1, 2], or -1",
            "got": "3",
        }
    ]


def test_the_file_is_not_written(broken: Path) -> None:
    before, modified = broken.read_bytes(), broken.stat().st_mtime_ns
    check(broken)
    assert (broken.read_bytes(), broken.stat().st_mtime_ns) == (before, modified)
    assert list(broken.parent.iterdir()) == [broken]


def test_what_strangers_wrote_is_shown_escaped(tmp_path: Path) -> None:
    path = saved(tmp_path / "tree.json", **{STATE: state(1, [1, 2]) | {"leader": "\x1b[31m\n[bold]\ud800"}})
    result = check(path)
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout
    assert "[bold]" in result.stdout
    assert len(result.stdout.splitlines()) == 3


@pytest.mark.slow
def test_the_command_runs_as_a_process(broken: Path) -> None:
    """On a terminal an error is coloured; into a pipe there are no colours, and no line ends in blanks."""
    command = ("store", "audit", f"memory:{broken}")
    piped = ended(*command)
    assert (piped.returncode, piped.stderr) == (1, "")
    assert not any(line.endswith(" ") for line in piped.stdout.splitlines())
    shown = ended(*command, FORCE_COLOR="1", TERM="xterm-256color", COLUMNS="200")
    assert ("\x1b[1;31m" in shown.stdout, "\x1b" in piped.stdout) == (True, False)
