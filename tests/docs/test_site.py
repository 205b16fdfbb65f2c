"""The site of the documentation holds every page, its links lead somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from docs_site import INDEX, for_python_markdown, navigation
from markdown_it import MarkdownIt

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
PAGES = sorted(page.relative_to(DOCS) for page in DOCS.rglob("*.md"))
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "srcset", "link": "href"}
_COUNTED = {"li", "ol", "ul", "pre", "table", "tr", "td"}


class Found(HTMLParser):
    """What a page loads, and how many elements its article has."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.counts: Counter[str] = Counter()
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if _LOADED.get(tag) in values and values.get("rel") not in {"canonical", "next", "prev"}:
            self.loaded.append(str(values[_LOADED[tag]]))
        self._inside = self._inside or tag == "article"
        if self._inside and tag in _COUNTED:
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._inside = False


def found(page: str) -> Found:
    parser = Found()
    parser.feed(page)
    return parser


def build(checkout: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=checkout,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(CHECKOUT, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.full
def test_every_page_can_be_searched(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}
    expected = {str(page.with_suffix(".html")).replace("README.html", "index.html") for page in PAGES}
    assert expected <= places
    assert {"project/readme.html", "project/contributing.html", "project/examples.html"} <= places
    assert list(site.glob("assets/javascripts/workers/search.*.js"))


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = {url for page in site.rglob("*.html") for url in found(page.read_text(encoding="utf-8")).loaded}
    for sheet in site.rglob("*.css"):
        loaded |= {url.strip("\"'") for url in re.findall(r"url\(([^)]*)\)", sheet.read_text(encoding="utf-8"))}
    assert len(loaded) > 5
    assert {url for url in loaded if re.match(r"(?!data:)[a-z]+:|//", url)} == set()


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=str)
def test_lists_and_blocks_are_those_of_commonmark(site: Path, page: Path) -> None:
    """Python-Markdown reads some pages otherwise than the editors and sites that show them."""
    html = site / str(page.with_suffix(".html")).replace("README.html", "index.html")
    rendered = MarkdownIt("commonmark").enable("table").render((DOCS / page).read_text(encoding="utf-8"))
    expected = found(f"<article>{rendered}</article>").counts
    assert found(html.read_text(encoding="utf-8")).counts == expected


@pytest.mark.full
@pytest.mark.parametrize(
    "line,message",
    [
        ("[x](nowhere.md)", "nowhere.md"),
        ("[x](../nowhere.py)", "nowhere.py"),
        ("[x](glossary.md#nowhere)", "nowhere"),
    ],
    ids=["page", "file", "anchor"],
)
def test_a_broken_link_fails_the_build(tmp_path: Path, line: str, message: str) -> None:
    for name in ("README.md", "CONTRIBUTING.md", "mkdocs.yml"):
        shutil.copy(CHECKOUT / name, tmp_path)
    for name in ("docs", "examples", "benchmarks/results"):
        shutil.copytree(CHECKOUT / name, tmp_path / name)
    (tmp_path / "LICENSE").touch()
    (tmp_path / "scripts").mkdir()
    shutil.copy(CHECKOUT / "scripts" / "docs_site.py", tmp_path / "scripts")
    with (tmp_path / "docs" / "glossary.md").open("a") as page:
        page.write(f"\n{line}\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert [one for one in done.stderr.splitlines() if "WARNING" in one and message in one]


def test_the_index_links_every_page_once() -> None:
    """Those of decisions/ are listed on a page of their own."""
    links = re.findall(r"\]\(([^)#]+\.md)\)", (DOCS / INDEX).read_text(encoding="utf-8"))
    linked = Counter(link for link in links if not link.startswith(".."))
    expected = {str(page) for page in PAGES if page.parent == Path()} - {INDEX} | {"decisions/README.md"}
    assert linked == dict.fromkeys(expected, 1)


def test_groups_and_titles_are_those_of_the_index(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    for name in ("one-page.md", "two.md", "more/README.md", "more/b.md", "more/a.md"):
        (tmp_path / name).touch()
    (tmp_path / INDEX).write_text(
        "# Title\n\n## First\n\n| [one-page.md](one-page.md) | why |\n\n## Second\n\n* [The second](two.md)\n"
        "* [More](more/README.md)\n* [outside](../x.md)\n"
    )
    assert navigation(tmp_path)[:3] == [
        {"Overview": INDEX},
        {"First": [{"One page": "one-page.md"}]},
        {"Second": [{"The second": "two.md"}, {"More": ["more/README.md", "more/a.md", "more/b.md"]}]},
    ]


def test_lists_are_written_as_python_markdown_reads_them() -> None:
    given = (
        "text\n* one, of\n  0. Never.\n\n  ```text\n  a\n    b\n  ```\n  1. inner\n\n     more\n* two\n\n| a |\n|---|\n"
    )
    first, _, rest = for_python_markdown(given).partition("\n\n    ```text\n")
    assert first == "text\n\n* one, of 0. Never."
    assert rest == "    a\n      b\n    ```\n    1. inner\n\n        more\n* two\n\n| a |\n|---|\n"
