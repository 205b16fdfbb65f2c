"""`kedge kafka configs` without a server: options that do not fit, and what they mean."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.controller.cli.configs.changes import changes, parse_pairs
from kedge.controller.cli.kafka.errors import Failed
from tests.cli.ran import refused
from tests.kit.commands import run

NOWHERE = ("--bootstrap-server", "127.0.0.1:1")
BRACKET = "Unbalanced brackets in --add-config"
FORM = 'Invalid entity config: all configs to be added must be in the format "key=val".'


@pytest.mark.parametrize(
    "arguments,problem",
    [
        (["--topic", "t"], "Command must include exactly one action: --describe, --alter"),
        (["--describe", "--alter", "--topic", "t"], "Command must include exactly one action: --describe, --alter"),
        (["--describe"], "At least one entity type must be specified"),
        (["--describe", "--entity-name", "t"], "At least one entity type must be specified"),
        (
            ["--describe", "--entity-type", "users"],
            "Invalid entity type users, the entity type must be one of topics, brokers, broker-loggers",
        ),
        (["--describe", "--entity-type", "topics", "--entity-type", "brokers"], "Only one entity type can be given"),
        (["--describe", "--topic", "t", "--broker", "1"], "Only one entity type can be given"),
        (
            ["--describe", "--entity-type", "topics", "--topic", "t"],
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags",
        ),
        (["--describe", "--topic", ""], "An entity name must not be empty"),
        (["--describe", "--entity-type", "brokers", "--entity-name", ""], "An entity name must not be empty"),
        (
            ["--describe", "--broker", "one"],
            "The entity name for brokers must be a valid integer broker id, but it is: one",
        ),
        (["--describe", "--broker", "9" * 5000], "must be a valid integer broker id, but it is: 999"),
        (["--describe", "--entity-type", "broker-loggers"], "An entity name must be specified with --describe of"),
        (["--describe", "--entity-type", "topics", "--entity-default"], "There is no default of topics"),
        (
            ["--describe", "--entity-type", "brokers", "--entity-name", "1", "--entity-default"],
            "Only one of --entity-name and --entity-default can be given",
        ),
        (
            ["--describe", "--topic", "t", "--delete-config", "a"],
            'Option "[delete-config]" can\'t be used with option "[describe]"',
        ),
        (["--alter", "--topic", "t", "--all", "--add-config", "a=b"], 'Option "[all]" can\'t be used with option'),
        (
            ["--alter", "--topic", "t"],
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter",
        ),
        (
            ["--alter", "--topic", "t", "--add-config", "a=b", "--add-config-file", "f"],
            "Only one of --add-config or --add-config-file must be specified",
        ),
        (
            ["--alter", "--entity-type", "topics", "--add-config", "a=b"],
            "An entity name must be specified with --alter of topics",
        ),
        (
            ["--alter", "--entity-type", "brokers", "--add-config", "a=b"],
            "An entity name or default entity must be specified with --alter of brokers",
        ),
    ],
)
def test_options_of_configs_that_do_not_fit_are_exit_code_2(arguments: list[str], problem: str) -> None:
    assert problem in refused(run("kafka", "configs", *NOWHERE, *arguments))


@pytest.mark.parametrize(
    "arguments,problem",
    [
        (["configs", "--describe", "--topic", "t"], "Please specify --bootstrap-server"),
        (["configs", *NOWHERE, "--describe", "--topic", "t", "--command-config", "/no/such"], "/no/such"),
        (
            ["reassign-partitions", *NOWHERE, "--cancel-all", "--timeout", "soon"],
            "'soon' is not a duration such as 90s, 15m or 2h",
        ),
    ],
)
def test_options_that_do_not_fit_are_exit_code_2(arguments: list[str], problem: str) -> None:
    assert problem in refused(run("kafka", *arguments))


@pytest.mark.parametrize(
    "text,expected",
    [
        ("a=b", {"a": "b"}),
        (" a = b , c = d ", {"a": "b", "c": "d"}),
        ("a=", {"a": ""}),
        ("a=b,", {"a": "b"}),
        ("a=[b,c],d=e", {"a": "b,c", "d": "e"}),
        ("a=[b=c,d=e]", {"a": "b=c,d=e"}),
    ],
)
def test_settings_are_read_as_kafkas_tool_reads_them(text: str, expected: dict[str, str]) -> None:
    assert dict(parse_pairs(text)) == expected


@pytest.mark.slow
@given(st.lists(st.tuples(st.text("ab.", min_size=1, max_size=5), st.text("xy,= :", max_size=6)), min_size=1))
def test_a_value_in_brackets_is_kept_whole(pairs: list[tuple[str, str]]) -> None:
    text = ",".join(f"{name}=[{value}]" for name, value in pairs)
    assert parse_pairs(text) == [(name, value.strip()) for name, value in pairs]


@pytest.mark.slow
@given(st.text("ab=,[] "))
def test_whatever_is_given_is_settings_or_refused(text: str) -> None:
    with suppress(Failed):
        assert all(name for name, _ in parse_pairs(text))


@pytest.mark.parametrize(
    "added,deleted,problem",
    [
        (["a"], [], FORM),
        (["a=b=c"], [], FORM),
        (["a=[b,c"], [], BRACKET),
        (["a=b,c]"], [], BRACKET),
        (["a=[b],c=d]"], [], BRACKET),
        (["a=[[b]"], [], BRACKET),
        (["a=[b]]"], [], BRACKET),
        (["=b"], [], FORM),
        ([","], [], FORM),
        ([""], [], FORM),
        (["a$=b"], [], "Invalid character found for config key: a$"),
        ([], ["a b"], "Invalid character found for config key: a b"),
        ([], ["a,,b"], "A config key is empty"),
        (["a=1,a=2"], [], "Config(s) given more than once: a"),
        (["a=1"], ["b,a"], "Config(s) given more than once: a"),
    ],
)
def test_bad_settings_are_one_line_and_no_request(added: list[str], deleted: list[str], problem: str) -> None:
    options = [word for text in added for word in ("--add-config", text)]
    options += [word for text in deleted for word in ("--delete-config", text)]
    done = run("kafka", "configs", *NOWHERE, "--alter", "--topic", "t", *options)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"Error: {problem}\n")


def test_a_file_of_settings_is_refused_where_it_says_nothing_or_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "properties"
    with pytest.raises(Failed, match="No such file or directory"):
        changes([], file, [])
    file.write_text("# nothing\n")
    with pytest.raises(Failed, match="the file has no configs"):
        changes([], file, [])
    assert changes([], file, ["a"]).deleted == ("a",)
