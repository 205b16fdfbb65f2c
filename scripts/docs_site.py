"""Hooks of mkdocs (mkdocs.yml names them): what the site needs beyond the pages themselves.

Rules
* The navigation is docs/README.md: its headings are the groups, its links the pages, their texts the titles. A page
  that it does not link fails the build.
* README.md, CONTRIBUTING.md and the examples become pages, so that links to them work. A link to another file of the
  checkout becomes plain text; one to a file that is not there fails the build.
* Pages are written for CommonMark. Python-Markdown wants an empty line before a list or a table, what an item holds
  indented by four, and no line of a paragraph that begins like an item; pages are rewritten that way first.
"""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

CHECKOUT: Final = Path(__file__).resolve().parents[1]
INDEX: Final = "README.md"
BROUGHT: Final = {"README.md": "project/readme.md", "CONTRIBUTING.md": "project/contributing.md"}
"""Files of the checkout, and the pages that they become."""
EXAMPLES: Final = "project/examples.md"
PROJECT: Final = {"Project": [{"README": BROUGHT["README.md"]}, {"Contributing": BROUGHT["CONTRIBUTING.md"]}, EXAMPLES]}
_LINK: Final = re.compile(
    r"(?P<before>!?\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\()(?P<path>[^)\s#]+)(?P<after>(?:#[^)\s]*)?\))"
)
_SOURCE: Final = re.compile(r'(?P<before>\b(?:src|srcset|href)=")(?P<path>[^"#]+)(?P<after>(?:#[^"]*)?")')
_ELSEWHERE: Final = re.compile(r"[a-z]+:|/")
_MARKER: Final = re.compile(r" *(?:[*+-]|\d+[.)]) +")
_BREAK: Final = re.compile(r"(?:  |\\)$")
_log = logging.getLogger("mkdocs.hooks.docs_site")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation is that of the index."""
    config.nav = navigation(Path(config.docs_dir))
    return config


def navigation(docs: Path) -> list[Any]:
    """The index, its groups with their pages, and the pages that come from outside of docs."""
    groups: dict[str, list[Any]] = {}
    heading = "Pages"
    for line in (docs / INDEX).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        for link in _LINK.finditer(line):
            path = link["path"]
            if not path.startswith("..") and (docs / path).is_file():
                groups.setdefault(heading, []).append({_title(link["text"]): _pages(docs, path)})
    return [{"Overview": INDEX}, *({name: pages} for name, pages in groups.items()), PROJECT]


def _title(text: str) -> str:
    name = text.strip("`").removesuffix(".md")
    return text if name == text else name.replace("-", " ").capitalize()


def _pages(docs: Path, path: str) -> str | list[str]:
    """A page; of the index of a folder, all pages of the folder."""
    if posixpath.basename(path) != INDEX:
        return path
    others = sorted(page.relative_to(docs).as_posix() for page in (docs / path).parent.glob("*.md"))
    return [path, *(page for page in others if page != path)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages from outside of docs are among the files."""
    for name, page in BROUGHT.items():
        content = (CHECKOUT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=content))
    files.append(File.generated(config, EXAMPLES, content=examples(CHECKOUT / "examples")))
    return files


def examples(folder: Path) -> str:
    """A page with every script of the folder."""
    parts = ["# Examples\n\nEach of these programs is run by the tests.\n"]
    for script in sorted(folder.rglob("*.py")):
        code = script.read_text(encoding="utf-8")
        parts.append(f"## {script.relative_to(folder)}\n\n````python\n{code.strip()}\n````\n")
    return "\n".join(parts)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links lead to pages of the site, and lists are those of CommonMark."""
    del config
    place = page.file.src_uri
    outside = {there: name for name, there in BROUGHT.items()} | {EXAMPLES: "examples/README.md"}
    source = outside.get(place, f"docs/{place}")

    def led(link: re.Match[str]) -> str:
        path = link["path"]
        if _ELSEWHERE.match(path):
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        there = site_page(target)
        if there is not None and (there in BROUGHT.values() or files.get_file_from_path(there) is not None):
            return f"{link['before']}{posixpath.relpath(there, posixpath.dirname(place))}{link['after']}"
        if not (CHECKOUT / target).exists():
            _log.warning("%s links to %s, which is not there", source, target)
        return link.groupdict().get("text") or link[0]

    return for_python_markdown(_SOURCE.sub(led, _LINK.sub(led, markdown)))


def site_page(target: str) -> str | None:
    """Where a file of the checkout is in docs; None where the site does not have it."""
    if target in BROUGHT:
        return BROUGHT[target]
    if target == "examples" or target.startswith("examples/"):
        return EXAMPLES
    return target.removeprefix("docs/") if target.startswith("docs/") else None


def for_python_markdown(text: str) -> str:
    """The same page with lists and tables as Python-Markdown reads them."""
    lines = text.splitlines()
    items: list[list[tuple[int, bool]]] = [[] for _ in lines]
    begins: set[int] = set()
    goes_on: set[int] = set()
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "list_item_open" and (marker := _MARKER.match(lines[first])):
            for number in range(first, end):
                items[number].append((marker.end(), number == first))
        elif token.type in {"bullet_list_open", "ordered_list_open", "table_open"} and token.level == 0:
            begins.add(first)
        elif token.type == "paragraph_open":
            goes_on.update(number for number in range(first + 1, end) if not _BREAK.search(lines[number - 1]))
    made: list[str] = []
    for number, line in enumerate(lines):
        if number in goes_on:
            made[-1] = f"{made[-1].rstrip()} {line.lstrip()}"
            continue
        if number in begins and number and lines[number - 1].strip():
            made.append("")
        made.append(_indented(line, items[number]))
    return "\n".join(made) + "\n"


def _indented(line: str, items: list[tuple[int, bool]]) -> str:
    """`items`: those around the line, from the outside: the column of what it holds, and whether it begins here."""
    around = [column for column, begins in items if not begins]
    if not items or not line.strip():
        return line
    kept = line.lstrip(" ") if len(around) < len(items) else line[min(around[-1], len(line) - len(line.lstrip(" "))) :]
    return f"{'    ' * len(around)}{kept}"
