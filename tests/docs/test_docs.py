"""What the documentation shows works: the code of every page, and every example."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import OtherOutput, RefusedPage, run

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
EXAMPLES = sorted((CHECKOUT / "examples").glob("*.py"))
FIRST = [CHECKOUT / name for name in ("README.md", "docs/start-embedding.md", "docs/start-testing.md")]
TIMES = 20
SECONDS_MAX = 120


def relative(path: Path) -> str:
    return str(path.relative_to(CHECKOUT))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_the_code_of_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of its own, so that a page leaves nothing in the checkout. A page that is not there fails."""
    monkeypatch.chdir(tmp_path)
    run(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", FIRST, ids=relative)
def test_chance_changes_nothing_in_20_runs(page: Path, tmp_path: Path) -> None:
    """What a newcomer sees first: placements, elections and threads are others in each run. Those of shells are in
    test_shell_pages.py."""
    for _ in range(TIMES):
        run(page, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLES, reason="examples/ holds no script yet")
@pytest.mark.parametrize("example", EXAMPLES, ids=relative)
def test_the_example_runs(example: Path, tmp_path: Path) -> None:
    """As a user would start it: a process of its own, with the library installed; warnings are errors, and so is a word
    on stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def write(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text)
    return page


def test_blocks_of_a_page_share_a_namespace_and_pages_share_none(tmp_path: Path) -> None:
    assert run(write(tmp_path, "```python\na = 1\n```\ntext\n```python\nassert a == 1\n```\n"), tmp_path) == 2
    with pytest.raises(NameError):
        run(write(tmp_path, "```python\na\n```\n"), tmp_path)


def test_a_block_in_a_list_or_without_end_is_run(tmp_path: Path) -> None:
    assert run(write(tmp_path, "* a point\n\n  ```python\n  a = 1\n  ```\n\n```python\na = 2\n"), tmp_path) == 2


def test_a_block_that_fails_fails_with_the_line_of_the_page(tmp_path: Path) -> None:
    page = write(tmp_path, "# A page\n\n```python\nraise LookupError('here')\n```\n")
    with pytest.raises(LookupError) as caught:
        run(page, tmp_path)
    place = caught.traceback[-1]
    assert (str(place.path), place.lineno + 1) == (str(page), 4)


def test_a_warning_in_a_block_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DeprecationWarning):
        run(write(tmp_path, "```python\nimport warnings\nwarnings.warn('old', DeprecationWarning)\n```\n"), tmp_path)


@pytest.mark.parametrize(
    "block",
    [
        "print('a', 1)  # a 1",
        "print('a', 1)\n# a 1",
        "print('a', 1)  # a ...",
        "for x in 'ab':\n    pass\nprint(x)  # b\nprint('c')  # c",
        "def unused():\n    print('never')",
    ],
)
def test_a_block_prints_what_its_comments_show(tmp_path: Path, block: str) -> None:
    assert run(write(tmp_path, f"```python\n{block}\n```\n"), tmp_path) == 1


@pytest.mark.parametrize(
    "block",
    [
        "print('a')",
        "print('a', 2)  # a 1",
        "print('a 1 2')  # a 1",
        "print('b 1')  # a ...",
        "print('a')  # b\nprint('b')  # a",
        "if not print:\n    print('a')  # a",
    ],
)
def test_another_output_than_the_page_shows_fails(tmp_path: Path, block: str) -> None:
    with pytest.raises(OtherOutput, match="line 1"):
        run(write(tmp_path, f"```python\n{block}\n```\n"), tmp_path)


def test_commands_run_only_where_the_page_says_so(tmp_path: Path) -> None:
    page = write(tmp_path, "```bash\ntouch plain\n```\n\n```bash run\ntouch marked\n```\n")
    assert run(page, tmp_path) == 1
    assert {file.name for file in tmp_path.iterdir()} == {"page.md", "marked"}


def test_a_command_that_fails_fails_the_page(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run(write(tmp_path, "```bash run\nfalse | true\n```\n"), tmp_path)


@pytest.mark.parametrize("language", ["py", "Python", "python3", "pycon", "python title=x", "python "])
def test_a_spelling_that_would_be_passed_over_is_refused(tmp_path: Path, language: str) -> None:
    with pytest.raises(RefusedPage):
        run(write(tmp_path, f"```{language}\nraise ValueError\n```\n"), tmp_path)
