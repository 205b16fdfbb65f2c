"""The plugin of pytest, as its users meet it: test files of theirs, run by pytest in a process of its own."""

from __future__ import annotations

import configparser
import re
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
HEAD = "import kafka\nimport pytest\n"
NOT_INSTALLED = "import sys; sys.modules[{module!r}] = None"


def run(pytester: pytest.Pytester, **files: str) -> pytest.RunResult:
    """Warnings are errors, as many users have it. The plugin is named, because a checkout may not be installed."""
    pytester.makepyfile(**files)
    pytester.makeini("[pytest]\naddopts = -p pytest_kedge -p no:cacheprovider\nfilterwarnings = error\n")
    return pytester.runpytest_subprocess("-q", timeout=120)


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))


def test_plugin_is_an_entry_point() -> None:
    """Under the name of its module, so that `-p pytest_kedge` does not load it twice."""
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    name, _, module = setup["options.entry_points"]["pytest11"].strip().partition(" = ")
    assert name == module == setup["options"]["py_modules"]
    assert callable(import_module(module).kedge_cluster)


@pytest.mark.full
@pytest.mark.checklist(268)
def test_tests_of_a_user_pass(pytester: pytest.Pytester) -> None:
    """By both fixtures: a producer works through the death of a leader, and in a process of `kedge serve`."""
    program = (Path(__file__).parent / "of_a_user.py").read_text()
    run(pytester, test_of_a_user=program).assert_outcomes(passed=2)


def test_examples_of_the_page_pass(pytester: pytest.Pytester) -> None:
    """Which tests/docs only defines, because nothing calls them there. They import kafka-python, which warns, and
    leaves sockets open that were refused."""
    page = (CHECKOUT / "docs" / "testing.md").read_text(encoding="utf-8")
    examples = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def test_" in block]
    assert [run(pytester, test_example=HEAD + each).parseoutcomes() for each in examples] == [
        {"passed": 2},
        {"passed": 1},
    ]


@pytest.mark.checklist(268)
def test_what_is_ordered_reaches_the_client(pytester: pytest.Pytester) -> None:
    """A test of the user fails where nothing but the ordered error can make it fail."""
    program = """
        import confluent_kafka as ck

        def test_producer(kedge_cluster):
            kedge_cluster.create_topic("orders")
            kedge_cluster.fail_next("Produce", "POLICY_VIOLATION")
            errors = []
            producer = ck.Producer({"bootstrap.servers": kedge_cluster.bootstrap_servers, "log_level": 0})
            producer.produce("orders", b"x", on_delivery=lambda error, _: errors.append(error))
            assert producer.flush(30) == 0
            assert errors == [None], errors[0].name()
    """
    done = run(pytester, test_of_a_user=program)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*AssertionError: POLICY_VIOLATION*"])


@pytest.mark.full
def test_options_come_from_the_nearest_marker(pytester: pytest.Pytester) -> None:
    program = """
        import pytest

        pytestmark = pytest.mark.kedge(brokers=5, racks=["x", "y"])

        def test_of_the_module(kedge_cluster):
            assert kedge_cluster.racks == {1: "x", 2: "y", 3: "x", 4: "y", 5: "x"}

        @pytest.mark.kedge(brokers=1)
        def test_of_the_test(kedge_cluster):
            assert kedge_cluster.brokers == (1,)

        @pytest.mark.kedge(brokers=2, options=["--topic", "orders:4"])
        def test_of_the_process(kedge_server):
            assert kedge_server.leader("orders", 3) in {1, 2}

        @pytest.mark.kedge(disks=3)
        def test_of_no_use(kedge_cluster):
            pass

        @pytest.mark.kedge(5)
        def test_of_no_name(kedge_cluster):
            pass
    """
    done = run(pytester, test_of_a_user=program)
    done.assert_outcomes(passed=3, errors=2)
    done.stdout.fnmatch_lines(
        ["*unexpected keyword argument 'disks'*", "*takes options by name, as brokers=3; got (5,)"]
    )


@pytest.mark.full
@pytest.mark.parametrize("module,package", [("kafka", "kafka-python"), ("scramp", "scramp")])
def test_missing_extra_is_one_line(pytester: pytest.Pytester, module: str, package: str) -> None:
    program = "def test_nothing(kedge_cluster): ..."
    done = run(pytester, conftest=NOT_INSTALLED.format(module=module), test_of_a_user=program)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines([f"{package} is not installed; run: pip install 'kedge[[]wire]'"])


def test_folder_of_a_project_with_a_name_of_ours_does_no_harm(pytester: pytest.Pytester) -> None:
    """Kedge is installed beside a project that has a folder named controller."""
    pytester.mkpydir("controller")
    programs = {"test_one": "def test_one(): ...", "test_two": "def test_two(kedge_cluster): ..."}
    run(pytester, conftest="import sys; sys.path.insert(0, sys.path[0])", **programs).assert_outcomes(passed=2)


def test_plugin_imports_pytest_alone(pytester: pytest.Pytester) -> None:
    program = """
        import sys

        def test_nothing():
            assert not {"attrs", "kafka", "kedge"} & set(sys.modules)
    """
    run(pytester, test_of_a_user=program).assert_outcomes(passed=1)
